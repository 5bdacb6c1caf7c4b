"""Words that an archive does not have, put right by titles and words that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.text import edit_distance, is_unspaced_script, normalize, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive

_SHORTEST = 4
_LONGEST = 24
_SHORTEST_PART = 3
_TWO_EDITS = 8
"""From this length on a word may be two edits off, if a title has it."""
_TITLES = 60
# Spellings of one sound, which accents alone do not explain.
_SAME_SOUND = (
    ("ue", "u"), ("oe", "o"), ("ae", "a"), ("ss", "ß"), ("ß", "ss"), ("ae", "æ"), ("oe", "œ"), ("o", "ø"), ("l", "ł"),
    ("d", "đ"), ("th", "þ"), ("i", "ı"), ("æ", "ae"), ("œ", "oe"), ("ø", "o"), ("ł", "l"), ("đ", "d"), ("þ", "th"),
    ("ı", "i"), ("е", "ё"), ("ی", "ي"), ("ي", "ی"), ("ک", "ك"), ("ك", "ک"), ("1", "ӏ"), ("i", "ӏ"), ("l", "ӏ"),
)  # fmt: skip
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґӏ", "αβγδεζηθικλμνξοπρστυφχψω")
_BLOCKS = ((0x05D0, 0x05EA), (0x0621, 0x064A), (0x0904, 0x0939), (0x0985, 0x09B9))


def correct(archive: Archive, word: str) -> str | None:
    """Return the word of the archive that was probably meant, if one is near."""
    if not _SHORTEST <= len(word) <= _LONGEST or is_unspaced_script(word) or any(c.isdigit() for c in word):
        return None
    for spelling in _sounding_alike(word):
        if archive.frequency(spelling):
            return spelling
    return _most_frequent(archive, _one_edit(word)) or _from_titles(archive, word) or _in_two(archive, word)


def _in_two(archive: Archive, word: str) -> str | None:
    """Return two words that were written as one, if some title has them both."""
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    halves = [(word[:at], word[at:]) for at in cuts if archive.frequency(word[:at]) and archive.frequency(word[at:])]
    pairs = [" ".join(pair) for pair in halves]
    return next((pair for pair in pairs if archive.suggest_paths(pair, 1)), None)


def _sounding_alike(word: str) -> Iterator[str]:
    for written, other in _SAME_SOUND:
        at = word.find(written)
        while at >= 0:
            yield word[:at] + other + word[at + len(written) :]
            at = word.find(written, at + 1)


def _most_frequent(archive: Archive, spellings: Iterator[str]) -> str | None:
    frequencies = {spelling: archive.frequency(spelling) for spelling in spellings}
    best = max(frequencies, key=lambda spelling: (frequencies[spelling], len(spelling)), default=None)
    return best if best is not None and frequencies[best] else None


def _alphabet(word: str) -> str:
    for letters in _ALPHABETS:
        if word[0] in letters:
            return letters
    first = next((span for span in _BLOCKS if span[0] <= ord(word[0]) <= span[1]), None)
    return "".join(map(chr, range(first[0], first[1] + 1))) if first else ""


def _one_edit(word: str) -> Iterator[str]:
    """Yield what a single slip may have made of another word; its first letter is taken to be right."""
    letters = _alphabet(word)
    for at in range(1, len(word) + 1):
        before, here, after = word[:at], word[at : at + 1], word[at + 1 :]
        if here:
            yield before + after
        if after:
            yield before + after[0] + here + after[1:]
        for letter in letters:
            yield before + letter + here + after
            if here:
                yield before + letter + after
    yield word[1] + word[0] + word[2:]


def _from_titles(archive: Archive, word: str) -> str | None:
    """Return the nearest word of the titles that begin alike."""
    near = {}
    allowed = 2 if len(word) >= _TWO_EDITS else 1
    for start in (word[: len(word) // 2], word[:3]):
        for path in archive.suggest_paths(start, _TITLES):
            for candidate in tokenize(normalize(archive.title_of(path))):
                if abs(len(candidate) - len(word)) <= allowed and candidate not in near:
                    near[candidate] = edit_distance(word, candidate, allowed)
        close = [candidate for candidate, edits in near.items() if edits <= allowed and archive.frequency(candidate)]
        if close:
            return min(close, key=lambda candidate: (near[candidate], -archive.frequency(candidate), candidate))
    return None
