"""Titles that a text mentions: in any casing, in the plural, with or without hyphen, article or bracket.

Paths are sorted, and in most archives they are titles. So a bisection tells whether any title starts with some words,
and most runs of words are given up after their first one or two.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from openzim_mcp import errors
from openzim_mcp.text import normalize
from openzim_mcp.worker.readers.html.disambiguation import may_be_disambiguation
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.titles import case_variants, restore_apostrophes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.search.language import Language
    from openzim_mcp.worker.zim import Archive

MentionKind = Literal["exact", "redirect", "inflected", "qualified", "meaning"]

_MAX_WORDS = 32
_MAX_RUN_WORDS = 6
_MAX_RUN_LOOKUPS = 60
_SHORT_RUN_WORDS, _LONG_RUN_WORDS = 2, 4
_MIN_SHORT_RUN_CHARS = 3
"""A run of one or two words must have so many characters, and not start with a stop word."""
_MAX_TRAILS = 8
_MAX_UPPER_CASE_CHARS = 5
_MIN_INFLECTED_CHARS = 4
_MAX_QUALIFIED_ENTRIES = 60
_MAX_QUALIFIED, _MAX_MEANINGS = 3, 3
_MAX_DISAMBIGUATION_PAGES = 2
_MAX_DISAMBIGUATION_BYTES = 200_000
_MAX_MEANING_LINKS = 160
_PUNCTUATION = "?!.,;:\"'“”«»¿¡()"
_WORD_SEPARATOR = re.compile(r"[\s\-‐‑–]+")
_POSSESSIVE = re.compile(r"(?:'s|')$")
_PLAIN_S = re.compile(r"(?<=\w{2})(?=s$)", re.IGNORECASE)
"""Where the apostrophe of a possessive may have been left out: Schindlers List."""
_BRACKET = re.compile(r"[ _]\(([^()]*)\)$")
_MAX_HYPHENATED_ENTRIES = 2000
"""Where more paths start alike, none is looked for that continues with a hyphen."""
# How the plural is made the singular, and the other way round.
_OTHER_NUMBER = {
    language: [(re.compile(pattern), replacement) for pattern, replacement in rows]
    for language, rows in {
        "de": [("en$", ""), ("n$", ""), ("e$", ""), ("er$", "")],
        "en": [
            ("ies$", "y"),
            ("(?<=[sxzo])es$|(?<=[cs]h)es$", ""),
            ("(?<!s)s$", ""),
            ("(?<!s)$", "s"),
            ("(?<=s)$", "es"),
        ],
        "es": [("(?<=[lnrdjs])es$", ""), ("s$", ""), ("(?<=[aeo])$", "s")],
        "fr": [("aux$", "al"), ("[sx]$", ""), ("(?<![sx])$", "s")],
        "it": [("i$", "o"), ("e$", "a")],
        "nl": [("en$", ""), ("s$", "")],
        "pt": [("ões$", "ão"), ("s$", ""), ("(?<=[aeo])$", "s")],
    }.items()
}
_SYNONYMS = {"and": ("&",), "und": ("&",), "et": ("&",), "y": ("&",)}
# The articles that titles start with and questions leave out.
_ARTICLES = {"en": ("The",), "es": ("El", "La", "Los", "Las"), "fr": ("Le", "La", "Les"), "it": ("Il", "La", "I", "Le")}


@dataclass(frozen=True)
class Mention:
    """How a text mentions an article: the words that do, and how many other words of the text point to it.

    A `qualified` title has a bracket behind the words, a `meaning` is on the disambiguation page that they lead to.
    """

    words: list[str]
    kind: MentionKind
    pointers: int = 0


class _Trail(NamedTuple):
    """The start of a path, and the entries whose paths start so."""

    prefix: str
    entries: range


@dataclass(frozen=True)
class _Run:
    """Words of a text from `start` on that are a title, or that titles with a bracket start with."""

    start: int
    size: int
    paths: list[str]
    kind: MentionKind
    qualified: list[str] = field(default_factory=list)
    covers: bool = True

    @property
    def positions(self) -> range:
        """Where the words are in the text."""
        return range(self.start, self.start + self.size)


def titles_in_text(archive: Archive, text: str) -> dict[str, Mention]:
    """Return the articles whose titles a text mentions, longest first; in a damaged archive, some of them."""
    language = query_language(archive, text)
    plain = text.replace("’", "'")
    words = [word for word in (piece.strip(_PUNCTUATION) for piece in _WORD_SEPARATOR.split(plain)) if word]
    mentions = _Mentions(archive, words[:_MAX_WORDS], language)
    with contextlib.suppress(errors.ArchiveUnusable):
        finder = (_PathRuns if archive.paths_are_titles else _TitleRuns)(archive, words[:_MAX_WORDS], language)
        for run in sorted(finder.find(), key=lambda run: -run.size):
            mentions.add(run)
    return mentions.by_path


class _Mentions:
    """Collects the articles that runs of words lead to, longest runs first."""

    def __init__(self, archive: Archive, words: list[str], language: Language) -> None:
        self._archive = archive
        self._words = words
        self._language = language
        self._covered: set[int] = set()
        self._disambiguations = 0
        self.by_path: dict[str, Mention] = {}

    def add(self, run: _Run) -> None:
        """Add the articles of a run, unless longer titles have all of its words."""
        if self._covered.issuperset(run.positions):
            return
        words = [self._words[at] for at in run.positions]
        targets = []
        for match in filter(None, (self._archive.look_up(path=path) for path in run.paths)):
            kind: MentionKind = "redirect" if match.is_redirect and run.kind == "exact" else run.kind
            self.by_path.setdefault(match.target, Mention(words, kind))
            targets.append(match.target)
        if targets and run.covers:
            self._covered.update(run.positions)
        self._add_qualified(run, words)
        if run.size <= _SHORT_RUN_WORDS and (run.qualified or len(self._words) > run.size):
            for target in targets:
                self._add_meanings(target, run, words)

    def _other_stems(self, run: _Run) -> set[str]:
        """Return the stems of the content words of the text that are not in a run."""
        others = [word for at, word in enumerate(self._words) if at not in run.positions]
        normalized = [word for word in map(normalize, others) if word not in self._language.stop_words]
        return {stem for word in normalized for stem in self._language.stems(word)}

    def _pointers(self, text: str, other_stems: set[str]) -> int:
        return len(other_stems & set(self._language.stems(normalize(text.replace("_", " ")))))

    def _add_qualified(self, run: _Run, words: list[str]) -> None:
        """Add the titles with a bracket to which other words of the text point, else the most important ones."""
        other_stems = self._other_stems(run)
        pointers = {path: self._pointers(path[_bracket_start(path) :], other_stems) for path in run.qualified}
        best = sorted(pointers, key=lambda path: (-pointers[path], -self._archive.importance(path), path))
        for path in best[:_MAX_QUALIFIED]:
            match = self._archive.look_up(path=path)
            if match:
                self.by_path.setdefault(match.target, Mention(words, "qualified", pointers[path]))

    def _add_meanings(self, path: str, run: _Run, words: list[str]) -> None:
        """Add the meanings of a disambiguation page to which other words of the text point, else the first ones."""
        if self._disambiguations >= _MAX_DISAMBIGUATION_PAGES:
            return
        document = _disambiguation_page(self._archive, path)
        if document is None:
            return
        self._disambiguations += 1
        other_stems = self._other_stems(run)
        meanings = {target: self._pointers(line, other_stems) for target, line in _meanings(document)}
        for target in sorted(meanings, key=lambda target: -meanings[target])[:_MAX_MEANINGS]:
            match = self._archive.look_up(path=target)
            if match:
                mention = Mention(words, "meaning", meanings[target])
                previous = self.by_path.get(match.target)
                if previous is None or previous.kind == "qualified":
                    self.by_path[match.target] = mention


def _bracket_start(path: str) -> int:
    bracket = _BRACKET.search(path)
    return bracket.start() if bracket else len(path)


def _disambiguation_page(archive: Archive, path: str) -> Document | None:
    with contextlib.suppress(errors.OpenZimMcpError):
        item = archive.find_entry(path)
        if item and item.size <= _MAX_DISAMBIGUATION_BYTES:
            raw = archive.read_content(item.path)
            document = article.document(archive, item, raw) if may_be_disambiguation(raw, item.title) else None
            return document if document and document.is_disambiguation else None
    return None


def _meanings(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the targets of the first link of each line, and the line."""
    links = iter([link for link in document.links if link.kind == "internal" and link.text][:_MAX_MEANING_LINKS])
    link = next(links, None)
    for line in document.body.split("\n"):
        is_first = True
        while link and link.text in line:
            if is_first:
                yield link.target, line
            is_first = False
            link = next(links, None)


class _Runs:
    """The runs of words of a text that may be titles."""

    def __init__(self, archive: Archive, words: list[str], language: Language) -> None:
        self.words = words
        self._archive = archive
        self._language = language
        self._is_stop_word = [normalize(word) in language.stop_words for word in words]

    def _may_be_title(self, start: int, size: int) -> bool:
        """Return whether a run is distinctive enough to be a title; a long one may be all stop words."""
        if size >= _LONG_RUN_WORDS:
            return True
        last_is_content = not self._is_stop_word[start + size - 1]
        chars = sum(map(len, self.words[start : start + size]))
        is_distinctive = not self._is_stop_word[start] and chars >= _MIN_SHORT_RUN_CHARS
        return last_is_content and (size > _SHORT_RUN_WORDS or is_distinctive or self._is_article(start, size))

    def _is_article(self, start: int, size: int) -> bool:
        """Return whether a run is an article and one word: `the Beatles`."""
        articles = _ARTICLES.get(self._language.code, ())
        return size == _SHORT_RUN_WORDS and self.words[start].capitalize() in articles

    def _other_forms(self, word: str) -> list[str]:
        """Return a word without its possessive ending, in the singular and in the plural."""
        bare = _POSSESSIVE.sub("", word)
        forms = [bare]
        if len(bare) >= _MIN_INFLECTED_CHARS:
            rows = _OTHER_NUMBER.get(self._language.code, ())
            forms += [pattern.sub(replacement, bare, count=1) for pattern, replacement in rows]
        return [form for form in dict.fromkeys(forms) if form != word]


class _PathRuns(_Runs):
    """Runs found by bisection over the paths, which are titles."""

    def find(self) -> Iterator[_Run]:
        """Yield the runs from every word on."""
        articles = [f"{word}_" for word in _ARTICLES.get(self._language.code, ())]
        for start in range(len(self.words)):
            runs = list(self._find_from(start, [_Trail("", self._archive.content)], is_bare=True))
            yield from runs
            if not runs and not self._is_stop_word[start]:
                with_article = [trail for trail in map(self._trail, articles) if trail.entries]
                yield from self._find_from(start, with_article, is_bare=False)

    def _trail(self, prefix: str, within: range | None = None) -> _Trail:
        return _Trail(prefix, self._archive.entries_by_prefix(prefix, within))

    def _find_from(self, start: int, heads: list[_Trail], *, is_bare: bool) -> Iterator[_Run]:
        """Yield the runs from one word on, while any path starts with their words."""
        for size in range(1, min(_MAX_RUN_WORDS, len(self.words) - start) + 1):
            word = self.words[start + size - 1]
            trails = self._extend(heads, _casings(word, is_stop_word=self._is_stop_word[start + size - 1]))
            if self._may_be_title(start, size):
                yield from self._runs_at(start, size, heads, trails, is_bare=is_bare)
            heads = self._join(trails)
            if size == 1 and is_bare:
                yield from self._compound(start, trails)
            if not heads:
                return

    def _join(self, trails: list[_Trail]) -> list[_Trail]:
        """Return the trails behind which another word may follow."""
        separators = self._archive.path_separators
        joined = []
        for trail in trails:
            joiners = (*separators, "-") if len(trail.entries) <= _MAX_HYPHENATED_ENTRIES else separators
            joined += [self._trail(trail.prefix + joiner, trail.entries) for joiner in joiners]
        return [trail for trail in joined if trail.entries][:_MAX_TRAILS]

    def _compound(self, start: int, trails: list[_Trail]) -> Iterator[_Run]:
        """Yield a run of two words that a title writes as one: `gall bladder`."""
        pair = self.words[start : start + _SHORT_RUN_WORDS]
        if len(pair) == _SHORT_RUN_WORDS and not any(self._is_stop_word[start : start + _SHORT_RUN_WORDS]):
            paths = self._complete(self._extend(trails, [pair[1].lower()]))
            if paths:
                yield _Run(start, _SHORT_RUN_WORDS, paths, "inflected")

    def _extend(self, heads: Sequence[_Trail], words: Sequence[str]) -> list[_Trail]:
        trails = (
            self._trail(head.prefix + word, head.entries if head.prefix else None) for head in heads for word in words
        )
        return [trail for trail in trails if trail.entries][:_MAX_TRAILS]

    def _runs_at(
        self, start: int, size: int, heads: list[_Trail], trails: list[_Trail], *, is_bare: bool
    ) -> Iterator[_Run]:
        """Yield the run that ends here as the paths of its titles: as written, else in another form."""
        is_article = self._is_article(start, size)
        qualified = [path for trail in trails for path in self._qualified(trail)] if is_bare else []
        paths = self._complete(trails)
        kind: MentionKind = "exact"
        if not paths and not self._is_stop_word[start]:
            forms = [
                cased
                for form in self._other_forms(self.words[start + size - 1])
                for cased in _casings(form, is_stop_word=True)
            ]
            paths = self._complete(self._extend(heads, forms))[:1]
            kind = "inflected"
        if paths or qualified:
            run = _Run(start, size, paths, kind, qualified, covers=is_bare)
            yield replace(run, start=start + 1, size=1, covers=False) if is_article else run

    def _complete(self, trails: Sequence[_Trail]) -> list[str]:
        """Return the paths that are nothing but the start of a trail: the first of their entries."""
        prefix = self._archive.content_prefix
        paths = [(trail, self._archive.path_by_id(trail.entries[0])) for trail in trails]
        return [path for trail, path in paths if path == prefix + trail.prefix]

    def _qualified(self, trail: _Trail) -> list[str]:
        """Return the paths that continue with a bracket, and nothing else."""
        separators = self._archive.path_separators
        entries = [self._trail(f"{trail.prefix}{separator}(", trail.entries).entries for separator in separators]
        numbers = itertools.islice(itertools.chain(*entries), _MAX_QUALIFIED_ENTRIES)
        paths = [self._archive.path_by_id(number) for number in numbers]
        start = len(self._archive.content_prefix) + len(trail.prefix)
        return [path for path in paths if _bracket_start(path) == start]


class _TitleRuns(_Runs):
    """Runs found by looking up titles, in an archive whose paths are something else."""

    def find(self) -> Iterator[_Run]:
        """Yield the runs, the longest first, each looked up in the usual casings."""
        for start, size in itertools.islice(self._spans(), _MAX_RUN_LOOKUPS):
            paths = self._look_up(self.words[start : start + size])
            if paths:
                run = _Run(start, size, paths, "exact")
                yield replace(run, start=start + 1, size=1, covers=False) if self._is_article(start, size) else run
                continue
            for form in self._other_forms(self.words[start + size - 1]) if not self._is_stop_word[start] else ():
                paths = self._look_up([*self.words[start : start + size - 1], form])
                if paths:
                    yield _Run(start, size, paths, "inflected")
                    break

    def _spans(self) -> Iterator[tuple[int, int]]:
        for size in range(min(_MAX_RUN_WORDS, len(self.words)), 0, -1):
            for start in range(len(self.words) - size + 1):
                if self._may_be_title(start, size):
                    yield start, size

    def _look_up(self, words: list[str]) -> list[str]:
        for variant in case_variants(words, self._language.stop_words):
            match = self._archive.look_up(title=variant)
            if match:
                return [match.target]
        return []


def _casings(word: str, *, is_stop_word: bool) -> list[str]:
    """Return a word in the casings that it may have in a title; a content word also with the apostrophe it may lack."""
    lower = word.lower()
    forms = [word, lower, *_SYNONYMS.get(lower, ()), restore_apostrophes(word)]
    if not is_stop_word:
        forms.append(_PLAIN_S.sub("'", word))
    casings = [cased for form in forms for cased in (form, form[:1].upper() + form[1:])]
    if len(word) <= _MAX_UPPER_CASE_CHARS and not is_stop_word:
        casings.append(word.upper())
    return list(dict.fromkeys(casings))
