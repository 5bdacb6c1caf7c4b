"""Markup whose square the parser's time grows with, found and limited before a page is parsed.

That is how deep tags are nested, how many attributes one tag has, and how many options stand in one list.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate, islice
from operator import sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIN_CHECKED_TAGS = 3000
_MAX_TRUSTED_TAGS = 5000
"""The end tags of a page of more tags are compared with its start tags."""
_MAX_UNCHECKED_TAGS = 100_000
"""A page of more tags is always measured."""
_MAX_ESTIMATED_DEPTH = 2500
_MAX_OPEN_FORMATTING = 1000
_MAX_DEPTH = 500
"""Far deeper than what is read as structure."""
_SAMPLE_BYTES = 4096
_WINDOWS = 16
_WINDOW_BYTES = 1024
_MIN_FALSE_ENDS = 10
_FALSE_END_SHARE = 0.5
_MAX_INLINE_LEVELS = 16
_NAME = re.compile(rb"<(/?)([a-z]\w*)", re.IGNORECASE)
_TOKEN = re.compile(rb"<!--.*?(?:-->|\Z)|<(/?)([a-z][^\s/<>]*)[^<>]*>?", re.DOTALL | re.IGNORECASE)
_RAW_TEXT_ENDS = {
    name: re.compile(rb"</%s|\Z" % name, re.IGNORECASE)
    for name in b"script style textarea title xmp iframe noembed noframes".split()
}
"""Elements that contain no tags, unless they stand in a drawing or a formula."""
_HTML_IN_FOREIGN = frozenset(b"foreignobject desc title annotation-xml mi mo mn ms mtext".split())
_MIN_CHECKED_BYTES = 128 * 1024
"""The attributes of the tags of a smaller page are not counted."""
_MIN_CHECKED_TAG_BYTES = 4096
_MAX_ATTRIBUTES = 500
_START_TAG = re.compile(rb"""<([a-zA-Z][^\s/>]*)(?:[^"'<>]+|"[^"]*"|'[^']*')*""")
_ATTRIBUTE = re.compile(rb"""[^\s"'/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
_MAX_OPTIONS = 1000
_OPTION = re.compile(rb"</?option\b[^<>]*>?", re.IGNORECASE)
_VOID_TAGS = frozenset(
    b"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split()
)
_CONTAINERS = frozenset(
    b"address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 "
    b"h3 h4 h5 h6 header hgroup main menu nav ol pre search section summary table ul".split()
)
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_CELLS = frozenset({b"p", b"td", b"th"})
_TAGS_WITHOUT_END = _VOID_TAGS | set(b"p li dd dt td th tr tbody thead tfoot option optgroup rt rp".split())
# What a start tag ends, as its end tag may be left out.
_ENDED_BY = {
    **dict.fromkeys(_CONTAINERS | {b"p"}, frozenset({b"p"})),
    b"li": frozenset({b"p", b"li"}),
    **dict.fromkeys((b"dd", b"dt"), frozenset({b"p", b"dd", b"dt"})),
    **dict.fromkeys((b"td", b"th"), _CELLS),
    b"tr": _CELLS | {b"tr"},
    **dict.fromkeys((b"tbody", b"thead", b"tfoot"), _CELLS | {b"tr", b"tbody", b"thead", b"tfoot"}),
    b"option": frozenset({b"option"}),
    **dict.fromkeys((b"rt", b"rp"), frozenset({b"rt", b"rp"})),
}


def may_nest_deep(raw: bytes) -> bool:
    """Return whether a page may nest deep; for most pages samples decide, as all tags would cost too much."""
    tag_count = raw.count(b"<")
    if tag_count <= _MIN_CHECKED_TAGS:
        return False
    is_suspicious = (
        tag_count > _MAX_UNCHECKED_TAGS
        or _estimate_depth(raw) > _MAX_ESTIMATED_DEPTH
        or (tag_count > _MAX_TRUSTED_TAGS and _has_false_ends(raw))
    )
    return is_suspicious and _measure_depth(raw) > _MAX_ESTIMATED_DEPTH


def limit_attributes(raw: bytes) -> bytes:
    """Return a page without the attributes of a tag that has far too many of them."""
    if len(raw) < _MIN_CHECKED_BYTES:
        return raw
    pieces, position = [], 0
    for tag in _START_TAG.finditer(raw):
        start, end = tag.span()
        if end - start > _MIN_CHECKED_TAG_BYTES and _has_many_attributes(raw, tag.end(1), end):
            pieces.append(raw[position : tag.end(1)])
            position = end
    return b"".join([*pieces, raw[position:]]) if pieces else raw


def _has_many_attributes(raw: bytes, start: int, end: int) -> bool:
    attributes = _ATTRIBUTE.finditer(raw, start, end)
    return next(islice(attributes, _MAX_ATTRIBUTES, None), None) is not None


def limit_options(raw: bytes) -> bytes:
    """Return a page without the tags of options, of which it has far too many; their texts stay."""
    has_many = raw.count(b"<") > _MAX_OPTIONS and raw.lower().count(b"<option") > _MAX_OPTIONS
    return _OPTION.sub(b" ", raw) if has_many else raw


def _measure_depth(raw: bytes) -> int:
    """Return how deep a page may nest: by all tags but those that need no end, without ends that have no start."""
    tags = _NAME.findall(raw)
    counts = Counter(tags)
    changes = dict.fromkeys(counts, 0)
    for slash, name in counts:
        if name.lower() not in _TAGS_WITHOUT_END:
            has_false_ends = counts[b"/", name] > counts[b"", name]
            changes[slash, name] = (0 if has_false_ends else -1) if slash else 1
    balances = [0, *accumulate(map(changes.__getitem__, tags))]
    depths: Iterator[int] = map(sub, balances, accumulate(balances, min))
    return max(depths)


def _has_false_ends(raw: bytes) -> bool:
    """Return whether end tags have no start, so that counting them makes a page look flat."""
    for start in range(0, len(raw), max(_WINDOW_BYTES, len(raw) // _WINDOWS)):
        tags = _NAME.findall(raw, start, start + _WINDOW_BYTES)
        ends = Counter(name for slash, name in tags if slash)
        ends_without_start = (ends - Counter(name for slash, name in tags if not slash)).total()
        if ends_without_start > max(_MIN_FALSE_ENDS, _FALSE_END_SHARE * ends.total()):
            return True
    return False


def has_endless_formatting(raw: bytes) -> bool:
    """Return whether a page leaves so much formatting open that the parser would repeat it in every paragraph."""
    counts: Counter[bytes] = Counter()
    open_count = 0
    for slash, name in _NAME.findall(raw):
        tag = name.lower()
        if tag in _FORMATTING and (not slash or counts[tag]):
            change = -1 if slash else 1
            counts[tag] += change
            open_count += change
            if open_count > _MAX_OPEN_FORMATTING:
                return True
    return False


def limit_nesting(raw: bytes) -> bytes:
    """Return a page without the tags that are nested too deep; what stands between them stays."""
    open_tags = _OpenTags()
    pieces: list[bytes] = []
    position = search_from = 0
    while token := _TOKEN.search(raw, search_from):
        search_from = token.end()
        name, is_end = (token[2] or b"").lower(), bool(token[1])
        if not is_end and name in _RAW_TEXT_ENDS and not open_tags.is_foreign:
            end = _RAW_TEXT_ENDS[name].search(raw, search_from)
            search_from = end.end() if end else len(raw)
        elif name and open_tags.depth_of(name, is_end=is_end, token=token[0]) > _MAX_DEPTH:
            pieces += (raw[position : token.start()], b" ")
            position = token.end()
    return b"".join([*pieces, raw[position:]]) if pieces else raw


def _estimate_depth(raw: bytes) -> int:
    """Return about how many tags are open at most, if each end tag ends one; those that need none count too."""
    open_tags = max_open_tags = 0
    for start in range(0, len(raw), _SAMPLE_BYTES):
        stop = start + _SAMPLE_BYTES
        open_tags += raw.count(b"<", start, stop) - 2 * raw.count(b"</", start, stop)
        max_open_tags = max(max_open_tags, open_tags)
    return max_open_tags


class _OpenTags:
    """The names of the tags that are open, as a parser would see them."""

    def __init__(self) -> None:
        self._names: list[bytes] = []
        self._counts: Counter[bytes] = Counter()

    @property
    def is_foreign(self) -> bool:
        """Whether the next tag is one of a drawing or a formula."""
        counts = self._counts
        return counts[b"svg"] + counts[b"math"] > sum(counts[name] for name in _HTML_IN_FOREIGN)

    def depth_of(self, name: bytes, *, is_end: bool, token: bytes) -> int:
        """Take the next tag, and return the depth of its element; 0 if it is not nested."""
        if name in _VOID_TAGS:
            return 0
        if is_end:
            return self._end(name)
        if name in _ENDED_BY:
            self._end_implied(_ENDED_BY[name])
        if token.endswith(b"/>") and (self._counts[b"svg"] or self._counts[b"math"]):
            return 0
        self._names.append(name)
        self._counts[name] += 1
        return len(self._names)

    def _end(self, name: bytes) -> int:
        if not self._counts[name]:
            return 0
        if name in _FORMATTING and self._names[-1] != name:
            # It ends without what is open inside it.
            above = self._names[: -_MAX_INLINE_LEVELS - 1 : -1]
            if name not in above:
                return 0
            position = len(self._names) - 1 - above.index(name)
            del self._names[position]
            self._counts[name] -= 1
            return position + 1
        depth = len(self._names)
        while self._pop() != name:
            depth -= 1
        return depth

    def _pop(self) -> bytes:
        name = self._names.pop()
        self._counts[name] -= 1
        return name

    def _end_implied(self, ended: frozenset[bytes]) -> None:
        """End the elements that a start tag ends, and what is open inside them."""
        position = len(self._names) - 1
        last = position - _MAX_INLINE_LEVELS
        while position >= 0 and position > last and self._names[position] not in _CONTAINERS:
            if self._names[position] in ended:
                while len(self._names) > position:
                    self._pop()
                last = position - 1 - _MAX_INLINE_LEVELS
            position -= 1
