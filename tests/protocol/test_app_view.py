"""The app view in a real Chromium, in a host that speaks the bridge, with the default policy of the specification."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openzim_mcp.protocol.app_view import EXTENSION, MIME_TYPE, URI, view_html
from support.app_host import axe_findings, open_view
from support.archives import write_zim
from support.browser import open_browser
from support.stdio_server import PROTOCOL_VERSIONS, STATELESS_VERSION, StdioServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MAX_BYTES = 60_000
HOSTILE = '<img src="/x" onerror="top.hacked=1"><script>top.hacked=1</script><a href="javascript:top.hacked=1">x</a>'
ESCAPED = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
KEEPERS = "".join(
    f"<h2>Isle {n}</h2><p>The lighthouse keeper of isle {n} rows to the reef at dawn.</p>" for n in range(30)
)
PAGES = {
    "Beacon": "<h1>Beacon</h1><p>A beacon is a fire on a hill that warns ships of the rocks.</p>"
    "<p><img src='fire.png' alt='A fire' width='300' height='300'></p><h2>History</h2>"
    "<p>The first beacon of the coast was lit in 1612 by the monk Oswin.</p><ul><li>Wood<ul><li>Pine</li></ul></li></ul>"
    "<table><tr><th>Year</th><th>Fuel</th></tr><tr><td>1612</td><td>Pine</td></tr><tr><td>1700</td><td>Coal</td></tr></table>"
    "<pre>light(beacon)</pre><h2>Keepers</h2><p>Its keepers were paid in herring.</p>",
    "Keeper": f"<h1>Keeper</h1>{KEEPERS}",
    "Hostile": f"<h1>Hostile {ESCAPED}</h1><p>The quagmire poison is brewed from {ESCAPED} nettles.</p><h2>{ESCAPED}</h2><p>{ESCAPED}</p>",
    "Tide": "<h1>Tide</h1><p>The moon moves the tide of the long sea.</p>"
    + "".join(f"<p>Wave {n} of many that come and go on a very long shore without an end.</p>" for n in range(1500))
    + "<p>The last wave of the long sea.</p>",
    "منارة": "<h1>منارة</h1><p>المنارة برج عال يرسل الضوء إلى السفن في البحر.</p><h2>التاريخ</h2><p>بنيت منارة الإسكندرية في القرن الثالث قبل الميلاد.</p>",
}


def png() -> bytes:
    """A small picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 100, 100, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x99" * 100) * 100, level=0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    folder = tmp_path_factory.mktemp("lights")
    pages: dict[str, str | bytes] = {**PAGES, "fire.png": png()}
    write_zim(folder / "lights.zim", pages)  # type: ignore[arg-type]
    with StdioServer(folder) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def test_view_is_one_small_file_without_addresses() -> None:
    html = view_html()

    assert len(html.encode()) < MAX_BYTES
    assert not re.findall(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|eval\(", html)
    assert "view.css */" not in html


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_tool_names_the_view_and_the_view_is_a_resource(town_zim: Path, version: str) -> None:
    with StdioServer(town_zim).with_version(version) as server:
        (tool,) = server.request("tools/list")["tools"]
        (content,) = server.request("resources/read", {"uri": URI})["contents"]

    assert tool["_meta"]["ui"] == {"resourceUri": URI}
    assert (content["uri"], content["mimeType"], content["text"]) == (URI, MIME_TYPE, view_html())
    assert content["_meta"]["ui"] == {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}


def test_extension_is_declared(town_zim: Path) -> None:
    with StdioServer(town_zim).with_version(STATELESS_VERSION) as server:
        capabilities = server.request("server/discover")["capabilities"]

    assert capabilities["extensions"][EXTENSION] == {"mimeTypes": [MIME_TYPE]}


def test_answer_is_shown_with_its_source(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        view = shown.view
        assert "lit in 1612 by the monk Oswin" in view.locator(".passage").first.inner_text()
        assert view.locator(".source").first.inner_text().startswith("Beacon › History\nlights.zim")
        assert view.locator("#question").input_value() == "Who lit the first beacon?"
        assert axe_findings(shown) == []
        methods = [message.get("method") for message in shown.messages]

    assert methods[:2] == ["ui/initialize", "ui/notifications/initialized"]
    assert "ui/notifications/size-changed" in methods
    assert (shown.problems, shown.requests) == ([], ["/"])


@pytest.mark.parametrize("capabilities", [{"serverTools": {}}, {"serverTools": {}, "serverResources": {}}])
def test_source_opens_the_article(
    browser: Browser, server: StdioServer, capabilities: dict[str, dict[str, object]]
) -> None:
    with open_view(browser, server, "Who lit the first beacon?", capabilities=capabilities) as shown:
        view = shown.view
        view.locator(".source").first.click()
        view.locator("#reader:not([hidden])").wait_for()

        assert view.locator("#article-title").inner_text() == "Beacon"
        assert view.locator("#text h2").all_inner_texts() == ["History", "Keepers"]
        assert "Title:" not in view.locator("#text").inner_text()
        assert view.locator("#text th").all_inner_texts() == ["Year", "Fuel"]
        assert view.locator("#text li li").inner_text() == "Pine"
        assert view.locator("#text pre").inner_text() == "light(beacon)"
        assert axe_findings(shown) == []
        reads = {message.get("method") for message in shown.messages} & {"tools/call", "resources/read"}
    assert reads == {"resources/read" if "serverResources" in capabilities else "tools/call"}
    assert (shown.problems, shown.requests) == ([], ["/"])


def test_reader_has_outline_search_and_picture(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        view = shown.view
        view.locator(".source").first.click()
        view.locator("#outline summary").click()
        view.get_by_role("navigation").get_by_role("button", name="Keepers").click()
        assert view.locator("#text h2:focus").inner_text() == "Keepers"

        view.get_by_label("Find in this article").fill("BEACON")
        view.get_by_role("button", name="Find").click()
        view.get_by_text(re.compile(r"^1 of \d+$")).wait_for()
        assert view.locator("mark[aria-current]").inner_text().lower() == "beacon"
        view.get_by_label("Find in this article").fill("nowhere")
        view.get_by_role("button", name="Find").click()
        view.get_by_text("“nowhere” is not in this text.").wait_for()
        assert view.locator("mark").count() == 0

        view.get_by_role("button", name="Picture").click()
        image = view.locator("#text img")
        image.wait_for()
        assert image.get_attribute("src") == "data:image/png;base64," + base64.b64encode(png()).decode()
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 100
    assert (shown.problems, shown.requests) == ([], ["/"])


def test_host_without_our_resources_reads_by_the_tool(browser: Browser, server: StdioServer) -> None:
    capabilities: dict[str, dict[str, object]] = {"serverTools": {}, "serverResources": {}}
    with open_view(browser, server, "Who lit the first beacon?", capabilities=capabilities) as shown:
        shown.page.evaluate("() => { REPLIES['resources/read'] = () => { throw new Error('Not allowed'); }; }")
        shown.view.locator(".source").first.click()
        shown.view.locator("#reader:not([hidden])").wait_for()

        assert "keepers were paid in herring" in shown.view.locator("#text").inner_text()


def test_long_article_is_read_on(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "What moves the tide of the long sea?") as shown:
        shown.view.get_by_role("button", name=re.compile("^Tide")).first.click()
        shown.view.locator("#reader:not([hidden])").wait_for()
        before = len(shown.view.locator("#text").inner_text())
        shown.view.get_by_role("button", name="Read on").click()
        shown.view.get_by_role("button", name="Read on").wait_for(state="hidden")

        text = shown.view.locator("#text").inner_text()
        assert len(text) > before
        assert "The last wave of the long sea." in text
        assert "continues;" not in text


def test_next_passage_is_added(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Where does the lighthouse keeper row at dawn?") as shown:
        passages = shown.view.locator(".passage")
        before = passages.all_inner_texts()
        shown.view.get_by_role("button", name="Next passage").click()
        passages.nth(len(before)).wait_for()

        after = passages.all_inner_texts()
        assert after[: len(before)] == before
        assert not set(before) & set(after[len(before) :])
        assert shown.view.locator(".passage:focus").inner_text() == after[len(before)]


def test_new_question_is_asked(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        question = shown.view.get_by_label("Ask the offline archives")
        question.fill("How were the keepers of the beacon paid?")
        question.press("Enter")
        shown.view.get_by_text("paid in herring").wait_for()
        question.fill("Who is the president of Atlantis?")
        question.press("Enter")
        shown.view.locator(".unanswered").wait_for()

        assert shown.view.locator(".unanswered").inner_text().startswith("Not found here:")
        assert axe_findings(shown) == []


def test_view_is_used_by_keyboard(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        shown.view.locator("#question").focus()
        for _ in range(10):
            shown.page.keyboard.press("Tab")
            if shown.view.locator(".source:focus").count():
                break
        shown.page.keyboard.press("Enter")
        shown.view.locator("#article-title:focus").wait_for()
        shown.page.keyboard.press("Escape")
        shown.view.locator(".source:focus").wait_for()

        assert shown.view.locator("#reader").is_hidden()


def test_text_of_archives_is_never_markup(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "What is the quagmire poison brewed from?") as shown:
        passage = shown.view.locator(".passage").first.inner_text()
        shown.view.locator(".source").first.click()
        shown.view.locator("#article-title").wait_for()
        text = shown.view.locator("#reader").inner_text()
        shown.view.locator("#outline summary").click()
        hacked = shown.page.evaluate("window.hacked")
        inside = shown.page.frames[1].evaluate(
            "[document.images.length, document.scripts.length, document.links.length]"
        )

    assert "<script>top.hacked=1</script>" in passage
    assert "<script>top.hacked=1</script>" in text
    assert hacked is None
    assert inside == [0, 1, 0]
    assert (shown.problems, shown.requests) == ([], ["/"])


def test_right_to_left_text_is_laid_out_so(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "متى بنيت منارة الإسكندرية؟") as shown:
        assert shown.view.locator(".passage").first.evaluate("node => getComputedStyle(node).direction") == "rtl"
        shown.view.locator(".source").first.click()
        shown.view.locator("#reader:not([hidden])").wait_for()

        assert shown.view.locator("#text h2").evaluate("node => getComputedStyle(node).direction") == "rtl"
        assert shown.view.locator("#article-title").inner_text() == "منارة"
        assert axe_findings(shown) == []


def test_theme_of_the_host_is_used(browser: Browser, server: StdioServer) -> None:
    def background() -> str:
        color: str = shown.page.frames[1].evaluate("getComputedStyle(document.body).backgroundColor")
        return color

    with open_view(browser, server, "Who lit the first beacon?", context={"theme": "dark"}) as shown:
        assert background() == "rgb(28, 28, 31)"
        assert axe_findings(shown) == []
        shown.notify("host-context-changed", {"theme": "light"})
        shown.view.locator("html[style*='color-scheme: light']").wait_for()
        assert background() == "rgb(255, 255, 255)"
        styles = {"variables": {"--color-background-primary": "light-dark(#fafaff, #111)", "x": "red"}}
        shown.notify("host-context-changed", {"styles": styles})
        shown.view.locator("html[style*='fafaff']").wait_for()
        assert background() == "rgb(250, 250, 255)"


def test_view_fits_320_pixels(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?", size=(320, 700)) as shown:
        assert shown.page.frames[1].evaluate("document.documentElement.scrollWidth") <= 320
        shown.view.locator(".source").first.click()
        shown.view.locator("#reader:not([hidden])").wait_for()
        assert shown.page.frames[1].evaluate("document.documentElement.scrollWidth") <= 320
        assert axe_findings(shown) == []


def test_errors_are_shown_as_sentences(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        error = {"content": [{"type": "text", "text": '{"status": "error", "message": "Busy.", "hint": "Wait."}'}]}
        shown.notify("tool-result", error | {"isError": True})
        shown.view.get_by_text("Busy. Wait.").wait_for()
        shown.notify("tool-cancelled", {"reason": "user"})
        shown.view.get_by_text("The question was cancelled.").wait_for()


def test_requests_of_the_host_are_answered(browser: Browser, server: StdioServer) -> None:
    with open_view(browser, server, "Who lit the first beacon?") as shown:
        for number, method in enumerate(["ui/resource-teardown", "ping", "toString"], 900):
            shown.page.evaluate("(message) => send(message)", {"id": number, "method": method})
        shown.page.wait_for_function("messages.filter((message) => message.id >= 900).length === 3")
        replies = [message for message in shown.messages if (message.get("id") or 0) >= 900]

    assert [reply.get("result", reply.get("error", {}).get("code")) for reply in replies] == [{}, {}, -32601]
