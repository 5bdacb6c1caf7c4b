"""Spelling correction of words that an archive does not contain, by its index, its titles and its texts.

The index matches stems, so that it "contains" strings that are no words (`handleds`): a correction is always a word
that was seen in a title or in a text.
"""

from __future__ import annotations

import html
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from openzim_mcp.text import edit_distance, is_unspaced_script, normalize, tokenize
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.search.title_ranges import has_title_ranges, names_in_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openzim_mcp.worker.zim import Archive, TitleMatch

_MIN_WORD_CHARS = 4
_MAX_WORD_CHARS = 24
_MIN_PART_CHARS = 3
_MIN_TITLE_WORD_CHARS = 6
_SHORT_WORD_CHARS = 5
_MIN_SHORT_WORD_ARTICLES = 2
_TWO_EDITS_MIN_CHARS = 8
"""From this length on, a word of a title may be two edits away."""
_MAX_REDIRECTED_EDITS = 2
_MAX_TITLES_PER_PREFIX = 60
_MAX_VERIFIED = 3
"""How many spellings of one kind are looked for in texts, the most frequent first."""
_MAX_READ_ARTICLES = 2
_MAX_CACHED_CORRECTIONS = 2000
_MAX_ENDINGS_CHARS = 4
_CYRILLIC_ENDING_LETTERS = frozenset("аеиоуыэюяьмхвт")
# Spellings of the same sound that removing accents does not make equal.
_EQUIVALENT_SPELLINGS = (
    ("ue", "u"), ("oe", "o"), ("ae", "a"), ("ss", "ß"), ("ß", "ss"), ("ae", "æ"), ("oe", "œ"), ("o", "ø"), ("l", "ł"),
    ("d", "đ"), ("th", "þ"), ("i", "ı"), ("æ", "ae"), ("œ", "oe"), ("ø", "o"), ("ł", "l"), ("đ", "d"), ("þ", "th"),
    ("ı", "i"), ("е", "ё"), ("ی", "ي"), ("ي", "ی"), ("ک", "ك"), ("ك", "ک"), ("1", "ӏ"), ("i", "ӏ"), ("l", "ӏ"),
)  # fmt: skip
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґӏ", "αβγδεζηθικλμνξοπρστυφχψω")
_LETTER_RANGES = ((0x05D0, 0x05EA), (0x0621, 0x064A), (0x0904, 0x0939), (0x0985, 0x09B9))
# Letters that are written for one another: vowels; consonants that sound alike; neighbours on a keyboard.
_VOWELS = ("aeiouy", "аеиоуыэюяіїє", "αεηιουω")
_SIMILAR_CONSONANTS = ("ckq", "szx", "dt", "bp", "fvw", "gj", "mn", "гк", "дт", "бп", "вф", "зс", "жш", "κχγ", "τδθ")
_KEYBOARD_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю")

_corrections: WeakKeyDictionary[Archive, LRUCache[str, str | None]] = WeakKeyDictionary()


def _replacements() -> dict[str, str]:
    """Return, for each letter, those that it may be written for by mistake."""
    pairs = {(a, b) for group in (*_VOWELS, *_SIMILAR_CONSONANTS) for a in group for b in group if a != b}
    pairs |= {("c", "s"), ("s", "c")}
    pairs |= {pair for row in _KEYBOARD_ROWS for a, b in itertools.pairwise(row) for pair in ((a, b), (b, a))}
    return {letter: "".join(sorted(b for a, b in pairs if a == letter)) for letter in {a for a, _ in pairs}}


_REPLACEMENTS = _replacements()
# Letters that are written for one another are one letter here.
_FOLDED = {ord(letter): group[0] for group in (*_SIMILAR_CONSONANTS, *_VOWELS) for letter in group}


class _Edits(NamedTuple):
    """A kind of mistake: the spellings without it, and from which length to which a word may have it.

    A short word has many neighbours that are other words (`lion`, `lin`), so only the usual mistakes are assumed there.
    """

    spellings: Callable[[str], Iterable[str]]
    min_chars: int
    max_chars: int = _MAX_WORD_CHARS


def correct_word(archive: Archive, word: str) -> str | None:
    """Return the word of the archive that was probably meant, or None; it may be two words, written as one."""
    has_digit = any(character.isdigit() for character in word)
    if not _MIN_WORD_CHARS <= len(word) <= _MAX_WORD_CHARS or is_unspaced_script(word) or has_digit:
        return None
    cache = _corrections.setdefault(archive, LRUCache(_MAX_CACHED_CORRECTIONS))
    if word not in cache and not timer.is_late():
        title = _look_up_title(archive, word)
        cache[word] = _redirected_spelling(word, title) if title else _find_correction(archive, word)
    return cache.get(word)


def is_other_form(word: str, other: str, stem: Callable[[str], str]) -> bool:
    """Return whether two words are forms of one word: they differ only by a suffix that stemming removes."""
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    endings = word[shared:] + other[shared:]
    # Without accents й is и, which the stemmers do not know as an ending.
    is_inflected = shared >= _MIN_WORD_CHARS and 0 < len(endings) <= _MAX_ENDINGS_CHARS
    return stem(word) == stem(other) or (is_inflected and _CYRILLIC_ENDING_LETTERS.issuperset(endings))


def _redirected_spelling(word: str, title: TitleMatch) -> str | None:
    """Return the title that a misspelled one redirects to (`Honkong`, `Hong Kong`): redirects record such mistakes."""
    right = " ".join(tokenize(normalize(title.target_title)))
    is_close = edit_distance(word, right.replace(" ", ""), _MAX_REDIRECTED_EDITS) <= _MAX_REDIRECTED_EDITS
    return right if title.is_redirect and right != word and is_close else None


def _find_correction(archive: Archive, word: str) -> str | None:
    for spelling in _phonetic_variants(word):
        if archive.frequency(spelling):
            return spelling
    for edits in _LIKELY_EDITS:
        corrected = _most_frequent(archive, word, edits)
        if corrected:
            return corrected
    return (
        _closest_title_word(archive, word)
        or _most_frequent(archive, word, _INNER_LETTERS if has_title_ranges(archive) else _ADDED_LETTERS)
        or _split_word(archive, word)
    )


def _split_word(archive: Archive, word: str) -> str | None:
    """Return two words that were written as one, if some title contains both."""
    cuts = range(_MIN_PART_CHARS, len(word) - _MIN_PART_CHARS + 1)
    halves = [(word[:at], word[at:]) for at in cuts if archive.frequency(word[:at]) and archive.frequency(word[at:])]
    pairs = [" ".join(pair) for pair in halves]
    return next((pair for pair in pairs if archive.suggest_paths(pair, 1)), None)


def _phonetic_variants(word: str) -> Iterator[str]:
    for spelling, equivalent in _EQUIVALENT_SPELLINGS:
        at = word.find(spelling)
        while at >= 0:
            yield word[:at] + equivalent + word[at + len(spelling) :]
            at = word.find(spelling, at + 1)


def _most_frequent(archive: Archive, word: str, edits: _Edits) -> str | None:
    """Return the most frequent of the words that differ by one kind of mistake."""
    if not edits.min_chars <= len(word) <= edits.max_chars:
        return None
    frequencies = {spelling: archive.frequency(spelling) for spelling in edits.spellings(word) if spelling != word}
    known = sorted((s for s in frequencies if frequencies[s]), key=lambda s: (-frequencies[s], -len(s), s))
    return next((spelling for spelling in known[:_MAX_VERIFIED] if _is_plausible(archive, word, spelling)), None)


def _is_plausible(archive: Archive, word: str, spelling: str) -> bool:
    """Return whether a spelling is a word; for a short word, it must be of several articles, or of a title."""
    if len(word) <= _SHORT_WORD_CHARS and archive.frequency(spelling) < _MIN_SHORT_WORD_ARTICLES:
        titles = map(archive.title_of, archive.search_paths(spelling, _MAX_READ_ARTICLES))
        return any(spelling in tokenize(normalize(title)) for title in titles)
    return _is_word(archive, spelling)


def _is_word(archive: Archive, word: str) -> bool:
    """Return whether a word itself, not only its stem, is a title or is in one of the first articles found by it."""
    return _look_up_title(archive, word) is not None or any(
        _contains_word(archive.read_content(path), word) for path in archive.search_paths(word, _MAX_READ_ARTICLES)
    )


def _look_up_title(archive: Archive, word: str) -> TitleMatch | None:
    names = dict.fromkeys((word.capitalize(), word))
    keys = ("path",) if has_title_ranges(archive) else ("path", "title")
    return next((match for name in names for key in keys if (match := archive.look_up(**{key: name}))), None)


def _contains_word(content: bytes, word: str) -> bool:
    whole_word = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    text = content.decode(errors="replace")
    return bool(whole_word.search(text.lower()) or whole_word.search(normalize(html.unescape(text))))


def _letters_of_script(word: str) -> str:
    """Return the letters of the script in which a word is written."""
    for letters in _ALPHABETS:
        if word[0] in letters:
            return letters
    letter_range = next((span for span in _LETTER_RANGES if span[0] <= ord(word[0]) <= span[1]), None)
    return "".join(map(chr, range(letter_range[0], letter_range[1] + 1))) if letter_range else ""


def _vowels_of_script(word: str) -> str:
    return next((vowels for vowels in _VOWELS if not set(vowels).isdisjoint(word)), "")


def _swapped_or_doubled(word: str) -> Iterator[str]:
    """Yield spellings with two letters swapped, a letter doubled, or a double letter single."""
    for at in range(len(word)):
        before, letter, after = word[:at], word[at], word[at + 1 :]
        if after:
            yield before + after[0] + letter + after[1:]
        yield before + letter + letter + after
        if after.startswith(letter):
            yield before + after


def _with_letter_added(word: str, letters: str) -> Iterator[str]:
    return (word[:at] + letter + word[at:] for at in range(1, len(word) + 1) for letter in letters)


def _with_vowel_added(word: str) -> Iterator[str]:
    return _with_letter_added(word, _vowels_of_script(word))


def _with_inner_letter_added(word: str) -> Iterator[str]:
    return _with_letter_added(word, _letters_of_script(word))


def _with_any_letter_added(word: str) -> Iterator[str]:
    yield from (letter + word for letter in _letters_of_script(word))
    yield from _with_inner_letter_added(word)


def _with_letter_replaced(word: str) -> Iterator[str]:
    for at, letter in enumerate(word):
        yield from (word[:at] + replacement + word[at + 1 :] for replacement in _REPLACEMENTS.get(letter, ""))


def _with_letter_removed(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(len(word)))


_LIKELY_EDITS = (
    _Edits(_swapped_or_doubled, min_chars=4),
    _Edits(_with_vowel_added, min_chars=5),
    _Edits(_with_letter_replaced, min_chars=6),
    _Edits(_with_letter_removed, min_chars=6),
)
"""The kinds of mistakes, the likeliest first."""
_ADDED_LETTERS = _Edits(_with_any_letter_added, min_chars=6, max_chars=12)
_INNER_LETTERS = _Edits(_with_inner_letter_added, min_chars=6, max_chars=12)
"""For a large archive: each other first letter is another place of the index, and a read."""


def _closest_title_word(archive: Archive, word: str) -> str | None:
    """Return the closest word among the titles that start with the same letters."""
    if len(word) < _MIN_TITLE_WORD_CHARS:
        return None
    max_edits = 2 if len(word) >= _TWO_EDITS_MIN_CHARS else 1
    edits: dict[str, int] = {}
    for prefix in (word[: len(word) // 2], word[:3]):
        for title in _titles_starting_with(archive, prefix):
            for candidate in tokenize(normalize(title)):
                if abs(len(candidate) - len(word)) <= max_edits and candidate not in edits:
                    edits[candidate] = _likely_edits(word, candidate, max_edits)
        close = [candidate for candidate in edits if edits[candidate] <= max_edits and archive.frequency(candidate)]
        if close:
            return min(close, key=lambda candidate: (edits[candidate], -archive.frequency(candidate), candidate))
    return None


def _titles_starting_with(archive: Archive, prefix: str) -> Iterator[str]:
    """Return some titles that start with a prefix; of a small archive also those with another word that does."""
    if has_title_ranges(archive):
        return names_in_range(archive, prefix)
    return map(archive.title_of, archive.suggest_paths(prefix, _MAX_TITLES_PER_PREFIX))


def _likely_edits(word: str, candidate: str, limit: int) -> int:
    """Return how many edits two words are apart, or more than the limit if a letter is replaced by any other."""
    folded_word, folded_candidate = word.translate(_FOLDED), candidate.translate(_FOLDED)
    added = abs(len(word) - len(candidate))
    is_swapped = sorted(folded_word) == sorted(folded_candidate)
    if not is_swapped and edit_distance(folded_word, folded_candidate, limit) > added:
        return limit + 1
    return edit_distance(word, candidate, limit)
