"""`zim_links(direction="inbound")` as clients call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import Library
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.worker.jobs import page_scan
from support import command_line
from support.archives import write_zim
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]
PAGES = {
    "Hub": "<p>The hub.</p>",
    "Alpha": '<p>Before.</p><h2>Roads</h2><p>To <a href="Centre">the middle</a> and <a href="Hub">again</a>.</p>',
    "Beta": '<p>From <a href="Hub#part">here</a>, past <a href="Alpha">Alpha</a>.</p>',
    "Gamma": '<p><a href="Hub">Hub</a> and <a href="Alpha">Alpha</a>, <a href="Beta">Beta</a>.</p>',
    "Alone": "<p>Nobody links to this page.</p>",
}
ROWS = [
    {"path": "Alpha", "title": "Alpha", "text": "the middle", "section": "Roads"},
    {"path": "Beta", "title": "Beta", "text": "here"},
    {"path": "Gamma", "title": "Gamma", "text": "Hub"},
]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_zim(tmp_path / "hub.zim", PAGES, redirects={"Centre": "Hub"})
    return tmp_path


def scan(library: Path, max_mb: int = 1000) -> None:
    page_scan.scan_pages([str(library / "hub.zim")], ScanPages(max_mb), lambda *_: None)


@pytest.fixture
def server(open_server: OpenServer, library: Path) -> StdioServer:
    return open_server(library)


def inbound(server: StdioServer, **arguments: Any) -> Any:
    return server.call("zim_links", direction="inbound", **arguments)


def test_inbound_links_are_in_the_order_of_importance(server: StdioServer, library: Path) -> None:
    scan(library)

    page = inbound(server, entry_path="Hub")

    assert page == {
        "path": "Hub",
        "title": "Hub",
        "archive": "hub.zim",
        "inbound_links": ROWS,
        "total": 3,
        "complete": True,
        "next_cursor": None,
        "done": True,
    }


def test_redirect_answers_for_its_target(server: StdioServer, library: Path) -> None:
    scan(library)

    assert inbound(server, entry_path="Centre") == inbound(server, entry_path="Hub")
    assert inbound(server, entry_path="Alone")["total"] == 0


def test_cursor_walks_all_inbound_links(server: StdioServer, library: Path) -> None:
    scan(library)

    first = inbound(server, entry_path="Hub", limit=2)
    second = server.call("zim_links", cursor=first["next_cursor"])

    assert first["inbound_links"] + second["inbound_links"] == ROWS
    assert (first["done"], second["done"], second["next_cursor"]) == (False, True, None)
    refused = server.call("zim_links", direction="outbound", cursor=first["next_cursor"])
    assert "another direction" in refused["message"]


def test_unfinished_index_gives_what_is_known(
    server: StdioServer, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 0)
    monkeypatch.setattr(page_scan, "_SAVE_SHARE", 0)

    def stop(done: int, _of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        page_scan.scan_pages([str(library / "hub.zim")], ScanPages(), stop)

    page = inbound(server, entry_path="Hub", limit=1)

    assert (page["total"], page["complete"], page["progress"]) == (2, False, {"done": 3, "of": 5})
    assert page["inbound_links"] == ROWS[:1]
    assert (page["next_cursor"], page["done"]) == (None, False)
    assert "being made" in page["hint"]


@pytest.mark.parametrize(("max_mb", "total", "reason"), [(0, 3, "no_link_lists"), (None, 0, "no_link_index")])
def test_without_lists_a_search_finds_pages(
    server: StdioServer, library: Path, max_mb: int | None, total: int, reason: str
) -> None:
    if max_mb is not None:
        scan(library, max_mb)

    page = inbound(server, entry_path="Hub")

    assert (page["total"], page["complete"], page["reason"]) == (total, False, reason)
    assert {"path": "Gamma", "title": "Gamma", "text": "Hub"} in page["inbound_links"]
    assert "search for the title" in page["hint"]


def test_query_asks_what_links_to_an_article(server: StdioServer, library: Path) -> None:
    scan(library)

    answer = server.request("tools/call", {"name": "zim_query", "arguments": {"query": "what links to Hub"}})
    text = answer["content"][0]["text"]

    assert text.index("Alpha") < text.index("Beta") < text.index("Gamma")
    assert "(3 pages link to it)" in text


def test_terminal_and_python_list_inbound_links(library: Path) -> None:
    scan(library)

    shown = command_line.run("read", "Hub", library, "--inbound")
    payload = command_line.run("read", "Hub", library, "--inbound", "--json").json
    with Library(library) as opened:
        page = opened.links("Hub", direction="inbound")

    assert [row["path"] for row in payload["inbound_links"]] == ["Alpha", "Beta", "Gamma"]
    assert json.loads(json.dumps(payload))["total"] == page.total == 3
    assert "- Alpha (Roads): the middle" in shown.out
