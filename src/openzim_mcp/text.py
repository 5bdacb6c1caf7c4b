"""Text: made safe to show, made comparable, in words and sentences; and sizes for people."""

from __future__ import annotations

import difflib
import re
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Controls, bidi overrides and isolates, tag characters, fillers and other characters that only hide something.
# Single zero-width joiners shape Persian, Indic and emoji text and stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]+|[\u200c\u200d]{2,}"
)
_TIME = re.compile(r"(?:\d+:)?\d\d:\d\d")
_INVISIBLE_IN_NUMBER = re.compile(rf"\d(?:{_INVISIBLE.pattern}|[\u200c\u200d])+(?=\d)")
# The invisible characters that `str.isprintable` accepts.
_PRINTABLE_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
)
# What can move a terminal's cursor, recolour it or reorder a line; tab and line feed are layout.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What would be read as Markdown structure, or as one of this server's own lines, at the start of a line.
_OUR_LINE = (
    r"\[(?:content_)?offset=|\((?:Read as|Read in part|Not searched)\b|(?:Source|Nearest|Not found here|"
    r"Nothing was found|Path|Requested Path|Actual Path)\s*:|(?:Answer|Question) by .{0,80}\(score"
)
_STRUCTURE = re.compile(rf"#{{1,6}}\s|>|```|~~~|-{{3,}}|={{3,}}|\*{{3,}}|\||{_OUR_LINE}")
_STRUCTURE_STARTS = frozenset("#>`~-=*|[(SNPRAQ")
_OUR_LINE_START = re.compile(_OUR_LINE)

# Scripts that are written without spaces, and Hangul, which the full-text index treats alike.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
# Thai, Lao, Burmese and Khmer: full-text indexes neither find their words nor split them.
_UNSEGMENTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_LETTER = rf"[^\W_{_UNSPACED}]"
# A run of an unspaced script; initials (U.S.); or a word, of which C++, C#, AT&T and O'Brien are each one.
_WORD = re.compile(
    rf"[{_UNSPACED}]+|(?:[^\W\d_{_UNSPACED}]\.){{2,}}(?:[^\W\d_{_UNSPACED}]\b)?"
    rf"|{_LETTER}+(?:['’&]{_LETTER}+)*(?:\+{{1,2}}|\#)?"
)
# The same where all is ASCII: the classes of all scripts take twice the time.
_ASCII_WORD = re.compile(r"(?:[a-zA-Z]\.){2,}(?:[a-zA-Z]\b)?|[a-zA-Z0-9]+(?:['&][a-zA-Z0-9]+)*(?:\+{1,2}|\#)?")
_INSIDE_WORD = frozenset("'’&.")
_NOT_A_WORD = re.compile(r"[^\w ]+")
_INSIDE_TITLE_WORD = re.compile("['’.]")

_TERM_LINE = re.compile(r"(?:`[^`\n]+`|\*\*[^*\n]+\*\*)\n\s*")
"""A line that is all code or all bold: the term of a definition, or a title."""
_MAX_EDITS_BY_CHARS = ((8, 2), (4, 1), (0, 0))
_SPACED_MARKS = ".!?…\u0589\u061f\u06d4।॥።។။"
_UNSPACED_MARKS = "。\uff01\uff1f"
SENTENCE_MARKS = _SPACED_MARKS + _UNSPACED_MARKS
"""The characters that end a sentence in any script, for use inside the brackets of a pattern."""
# Where a sentence may end: at its mark, and a quote or bracket after it, but not after one or two letters or digits
# (J. K., St., the 3. of a date); in Thai, which has no marks, at a blank.
_SENTENCE_END = re.compile(
    rf"(?:(?<=[{_SPACED_MARKS}])|(?<=[.!?…][\"”»’)\]]))(?<!\b\w\.)(?<!\b\w\w\.)\s+"
    rf"|(?<=[{_UNSPACED_MARKS}])(?![」』”’])|(?<=[{_UNSPACED_MARKS}][」』”’])"
    r"|(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff])|\n+"
)
# The same where only blanks and ends of lines separate sentences: what starts with a blank is found five times faster.
_SPACED_SENTENCE_END = re.compile(
    rf"\s(?:(?:(?<=[{_SPACED_MARKS}]\s)|(?<=[.!?…][\"”»’)\]]\s))(?<!\b\w\.\s)(?<!\b\w\w\.\s)\s*|(?<=\n)\n*)"
)
_ENDS_WITHOUT_BLANK = re.compile(rf"[{_UNSPACED_MARKS}\u0e00-\u0eff]")


def strip_invisible(text: str) -> str:
    """Remove the characters that cannot be seen; two digits that they stand between are kept apart."""
    if text.isprintable() and (text.isascii() or not _PRINTABLE_INVISIBLE.search(text)):
        return text
    return _INVISIBLE.sub("", _INVISIBLE_IN_NUMBER.sub(_split_number, text))


def _split_number(match: re.Match[str]) -> str:
    # A soft hyphen between digits is nearly always a hyphen of an old encoding, as in 1914-18.
    return match[0][0] + ("-" if "\xad" in match[0] else " ")


def remove_mark(text: str, mark: str) -> str:
    """Remove a mark of Markdown such as **; two digits that it stands between are kept apart."""
    first, *others = text.split(mark)
    for part in others:
        first += f" {part}" if first[-1:].isdecimal() and part[:1].isdecimal() else part
    return first


def replace_control(text: str, replacement: str = "") -> str:
    """Replace control characters and bidi overrides; tabs and line feeds stay."""
    return _CONTROL.sub(replacement, text)


def escape_invisible(text: str) -> str:
    r"""Return a text on one line, with escapes such as `\n` and `\u202e` for what cannot be seen."""
    if text.isprintable() and (text.isascii() or not _PRINTABLE_INVISIBLE.search(text)):
        return text
    return "".join(c if c.isprintable() and strip_invisible(c) else ascii(c)[1:-1] for c in text)


def visible_line(text: str) -> str:
    """Return `text` on one line, without what cannot be seen."""
    return " ".join(strip_invisible(text).split())


def safe_line(text: str, limit: int = 4000) -> str:
    """Return text from outside so that it can be shown: on one line, visible, at most `limit` characters."""
    line = visible_line(text[: 2 * limit].replace("\u0085", " "))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def escape_markdown(text: str) -> str:
    """Escape the lines that would be read as structure that the page does not have."""
    return "\n".join(map(_escape_line, text.split("\n"))) if "\n" in text else _escape_line(text)


def _escape_line(line: str) -> str:
    return f"\\{line}" if line[:1] in _STRUCTURE_STARTS and _STRUCTURE.match(line) else line


def escape_our_lines(line: str) -> str:
    """Escape a line of plain text that could be taken for one of this server's."""
    return f"\\{line}" if _OUR_LINE_START.match(line) else line


def normalize(text: str) -> str:
    """Return a text without case and accents, as the full-text indexes hold it; Thai vowel signs and the like stay."""
    lower = text.lower()
    if lower.isascii():
        return lower
    decomposed = unicodedata.normalize("NFD", lower)
    for character in set(decomposed):
        is_mark = character > "\u02ff" and unicodedata.category(character).startswith("M")
        if is_mark and not _UNSEGMENTED.match(character):
            decomposed = decomposed.replace(character, "")
    return unicodedata.normalize("NFC", decomposed)


def title_words(title: str) -> list[str]:
    """Return the normalized words of a title, without marks inside them: I.Q. is iq; c, c++ and c# stay apart."""
    return [_INSIDE_TITLE_WORD.sub("", word) for word in find_words(normalize(title))]


def title_key(title: str) -> str:
    """Return what titles that differ in case, accents and punctuation only have in common."""
    normalized = normalize(title)
    return " ".join(_INSIDE_TITLE_WORD.sub("", word) for word in tokenize(normalized)) or normalized.strip()


def fact_key(name: str) -> str:
    """Return the name of a key fact as names are compared: normalized words, without marks."""
    return " ".join(_NOT_A_WORD.sub(" ", normalize(name)).split())


def find_words(text: str) -> list[str]:
    """Return the words of a text in order; a run of an unspaced script is one word."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text start and end."""
    return [word.span() for word in (_ASCII_WORD if text.isascii() else _WORD).finditer(text)]


def word_at(text: str, position: int) -> tuple[int, int, str]:
    """Return start, end and text of the word at a position, or of the next one."""
    start = position
    while start and (text[start - 1].isalnum() or text[start - 1] in _INSIDE_WORD):
        start -= 1
    word = _WORD.match(text, start)
    while word and word.end() <= position:
        word = _WORD.search(text, word.end())
    return (*word.span(), word.group()) if word else (position, position, "")


def tokenize(normalized: str) -> list[str]:
    """Return the words of a normalized text in order; of unspaced scripts, groups of characters.

    They are pairs, as in the full-text indexes; of Thai, Lao, Burmese and Khmer, which are not in these, groups of
    three.
    """
    words = find_words(normalized)
    if normalized.isascii() or not _UNSPACED_CHARACTER.search(normalized):
        return words
    return [token for word in words for token in (_ngrams(word) if is_unspaced_script(word) else (word,))]


def _ngrams(run: str) -> list[str]:
    size = ngram_size(run)
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]


def ngram_size(run: str) -> int:
    """Return how many characters of a run without spaces are one token."""
    return 3 if is_unsegmented_script(run) else 2


def is_unspaced_script(word: str) -> bool:
    """Return whether a word is in a script that is written without spaces."""
    return not word.isascii() and bool(_UNSPACED_CHARACTER.match(word))


def is_unsegmented_script(text: str) -> bool:
    """Return whether a text has words in Thai, Lao, Burmese or Khmer, which full-text indexes cannot find."""
    return not text.isascii() and bool(_UNSEGMENTED.search(text))


def sentence_ends(text: str, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Yield the positions between `start` and `stop` where a sentence or line has ended and the next one starts."""
    has_blanks = text.isascii() or not _ENDS_WITHOUT_BLANK.search(text)
    pattern = _SPACED_SENTENCE_END if has_blanks else _SENTENCE_END
    for end in pattern.finditer(text, start, len(text) if stop is None else stop):
        if "\n" in end.group() or not text[end.end() : end.end() + 1].islower():
            yield end.end()


def is_introduction(text: str) -> bool:
    """Return whether a sentence or line introduces what follows: it ends with a colon, or is a term by itself."""
    return _TERM_LINE.fullmatch(text) is not None or text.rstrip(" \n*_").endswith((":", "："))  # noqa: RUF001


def best_cut(text: str, earliest: int, latest: int) -> int:
    """Return where to cut a text: after the last line, else sentence, else word of a range; else at its end."""
    line = text.rfind("\n", earliest, latest)
    if line >= 0:
        return line + 1
    sentence = max(sentence_ends(text, earliest, latest), default=-1)
    if sentence >= 0:
        return sentence
    blank = text.rfind(" ", earliest, latest)
    return blank + 1 if blank >= 0 else latest


def closest(name: str, names: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the names that are most similar to `name`, the most similar first; `cutoff` is between 0 and 1."""
    return difflib.get_close_matches(name, list(names), n=limit, cutoff=cutoff)


def max_typing_edits(text: str) -> int:
    """Return how many edits apart another spelling of a word or a title may be."""
    return next(edits for chars, edits in _MAX_EDITS_BY_CHARS if len(text) >= chars)


def edit_distance(first: str, second: str, limit: int) -> int:
    """Return how many letters must be added, removed, replaced or swapped; `limit + 1` if more than `limit`."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before_previous: list[int] = []
    previous = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            edits = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                edits = min(edits, before_previous[j - 2] + 1)
            row.append(edits)
        if min(row) > limit:
            return limit + 1
        before_previous, previous = previous, row
    return previous[-1]


def format_size(size: float) -> str:
    """Return a number of bytes for people, in powers of 1000."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"  # noqa: PLR2004
        size /= 1000
    return f"{size:.1f} TB"


def place_in_page(section: str, locator: str) -> str:
    """Return where a passage stands, for people: its section, its page or time, or both."""
    if not locator or locator in section:
        return section
    if _TIME.fullmatch(section):
        return locator
    return f"{section}, {locator}" if section else locator


def continuation_line(offset: int, total: int, place: str = "") -> str:
    """Return the line that says where a text continues; `place` says how far this is if the length is not known."""
    return f"[content_offset={offset} continues; {place or f'{total} characters in all'}]"


def iso_time(seconds: float) -> str:
    """Return a time of the file system as results show it: UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
