"""Which links stand on a page, found in its bytes: the same as a parser finds, for a fraction of its time.

Every page of an archive is searched so. Most pages are regular enough that a few regular expressions see what a parser
sees; where they cannot be sure (`Unsure`), the page is parsed.
"""

from __future__ import annotations

import contextlib
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import SelectolaxError

from openzim_mcp.worker.readers.html.tree import parse_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXCLUDED_CLASSES = frozenset({"navbox", "reflist", "references"})
_EXCLUDED = "nav, [role=navigation], template, " + ", ".join(f"[class~={name}]" for name in sorted(_EXCLUDED_CLASSES))
_TEXT_ELEMENTS = b"script style textarea title iframe".split()
"""Elements that hold text only, whatever it looks like."""
_OTHER_RULES = b"template svg math select".split()
"""Elements in which tags are read by other rules."""
_NOT_READ = re.compile(
    rb"<(?:(!--)|(%s)(?=[\s/>])|(%s)(?=[\s/>])|(frameset|plaintext|xmp|base|noembed|noframes|!\[cdata)\b)"
    % (b"|".join(_TEXT_ELEMENTS), b"|".join(_OTHER_RULES))
)
_MAY_NOT_BE_READ = re.compile(rb"<[!bfimnpstx](?:--|\[c|cri|tyl|ext|itl|fra|emp|vg|ath|ele|ram|lai|mp|ase|oem|ofr)")
"""The same, and a few tags more: it is three times as fast."""
_ENDS = {name: re.compile(rb"</%s(?=[\s/>])" % name) for name in _TEXT_ELEMENTS + _OTHER_RULES}
_NEEDS_PARSER = re.compile(
    rb"<(?:!|(?:a|area|script|style|textarea|iframe|div|p|table|%s)[\s/>])" % b"|".join(_OTHER_RULES)
)
"""What an element with other rules may not contain, to be left out as it is."""
_NO_STRUCTURE = bytes(code for code in range(256) if code not in b"<>='\"")
_IRREGULAR = re.compile(rb"""<(?:""|="[^"<>]*"|='[^'<>]*'|=(?!["']))*+(?!>)""")
"""A tag in a tag, or an attribute that holds a bracket, in a page that is reduced to brackets, quotes and `=`."""
_MARKS = (b"nav", b"reflist", b"references")
"""What is left out has one of these in its tag."""
_TAG_NAME = re.compile(rb"<([a-z][^\s/<>]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?""")
_ELEMENTS = rb"div|table|ul|ol|section|nav|aside|article|dl|td|th|caption"
_STRUCTURE = re.compile(rb"<(/?)(%s)(?=[\s/>])" % _ELEMENTS)
_STRUCTURE_AND_LINKS = re.compile(rb"<(/?)(%s|a)(?=[\s/>])" % _ELEMENTS)
_TAGS = {name: re.compile(rb"<(/?)%s(?=[\s/>])" % name) for name in _ELEMENTS.split(b"|")}
_CELLS = frozenset({b"td", b"th", b"caption"})
_LINK_START = re.compile(rb"<a(?=[\s/>])")
# Attributes before a plain `href` are left out, and links to a part of the page, and to other sites.
_LINK = re.compile(
    rb"<[aA](?:[rR][eE][aA])?[\s/]\s*+"
    rb'(?:(?!href=)[a-z][a-z:-]*+="[^"<>]*"\s++)*+(?!href="(?:#|https?://))(href="[^"&<>]*"|[^<>]*)'
)
_PLAIN_HREF = re.compile(rb'href="([^"&]*)"')
_REFERENCE = re.compile(rb"&(?:amp|quot|lt|gt|#39|#x27);")
_REFERENCE_NAMES = {b"&amp;": b"&", b"&quot;": b'"', b"&lt;": b"<", b"&gt;": b">", b"&#39;": b"'", b"&#x27;": b"'"}
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_OTHER_ENCODINGS = (b"\0", b"\x1b")


class Hrefs(NamedTuple):
    """The links of a page, each once, and the address that relative ones start at, if the page names it."""

    base: str
    hrefs: list[str]


class Unsure(Exception):
    """Only a parser can tell what is a link on this page."""


def find_hrefs(raw: bytes) -> Hrefs:
    """Return the links of a page but those in navigation and lists of references; none if memory ends."""
    try:
        return Hrefs("", list(dict.fromkeys(href for link in find_links(raw) if (href := href_of(link)) is not None)))
    except Unsure:
        with contextlib.suppress(MemoryError, SelectolaxError):
            return parse_hrefs(raw)
    return Hrefs("", [])


def parse_hrefs(raw: bytes) -> Hrefs:
    """Return the same by a parser."""
    tree = parse_tree(raw)
    if tree is None:
        return Hrefs("", [])
    for node in tree.css(_EXCLUDED):
        node.decompose()
    base = tree.css_first("base[href]")
    hrefs = dict.fromkeys(node.attributes.get("href") or "" for node in tree.css("a[href], area[href]"))
    return Hrefs((base.attributes.get("href") if base is not None else None) or "", list(hrefs))


def find_links(raw: bytes) -> dict[bytes, None]:
    """Return the attributes of the links of a page, each once, or raise `Unsure`; `href_of` tells where they lead.

    Links to a part of the page and to other sites are left out, where that is plain to see.
    """
    if any(mark in raw for mark in _OTHER_ENCODINGS):
        raise Unsure
    text, lower = _without_code(raw)
    # Nearly all attributes and tags are gone before the slower search.
    structure = text.translate(None, _NO_STRUCTURE).replace(b'=""', b"").replace(b"<>", b".")
    if _IRREGULAR.search(structure):
        raise Unsure
    links: dict[bytes, None] = {}
    for start, stop in _counted_parts(text, lower):
        links.update(dict.fromkeys(_LINK.findall(text, start, stop)))
    if not b"".join(links).isascii():
        _require_utf8(raw)
    return links


def _require_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise Unsure from None


def _without_code(raw: bytes) -> tuple[bytes, bytes]:
    """Return a page without comments, scripts and the like, also in lower case; `<>` stands in their place."""
    lower = raw.lower()
    pieces, position = [], 0
    search_from = 0
    while candidate := _MAY_NOT_BE_READ.search(lower, search_from):
        search_from = candidate.end()
        mark = _NOT_READ.match(lower, candidate.start())
        if mark is None:
            continue
        pieces.append(slice(position, mark.start()))
        if mark[1]:
            position = _end_of_comment(lower, mark.end())
        elif mark[2]:
            position = _end_of_text(lower, mark[2], mark.end())
        elif mark[3]:
            position = _end_of_other_rules(lower, mark[3], mark.end())
        else:
            raise Unsure
        search_from = position
    pieces.append(slice(position, None))
    return b"<>".join([raw[piece] for piece in pieces]), b"<>".join([lower[piece] for piece in pieces])


def _end_of_comment(page: bytes, start: int) -> int:
    end = page.find(b"-->", start)
    if end < 0 or page.startswith((b">", b"->"), start) or page.find(b"--!>", start, end) >= 0:
        raise Unsure
    return end + 3


def _end_of_text(page: bytes, name: bytes, start: int) -> int:
    """Return where the end tag of an element begins that holds text only."""
    end = _ENDS[name].search(page, max(start, page.find(b">", start)))
    if end is None or (name == b"script" and page.find(b"<!--", start, end.start()) >= 0):
        raise Unsure
    return end.start()


def _end_of_other_rules(page: bytes, name: bytes, start: int) -> int:
    """Return where the end tag of an element begins that no link stands in."""
    end = _ENDS[name].search(page, start)
    if end is None or _NEEDS_PARSER.search(page, start, end.start()):
        raise Unsure
    return end.start()


def _counted_parts(text: bytes, lower: bytes) -> Iterator[tuple[int, int]]:
    """Yield the parts of a page that lie outside of navigation and lists of references."""
    position = 0
    for mark in sorted(chain.from_iterable(_find_all(lower, name) for name in _MARKS)):
        start = text.rfind(b"<", 0, mark)
        if start >= position and _is_excluded(text[start : text.find(b">", start)], mark - start):
            yield position, start
            position = _end_of_element(lower, start)
    yield position, len(text)


def _find_all(text: bytes, part: bytes) -> Iterator[int]:
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1)


def _is_excluded(tag: bytes, mark: int) -> bool:
    """Return whether the links of an element do not count; `tag` is what stands between its brackets."""
    name = _TAG_NAME.match(tag) if mark < len(tag) else None
    if name is None:
        return False
    if name[1].lower() == b"nav":
        return True
    attributes: dict[bytes, bytes] = {}
    for key, double, single, bare in _ATTRIBUTE.findall(tag, name.end()):
        attributes.setdefault(key.lower(), double or single or bare)
    classes, role = attributes.get(b"class", b""), attributes.get(b"role", b"")
    if b"&" in classes + role:
        raise Unsure
    return role == b"navigation" or not _EXCLUDED_CLASSES.isdisjoint(classes.decode(errors="replace").split())


def _end_of_element(page: bytes, start: int) -> int:
    """Return where an element ends, if everything in it is nested in order."""
    end = _end_by_count(page, start)
    has_links_in_tables = page.find(b"<table", start, end) >= 0
    open_names: list[bytes] = []
    for closes, name in (_STRUCTURE_AND_LINKS if has_links_in_tables else _STRUCTURE).findall(page, start, end):
        if name == b"a":
            if open_names[-1] == b"table":
                raise Unsure  # the parser moves what stands between the cells of a table out of it
        elif not closes:
            open_names.append(name)
        elif open_names.pop() != name:
            raise Unsure
    if open_names or _LINK_START.search(page, max(start, page.rfind(b"</a>", start, end)), end):
        raise Unsure  # the parser opens a link again behind the element
    return end


def _end_by_count(page: bytes, start: int) -> int:
    """Return where as many elements with the name of one have been closed as were opened."""
    element = _STRUCTURE.match(page, start)
    if element is None or element[2] in _CELLS:
        raise Unsure  # the parser may see no such element, or another end of it
    depth = 0
    for tag in _TAGS[element[2]].finditer(page, start):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end() + 1
    raise Unsure


def href_of(link: bytes) -> str | None:
    """Return the first `href` of the attributes of a link, or raise `Unsure`."""
    plain = _PLAIN_HREF.match(link)
    href = plain[1] if plain else _find_href(link)
    if href is None:
        return None
    if _CONTROL.search(href):
        raise Unsure
    return href.decode()


def _find_href(link: bytes) -> bytes | None:
    for key, double, single, bare in _ATTRIBUTE.findall(link):
        if key.lower() == b"href":
            return _unescape(double or single or bare)
    return None


def _unescape(href: bytes) -> bytes:
    if b"&" not in href:
        return href
    if b"&" in _REFERENCE.sub(b"", href):
        raise Unsure
    return _REFERENCE.sub(lambda reference: _REFERENCE_NAMES[reference[0]], href)
