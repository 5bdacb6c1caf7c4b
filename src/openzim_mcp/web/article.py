"""An article as HTML: its blocks, with links that stay in the reader and pictures of the archive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup, escape

from openzim_mcp import addresses
from openzim_mcp.calls.page import END_MARK, FIRST_MARK, MARK_PATTERN, MATH_ATTRIBUTES, MATH_TAGS
from openzim_mcp.web.markdown import Renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.page import ArticlePage, InlineObject, MathElement, PageBlock, PageSection

_MARK = re.compile(MARK_PATTERN)
_WEB_SCHEMES = ("http://", "https://")
_OWN_IDS = "ui-"
"""Ids of our own elements start with this; no id of an archive does."""
_MAX_OUTLINE_ROWS = 300
_MIN_OUTLINE_ROWS = 2
_MAX_HEADING_LEVEL = 6
_MAX_ANCHOR_CHARS = 300
_ICON_PIXELS = 50
_FACT = re.compile(r"- (?:(?P<name>[^:\n]{1,120}): )?(?P<value>.*)$")
_LOCATOR = Markup('<p class="locator muted" id="{}">{}</p>')
_FACTS = Markup('<details class="facts" open data-fold><summary>Key facts</summary><dl>{}</dl></details>')
_NAMED_FACT = Markup("<div><dt>{}</dt><dd>{}</dd></div>")
_OTHER_FACT = Markup('<div class="wide"><dt class="hidden">{}</dt><dd>{}</dd></div>')
_WRAPPED = {
    "hatnote": Markup('<p class="hatnote">{}</p>'),
    "definition": Markup('<p class="dt">{}</p>'),
    "lines": Markup('<p class="lines">{}</p>'),
}
_CAPTION = re.compile(r"\*\*(.+)\*\*\n\n(?=\|)")


@dataclass(frozen=True)
class OutlineRow:
    """A section in the outline."""

    title: str
    address: str
    depth: int


def render_article(page: ArticlePage, name: str, capability: str) -> Markup:
    """Return the blocks of a part of an article as HTML; its pictures are fetched with a capability."""
    return _ArticleRenderer(page, name, capability).render()


def outline_rows(page: ArticlePage, name: str) -> list[OutlineRow]:
    """Return the outline of an article; one with hardly any sections has none."""
    sections = [section for section in page.sections[1:] if section.title][:_MAX_OUTLINE_ROWS]
    if len(sections) < _MIN_OUTLINE_ROWS:
        return []
    top = min(section.level for section in sections)
    return [OutlineRow(row.title, section_address(page, name, row), min(row.level - top, 3)) for row in sections]


def section_address(page: ArticlePage, name: str, section: PageSection) -> str:
    """Return the address of a section, which may be in another part of the article."""
    fragment = f"#{quote(section.id)}"
    return fragment if section.part == page.part else part_address(page, name, section.part) + fragment


def part_address(page: ArticlePage, name: str, part: int) -> str:
    """Return the address of a part of an article."""
    return addresses.reader_address(name, page.path) + (f"?part={part + 1}" if part else "")


class _ArticleRenderer:
    def __init__(self, page: ArticlePage, name: str, capability: str) -> None:
        self._page = page
        self._name = name
        self._capability = capability
        self._ids: set[str] = set()
        self._renderer = Renderer(self._replace_marks)
        self._sections = {section.id: section for section in page.sections}

    def render(self) -> Markup:
        blocks = _figures_before_facts(self._page.blocks)
        return Markup("\n").join(self._locator(block) + self._anchors(block) + self._block(block) for block in blocks)

    def _locator(self, block: PageBlock) -> Markup:
        """Return the page or time that a block is at, if it is another one than before."""
        name = block.locator.replace(" ", "")
        return _LOCATOR.format(name, block.locator) if name and self._is_new_id(name) else Markup("")

    def _block(self, block: PageBlock) -> Markup:
        if block.kind in _WRAPPED:
            return _WRAPPED[block.kind].format(self._renderer.inline(block.text))
        if block.kind == "notice":
            return Markup('<div class="notice">{}</div>').format(self._renderer.blocks(block.text))
        renderers = {"heading": self._heading, "figure": self._figure, "facts": self._facts, "table": self._table}
        render = renderers.get(block.kind)
        return render(block) if render else self._renderer.blocks(block.text)

    def _anchors(self, block: PageBlock) -> Markup:
        section = self._page.sections[block.section].id if block.kind == "heading" else None
        names = [name for name in block.anchors if name != section]
        return Markup("").join(Markup('<a id="{}"></a>').format(name) for name in names if self._is_new_id(name))

    def _is_new_id(self, name: str) -> bool:
        if not name or name in self._ids or name.startswith(_OWN_IDS) or len(name) > _MAX_ANCHOR_CHARS:
            return False
        self._ids.add(name)
        return not any(map(str.isspace, name))

    def _heading(self, block: PageBlock) -> Markup:
        section = self._page.sections[block.section]
        level = min(max(section.level, 2), _MAX_HEADING_LEVEL)
        if not self._is_new_id(section.id):
            return Markup(f"<h{level}>{{}}</h{level}>").format(section.title)  # noqa: S704  a number
        link = Markup('<a class="anchor" href="#{}" aria-label="Link to section {}">#</a>')
        shown = link.format(quote(section.id), section.title)
        return Markup(f'<h{level} id="{{}}">{{}} {{}}</h{level}>').format(section.id, section.title, shown)  # noqa: S704

    def _figure(self, block: PageBlock) -> Markup:
        text = block.text.removeprefix("[Image: ").removesuffix("]")
        pictures = "".join(mark for mark in _MARK.findall(text) if self._is_media(mark))
        caption = "".join(char for char in text if char not in pictures).strip()
        shown = self._replace_marks(pictures)
        if not shown and not caption:
            return Markup("")
        captions = Markup("<figcaption>{}</figcaption>").format(self._renderer.inline(caption)) if caption else ""
        return Markup("<figure>{}{}</figure>").format(Markup(shown), captions)  # noqa: S704  of escaped parts

    def _is_media(self, mark: str) -> bool:
        thing = self._object(mark)
        return thing is not None and thing.kind in {"image", "video", "audio"}

    def _facts(self, block: PageBlock) -> Markup:
        rows = [row for line in block.text.split("\n") if (row := _FACT.match(line))]
        shown = [self._fact(row) for row in rows if row["name"] or row["value"] != self._page.title]
        return _FACTS.format(Markup("\n").join(shown))

    def _fact(self, row: re.Match[str]) -> Markup:
        template = _NAMED_FACT if row["name"] else _OTHER_FACT
        return template.format(_without_marks(row["name"] or "Also"), self._renderer.inline(row["value"]))

    def _table(self, block: PageBlock) -> Markup:
        caption = _CAPTION.match(block.text)
        if caption is None:
            return self._renderer.blocks(block.text)
        title = Markup('<p class="caption">{}</p>').format(self._renderer.inline(caption[1]))
        return title + self._renderer.blocks(block.text[caption.end() :])

    def _object(self, mark: str) -> InlineObject | None:
        number = ord(mark) - FIRST_MARK
        return self._page.objects[number] if 0 <= number < len(self._page.objects) else None

    def _replace_marks(self, html: str) -> str:
        """Replace the marks of an escaped text by elements; each that is opened is closed."""
        closing: list[str] = []

        def replace(match: re.Match[str]) -> str:
            mark = match[0]
            if mark == END_MARK:
                return closing.pop() if closing else ""
            thing = self._object(mark)
            if thing is None:
                return ""
            if thing.kind in {"image", "video", "audio"}:
                return str(self._media(thing))
            if thing.kind == "formula":
                return self._start_formula(thing, closing)
            opening = self._link_start(thing)
            closing.append("</a>" if opening else "")
            return opening

        shown = _MARK.sub(replace, html)
        return _FORMULA_TEXT.sub("", shown) + "".join(reversed(closing))

    def _start_formula(self, thing: InlineObject, closing: list[str]) -> str:
        if thing.math is None:
            closing.append("</code>")
            return '<code class="tex">'
        # The TeX that follows is what a model reads; a browser shows the formula instead.
        closing.append(_FORMULA_END)
        return str(_math(thing.math)) + _FORMULA_START

    def _link_start(self, thing: InlineObject) -> str:
        if thing.missing:
            return ""
        if thing.kind == "anchor":
            section = self._sections.get(thing.fragment)
            address = section_address(self._page, self._name, section) if section else f"#{quote(thing.fragment)}"
            return f'<a href="{escape(address)}">'
        if thing.kind == "internal":
            return f'<a href="{escape(addresses.reader_address(self._name, thing.target, thing.fragment))}">'
        if thing.target.lower().startswith(_WEB_SCHEMES):
            return f'<a class="external" rel="noopener noreferrer nofollow" href="{escape(thing.target)}">'
        return ""

    def _media(self, thing: InlineObject) -> Markup:
        if thing.missing:
            return Markup('<span class="missing">{}</span>').format(thing.text) if thing.text else Markup("")
        address = addresses.content_address(self._capability, thing.target)
        size = (
            Markup(' width="{}" height="{}"').format(thing.width, thing.height) if thing.width and thing.height else ""
        )
        if thing.kind == "image":
            kind = "icon" if 0 < thing.width <= _ICON_PIXELS else "picture"
            picture = Markup('<img class="{}" src="{}" alt="{}"{} loading="lazy" decoding="async">')
            return picture.format(kind, address, thing.text, size)
        if thing.kind == "video":
            return Markup('<video controls preload="metadata" src="{}"{}></video>').format(address, size)
        return Markup('<audio controls preload="none" src="{}"></audio>').format(address)


_FORMULA_START, _FORMULA_END = "\ue000", "\ue001"
# A text of an archive has no characters for private use: readers remove them.
_FORMULA_TEXT = re.compile(f"{_FORMULA_START}[^{_FORMULA_END}]*(?:{_FORMULA_END}|$)")


def _figures_before_facts(blocks: Sequence[PageBlock]) -> list[PageBlock]:
    """Return blocks with the pictures of a box above its facts, as people expect them."""
    ordered: list[PageBlock] = []
    for block in blocks:
        is_of_box = block.kind == "figure" and bool(ordered) and ordered[-1].kind == "facts"
        ordered.insert(len(ordered) - 1 if is_of_box else len(ordered), block)
    return ordered


def _without_marks(text: str) -> str:
    return _MARK.sub("", text)


def _math(element: MathElement, depth: int = 0) -> Markup:
    """Return a formula as MathML, of elements and attributes that are known only."""
    if element.tag not in MATH_TAGS or depth > 50:  # noqa: PLR2004  readers nest less
        return Markup("")
    attributes = Markup("").join(
        Markup(' {}="{}"').format(name, value)
        for name, value in element.attributes.items()
        if value in MATH_ATTRIBUTES.get(name, ())
    )
    inner = Markup("").join(_math(child, depth + 1) for child in element.children) if element.children else element.text
    return Markup(f"<{element.tag}{{}}>{{}}</{element.tag}>").format(attributes, inner)  # noqa: S704  a known tag
