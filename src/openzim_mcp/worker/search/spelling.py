"""Spelling correction of words that an archive does not contain, by its index and its titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.text import edit_distance, is_unspaced_script, normalize, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive

_MIN_WORD_CHARS = 4
_MAX_WORD_CHARS = 24
_MIN_PART_CHARS = 3
_TWO_EDITS_MIN_CHARS = 8
"""From this length on, a word of a title may be two edits away."""
_MAX_TITLES_PER_PREFIX = 60
# Spellings of the same sound that removing accents does not make equal.
_EQUIVALENT_SPELLINGS = (
    ("ue", "u"), ("oe", "o"), ("ae", "a"), ("ss", "ß"), ("ß", "ss"), ("ae", "æ"), ("oe", "œ"), ("o", "ø"), ("l", "ł"),
    ("d", "đ"), ("th", "þ"), ("i", "ı"), ("æ", "ae"), ("œ", "oe"), ("ø", "o"), ("ł", "l"), ("đ", "d"), ("þ", "th"),
    ("ı", "i"), ("е", "ё"), ("ی", "ي"), ("ي", "ی"), ("ک", "ك"), ("ك", "ک"), ("1", "ӏ"), ("i", "ӏ"), ("l", "ӏ"),
)  # fmt: skip
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґӏ", "αβγδεζηθικλμνξοπρστυφχψω")
_LETTER_RANGES = ((0x05D0, 0x05EA), (0x0621, 0x064A), (0x0904, 0x0939), (0x0985, 0x09B9))


def correct_word(archive: Archive, word: str) -> str | None:
    """Return the word of the archive that was probably meant, or None; it may be two words, written as one."""
    has_digit = any(character.isdigit() for character in word)
    if not _MIN_WORD_CHARS <= len(word) <= _MAX_WORD_CHARS or is_unspaced_script(word) or has_digit:
        return None
    for spelling in _phonetic_variants(word):
        if archive.frequency(spelling):
            return spelling
    corrected = _most_frequent(archive, _words_one_edit_away(word)) or _closest_title_word(archive, word)
    return corrected or _split_word(archive, word)


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


def _most_frequent(archive: Archive, spellings: Iterator[str]) -> str | None:
    frequencies = {spelling: archive.frequency(spelling) for spelling in spellings}
    best = max(frequencies, key=lambda spelling: (frequencies[spelling], len(spelling)), default=None)
    return best if best is not None and frequencies[best] else None


def _letters_of_script(word: str) -> str:
    """Return the letters of the script in which a word is written."""
    for letters in _ALPHABETS:
        if word[0] in letters:
            return letters
    letter_range = next((span for span in _LETTER_RANGES if span[0] <= ord(word[0]) <= span[1]), None)
    return "".join(map(chr, range(letter_range[0], letter_range[1] + 1))) if letter_range else ""


def _words_one_edit_away(word: str) -> Iterator[str]:
    """Yield the strings that are one edit away; the first letter is assumed to be right, or swapped with the second."""
    letters = _letters_of_script(word)
    for at in range(1, len(word) + 1):
        before, letter, after = word[:at], word[at : at + 1], word[at + 1 :]
        if letter:
            yield before + after
        if after:
            yield before + after[0] + letter + after[1:]
        for replacement in letters:
            yield before + replacement + letter + after
            if letter:
                yield before + replacement + after
    yield word[1] + word[0] + word[2:]


def _closest_title_word(archive: Archive, word: str) -> str | None:
    """Return the closest word among the titles that start with the same letters."""
    max_edits = 2 if len(word) >= _TWO_EDITS_MIN_CHARS else 1
    edits: dict[str, int] = {}
    for prefix in (word[: len(word) // 2], word[:3]):
        for path in archive.suggest_paths(prefix, _MAX_TITLES_PER_PREFIX):
            for candidate in tokenize(normalize(archive.title_of(path))):
                if abs(len(candidate) - len(word)) <= max_edits and candidate not in edits:
                    edits[candidate] = edit_distance(word, candidate, max_edits)
        close = [candidate for candidate in edits if edits[candidate] <= max_edits and archive.frequency(candidate)]
        if close:
            return min(close, key=lambda candidate: (edits[candidate], -archive.frequency(candidate), candidate))
    return None
