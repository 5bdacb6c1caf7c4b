from __future__ import annotations

import itertools
import random

import pytest

from openzim_mcp.library.names import candidate_names, match_archive, newest_editions, split_date
from openzim_mcp.text import safe_line
from openzim_mcp.uris import archive_uri, entry_uri, parse_uri
from openzim_mcp.zimfile import ArchiveFile, Identity


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("wiki_en_all_maxi_2026-01", ("wiki_en_all_maxi", "2026-01")),
        ("wiki_en_2026-01-15", ("wiki_en", "2026-01-15")),
        ("wiki_en_2026-01a", ("wiki_en", "2026-01a")),
        ("wiki_en_all", ("wiki_en_all", "")),
        ("2026-01", ("2026-01", "")),
    ],
)
def test_name_is_split_into_base_and_date(name: str, parts: tuple[str, str]) -> None:
    assert split_date(name) == parts


def test_newest_edition_is_found_by_the_base_name() -> None:
    names = ["Wiki_en_2026-01", "Wiki_en_2026-02a", "Wiki_en_2026-02", "manual"]

    assert newest_editions(names) == {"wiki_en": "Wiki_en_2026-02a"}


def test_equal_file_names_get_different_names() -> None:
    names = itertools.islice(candidate_names("/zims/books/novel.ZIM"), 4)

    assert list(names) == ["novel", "novel@books", "novel@books~2", "novel@books~3"]


def random_names(count: int) -> list[str]:
    """Return names as a scan makes them: visible, on one line, without slashes."""
    generator = random.Random(0)
    pieces = [*"aAbB ~%?#&=+;:@!$'()*,[]{}|\\^`<>\"é日.-_", "%41", "%2F", ".zim", ".ZIM", "files", "_2026-01"]
    names = ("".join(generator.choices(pieces, k=generator.randrange(1, 6))) for _ in range(count))
    return sorted({name for text in names if (name := safe_line(text)) and not name.startswith(".")})


def test_every_archive_is_found_by_each_of_its_names() -> None:
    names = random_names(1500)
    archives = [
        ArchiveFile(name, f"/zims/{name}.zim", (f"/zims/{name}.zim",), Identity(name), 1, 0.0) for name in names
    ]

    for archive in archives:
        path = f"{archive.name}/x%?#"
        of_archive, of_entry = parse_uri(archive_uri(archive.name)), parse_uri(entry_uri(archive.name, path))
        assert of_archive is not None
        assert of_entry is not None
        assert of_entry.path_candidates[0] == path
        references = [archive.file_name, archive.display_path, archive.path]
        references += [of_archive.name_candidates[0], of_entry.name_candidates[0]]
        assert [match_archive(archives, reference) for reference in references] == [archive] * 5


def test_only_archive_that_can_be_opened_needs_no_name() -> None:
    usable, broken = (
        ArchiveFile(name, f"/{name}.zim", (f"/{name}.zim",), Identity(name), 1, 0.0, problem=problem)
        for name, problem in (("whole", ""), ("half", "still being written"))
    )

    assert match_archive([broken, usable], None) == usable
    assert match_archive([broken], None) == broken
    assert match_archive([usable, usable], None) is None
