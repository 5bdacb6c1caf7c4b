"""What is served, in a sentence: for the descriptions of tools and the instructions to a model.

A client trusts these texts, so they hold nothing that an archive says of itself, such as its title: only names of
files, which the operator chose, and of these only plain ones. Tools take such a name, and no file is opened to know it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from openzim_mcp import tokens
from openzim_mcp.library.names import split_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.zimfile import ArchiveFile

_MAX_LISTED_ARCHIVES = 8
_MAX_LIST_TOKENS = 80
_MAX_NAMED = 60
"""More names would not fit in any text; trying to would take long."""
_PLAIN_NAME = re.compile(r"[\w.+-]{1,60}")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_MAX_LANGUAGES = 4


async def introduce_archives(app: App) -> str:
    """Name the archives if they are few, else count them; for the description of a tool."""
    archives = await app.recent_archives()
    if not archives:
        return " There are no archives yet."
    count = " There is 1 archive." if len(archives) == 1 else f" There are {len(archives)} archives."
    names = _plain_names(archives)
    if not names or len(archives) > _MAX_LISTED_ARCHIVES:
        return count
    text = f" Archives: {_enumerate(names, len(archives))}."
    return text if tokens.estimate(text) <= _MAX_LIST_TOKENS else count


async def summarize_library(app: App, max_tokens: float) -> str:
    """Name all archives if that is short enough, else the kinds that are there, with their languages, or count them."""
    archives = await app.recent_archives()
    if not archives:
        return "none yet"
    fitting = (text for text in _library_texts(archives) if tokens.estimate(text) <= max_tokens)
    return next(fitting, str(len(archives)))


def _library_texts(archives: Sequence[ArchiveFile]) -> Iterator[str]:
    """Yield ways to say what there is, the most precise first."""
    names = _plain_names(archives)
    if names and len(names) <= _MAX_NAMED:
        yield _enumerate(names, len(archives))
    groups = _group_names(names)[:_MAX_NAMED]
    for count in range(len(groups), 0, -1):
        shown = sum(size for _, size in groups[:count])
        yield _enumerate([text for text, _ in groups[:count]], len(archives) - shown + count)


def _plain_names(archives: Sequence[ArchiveFile]) -> list[str]:
    """Return the names that consist of letters, digits and `_ . + -`, without the date where that is unique."""
    bases = Counter(split_date(archive.name)[0] for archive in archives)
    names = [base if bases[base := split_date(a.name)[0]] == 1 else a.name for a in archives]
    return [name for name in names if _PLAIN_NAME.fullmatch(name)]


def _enumerate(names: Sequence[str], total: int) -> str:
    more = [f"{total - len(names)} more"] if len(names) < total else []
    return ", ".join([*names, *more])


def _group_names(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the projects that names begin with, the largest first, with their languages, and their sizes."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_split_name(name)[0], []).append(name)
    by_size = sorted(groups.items(), key=lambda row: -len(row[1]))
    return [(_describe_group(project, members), len(members)) for project, members in by_size]


def _describe_group(project: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    languages = list(dict.fromkeys(_split_name(name)[1] for name in names))
    what = ", ".join(languages) if len(languages) == len(names) <= _MAX_LANGUAGES else str(len(names))
    return f"{project} ({what})"


def _split_name(name: str) -> tuple[str, str]:
    """Return the project and the language in names such as `wikipedia_en_all` and `coffee.stackexchange.com_en_all`."""
    project, _, rest = name.partition("_")
    language = rest.partition("_")[0]
    if not _LANGUAGE.fullmatch(language):
        return name, ""
    return ".".join(project.split(".")[-2:]).partition("-")[0], language
