from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from openzim_mcp import page_index
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.worker import link_index
from openzim_mcp.worker.jobs import link_collector, page_scan
from openzim_mcp.worker.link_index import InboundLinks, load_in_degrees, read_inbound
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.reading.resolve import find_link_target
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

Graph = dict[str, set[str]]
EXCLUDED_CLASSES = {"navbox", "reflist", "references"}


def scan(path: Path, max_mb: int = 1000) -> Archive:
    assert page_scan.scan_pages([str(path)], ScanPages(max_mb), lambda *_: None).is_complete
    return Archive(path.stem, [str(path)])


def inbound(archive: Archive, path: str) -> InboundLinks:
    number = archive.number_of(path)
    assert number is not None
    links = read_inbound(archive.identity, archive.entry_count, number)
    assert links is not None
    return links


def sources(archive: Archive, path: str) -> list[str]:
    return sorted(archive.path_by_id(number) for number in inbound(archive, path).sources or [])


def is_counted(node: LexborNode) -> bool:
    """Whether a link stands outside of what does not count, by its parents."""
    parent: LexborNode | None = node
    while parent is not None:
        attributes = parent.attributes if parent.is_element_node else {}
        names = set((attributes.get("class") or "").split())
        if parent.tag in {"nav", "template"} or attributes.get("role") == "navigation" or names & EXCLUDED_CLASSES:
            return False
        parent = parent.parent
    return True


def read_slowly(archive: Archive) -> Graph:
    """All links of an archive by a parser and libzim's look-ups: target → pages."""
    graph: Graph = defaultdict(set)
    for record in archive.records():
        page = archive.read_page(record.number, 1 << 30)
        is_page = (record.mime_type or "").partition(";")[0] in {"text/html", "application/xhtml+xml"}
        if page is None or not is_page or record.namespace != archive.content_namespace:
            continue
        tree = LexborHTMLParser(page.content)
        base = tree.css_first("base[href]")
        resolver = LinkResolver(page.path, (base.attributes.get("href") if base else None) or "")
        for node in tree.css("a[href], area[href]"):
            link = resolver.resolve(node.attributes.get("href") or "") if is_counted(node) else None
            target = find_link_target(archive, link[1]) if link and link[0] in {"internal", "media"} else None
            if target and target.path != page.path:
                graph[target.path].add(page.path)
    return graph


@pytest.mark.parametrize(
    "name",
    [
        "built/se_coffee.zim",
        "built/wiki_real_pub.zim",
        "real/wikipedia_ady_all_nopic_2026-02.zim",
        "real/wikipedia_en_100_mini_2022-10.zim",
        "real/devdocs_en_sqlite_2025-04.zim",
    ],
)
def test_links_of_real_archives_are_those_of_a_parser(zims: Path, name: str) -> None:
    archive = scan(zims / name)
    expected = read_slowly(archive)

    degrees = load_in_degrees(archive.identity, archive.entry_count)

    assert degrees is not None
    assert sum(degrees) == sum(map(len, expected.values())) > 100
    assert {path: sources(archive, path) for path in expected} == {p: sorted(s) for p, s in expected.items()}


def test_link_counts_once_to_its_target(tmp_path: Path) -> None:
    pages = {
        "Hub": """<a href="Port#sea">a</a> <a href="./folder/Deep">b</a> <AREA HREF='Z%C3%BCrich'> <a href="Hub">self</a>
            <a href="https://example.org/Hub">out</a> <a href="Missing">none</a> <a href="Ravenport?x=1">again</a>
            <a name="Zürich">no link</a> <a href="list.csv">data</a>""",
        "folder/Deep": '<a href="../Ravenport">up</a> <a href="/Hub">root</a> <a href="Deep">self</a>',
        "Ravenport": "<!-- <a href='Hub'>comment</a> --><script>'<a href=\"Hub\">'</script><template><a href=Hub>t</a>"
        '</template><div class="x navbox"><div></div><a href="Hub">n</a></div><nav><a href="Hub">n</a></nav>'
        '<ol class="references"><li><a href="Hub">r</a></ol><p role="navigation"><a href="Hub">r</a></p>'
        "<textarea><a href='Hub'></textarea><a href=Z&#252;rich>entity</a>",
        "Zürich": "",
        "list.csv": '<a href="Hub">not a page</a>',
    }
    archive = scan(write_zim(tmp_path / "links.zim", pages, redirects={"Port": "Harbour", "Harbour": "Ravenport"}))

    assert sources(archive, "Ravenport") == ["Hub", "folder/Deep"]
    assert sources(archive, "folder/Deep") == ["Hub"]
    assert sources(archive, "Zürich") == ["Hub", "Ravenport"]
    assert sources(archive, "Hub") == ["folder/Deep"]
    assert sources(archive, "list.csv") == ["Hub"]


FRAGMENTS = (
    '<a href="{0}">x</a>', "<a href='{0}'>", "<a href={0}>x</a>", '<A TITLE="a > b" HREF="{0}">', '<a/href="{0}">',
    '<area shape="rect" href="{0}" />', '<a data-href="{0}">', '<a title=" href={0}">', '<a href="{0}" href="P1">',
    "<div>", "</div>", '<div class="navbox">', '<div class="a reflist b">', '<span class="references">', "</span>",
    '<table class="navbox"><tr><td>', "</td></tr></table>", "<table>", "</table>", "<td>", "<ul>", "</ul>", "<li>",
    "<p>", "</p>", "<nav>", "</nav>", '<ul role="navigation">', '<ol class="references">', "</ol>", "<b>", "</b>",
    "<!--", "-->", "<!-->", "--!>", "<script>", "</script>", "<style>", "</style>", "<title>", "</title>",
    "<textarea>", "</textarea>", "<template>", "</template>", "<svg>", "</svg>", "<math>", "</math>", "<select>",
    "</select>", "<noscript>", "</noscript>", "<iframe>", "</iframe>", "<![CDATA[", "]]>", "<?php", "< ", " > ", '"',
    "'", "=", "&amp;", '<i title="<a href=P2>">', '<i title="navbox">', "navbox references", '<div data-x="<!--">',
    "<NAV>", "</Nav>", '<DIV CLASS="navbox">', "</DIV>", "<h2>", "</h2>", "</a>", "text", "<br/>",
    "<base href='x/'>", "<section>", "</section>",
)  # fmt: skip


ELEMENTS = (
    "div", "p", "ul", "li", "table", "tr", "td", "nav", "section", "span", "b", "h2", "script", "style", "template",
    "noscript", "svg", "math", "select", "ol", "dl", "dd", "main", "header", "figure", "title", "textarea", "a",
)  # fmt: skip
ATTRIBUTES = (
    "", "", "", "", ' class="x"', ' class="navbox"', " class='x reflist'", " class=references", ' role="navigation"',
    ' ROLE="navigation"', ' class="Navbox"', ' class="navbox-styles"', ' title="references"', ' title="a &gt; b"',
)  # fmt: skip
NAMES = [f"P{number}" for number in range(150)]


def make_fragments(chance: random.Random) -> str:
    """Pieces of markup in any order: most of it is broken."""
    pieces = (chance.choice(FRAGMENTS).replace("{0}", chance.choice(NAMES)) for _ in range(chance.randint(1, 25)))
    return "".join(pieces)


def make_elements(chance: random.Random, depth: int = 0) -> str:
    """Elements that are closed in order; one in fifty has a piece of broken markup."""
    pieces = []
    for _ in range(chance.randint(1, 5)):
        kind = chance.random()
        if kind < 0.4 or depth > 5:
            pieces.append(f'<a{chance.choice(ATTRIBUTES)} href="{chance.choice(NAMES)}">x</a>')
        elif kind < 0.5:
            pieces.append(f"<!-- {make_elements(chance, depth + 1)} -->" if depth else "text &lt; text")
        elif kind < 0.52:
            pieces.append(chance.choice(FRAGMENTS).replace("{0}", chance.choice(NAMES)))
        else:
            name, attributes = chance.choice(ELEMENTS), chance.choice(ATTRIBUTES)
            pieces.append(f"<{name}{attributes}>{make_elements(chance, depth + 1)}</{name}>")
    return " ".join(pieces)


@pytest.mark.parametrize("make_page", [make_fragments, make_elements])
@pytest.mark.parametrize("seed", range(3))
def test_links_of_made_pages_are_those_of_a_parser(
    tmp_path: Path, make_page: Callable[[random.Random], str], seed: int
) -> None:
    chance = random.Random(seed)
    pages = {name: make_page(chance) for name in NAMES}

    archive = scan(write_zim(tmp_path / "made.zim", pages, index=False))

    expected = read_slowly(archive)
    assert {name: sources(archive, name) for name in NAMES} == {name: sorted(expected[name]) for name in NAMES}


def test_lists_that_take_too_much_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_collector, "_MAX_EDGES", 3)
    monkeypatch.setattr(link_index, "MAX_IN_DEGREE", 4)
    pages = {f"P{number}": '<a href="Hub">x</a><a href="P0">x</a>' for number in range(10)} | {"Hub": ""}

    archive = scan(write_zim(tmp_path / "many.zim", pages), max_mb=0)

    assert inbound(archive, "Hub") == InboundLinks(10, None, True, 11, 11)
    assert inbound(archive, "P0") == InboundLinks(9, None, True, 11, 11)
    assert inbound(archive, "P1") == InboundLinks(0, None, True, 11, 11)


@pytest.mark.parametrize("max_mb", [0, 1000])
def test_killed_scan_loses_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_mb: int) -> None:
    path = write_zim(
        tmp_path / "many.zim", {f"P{n}": f'<a href="Hub">x</a><a href="P{n // 2}">' for n in range(9)} | {"Hub": ""}
    )
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 0)
    monkeypatch.setattr(page_scan, "_SAVE_SHARE", 0)
    archive = Archive("many", [str(path)])
    known = []
    for limit in (4, 2, 4):  # the first run also reports that it has read the entries
        reported: list[int] = []

        def report(done: int, _of: int, *, limit: int = limit, reported: list[int] = reported) -> None:
            reported.append(done)
            if len(reported) > limit:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            page_scan.scan_pages([str(path)], ScanPages(max_mb), report)
        known.append(inbound(archive, "Hub"))

    scan(path, max_mb)

    assert [links.done for links in known] == [3, 5, 9]
    assert [links.sources if max_mb == 0 else len(links.sources or []) for links in known] == (
        [None] * 3 if max_mb == 0 else [2, 4, 8]
    )
    assert inbound(archive, "Hub").total == 9
    assert inbound(archive, "P1").total == 2


def test_scan_killed_while_lists_are_made_loses_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_index, "_ENTRIES_PER_BUCKET", 4)
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 0)
    monkeypatch.setattr(page_scan, "_SAVE_SHARE", 0)
    path = write_zim(tmp_path / "many.zim", {f"P{n}": f'<a href="P{n // 2}">x</a><a href="P9">' for n in range(20)})
    archive = Archive("many", [str(path)])
    merge = link_collector.LinkCollector._merge_bucket
    merged: list[int] = []

    def merge_one(collector: link_collector.LinkCollector, bucket: int) -> None:
        if merged:
            raise KeyboardInterrupt
        merged.append(bucket)
        merge(collector, bucket)

    expected = {name: set(found) for name, found in read_slowly(archive).items()}
    while True:
        merged.clear()
        try:
            with monkeypatch.context() as patch:
                patch.setattr(link_collector.LinkCollector, "_merge_bucket", merge_one)
                scan(path)
        except KeyboardInterrupt:
            assert {name: set(sources(archive, name)) for name in expected} == expected
            assert not inbound(archive, "P9").is_complete
        else:
            break

    assert merged
    assert {name: set(sources(archive, name)) for name in expected} == expected
    assert inbound(archive, "P9").total == 19


def test_damaged_index_is_no_error(tmp_path: Path) -> None:
    archive = scan(write_zim(tmp_path / "one.zim", {"A": '<a href="B">', "B": ""}))
    number = archive.number_of("B")
    assert number is not None
    Path(page_index.index_path(archive.identity)).write_bytes(b"damaged")

    assert read_inbound(archive.identity, archive.entry_count, number) is None
