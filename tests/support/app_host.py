"""A host for the app view in a real Chromium: a page that speaks the bridge, and a frame under the policy of the
specification; what the view asks for goes to a real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.stdio_server import StdioServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

CSP = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"
)
_HOST_PAGE = """<!DOCTYPE html><html lang="en"><title>Host</title><style>body { margin: 0 } iframe { border: 0; width: 100%; height: 700px }</style>
<main><iframe title="View" sandbox="allow-scripts"></iframe></main>
<script>
const frame = document.querySelector("iframe"), messages = [], times = {};
const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (name, params) => send({ method: `ui/notifications/${name}`, params });
const REPLIES = {
  "ui/initialize": () => ({ protocolVersion: "2026-01-26", hostInfo: { name: "test", version: "1" }, ...config.host }),
  "ui/request-display-mode": (params) => ({ mode: params.mode }),
  "tools/call": (params) => callServer("tools/call", params),
  "resources/read": (params) => callServer("resources/read", params),
};
let config;
addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow) return;
  const { id, method, params, result } = event.data;
  messages.push(event.data);
  if (method === "ui/notifications/initialized") {
    times.interactive = performance.now() - times.start;
    notify("tool-input", { arguments: config.input });
    notify("tool-result", config.result);
    times.shown = performance.now();
  }
  if (method === "ui/notifications/size-changed" && times.shown) times.answered ??= performance.now() - times.start;
  if (method === "ui/notifications/size-changed" && config.resize) frame.style.height = `${params.height}px`;
  if (id === undefined || !method) return;
  try { send({ id, result: await REPLIES[method](params) }); }
  catch (error) { send({ id, error: { code: -32000, message: String(error.message) } }); }
});
start = (given, url) => { config = given; times.start = performance.now(); frame.src = url; };
</script>"""


class _Pages(BaseHTTPRequestHandler):
    """Answers every path with the page of the server, and records it."""

    server: _PageServer

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        body = self.server.html.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


class _PageServer(ThreadingHTTPServer):
    def __init__(self, html: str, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.html, self.headers, self.paths = html, headers, list[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


@contextmanager
def _serving(html: str, headers: dict[str, str]) -> Iterator[_PageServer]:
    with _PageServer(html, headers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@dataclass
class AppView:
    """The view in its frame, the requests that its page made, and what the browser complained about."""

    page: Page
    view: FrameLocator
    requests: list[str]
    problems: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the view sent to the host."""
        messages: list[dict[str, Any]] = self.page.evaluate("messages")
        return messages

    def notify(self, name: str, params: dict[str, Any]) -> None:
        self.page.evaluate("([name, params]) => notify(name, params)", [name, params])


@contextmanager
def open_view(
    browser: Browser,
    server: StdioServer,
    query: str,
    *,
    size: tuple[int, int] = (720, 760),
    context: dict[str, Any] | None = None,
    capabilities: dict[str, Any] | None = None,
    resize: bool = False,
) -> Iterator[AppView]:
    """Show the answer to a query in the view that the server offers."""
    html = server.request("resources/read", {"uri": "ui://openzim-mcp/answer.html"})["contents"][0]["text"]
    host = {
        "hostCapabilities": {"serverTools": {}} if capabilities is None else capabilities,
        "hostContext": {"theme": "light", "displayMode": "inline"} | (context or {}),
    }
    with _serving(_HOST_PAGE, {}) as pages, _serving(html, {"Content-Security-Policy": CSP}) as views:
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        shown = AppView(page, page.frame_locator("iframe"), views.paths)
        page.on("console", lambda message: shown.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: shown.problems.append(str(error)))
        page.on("requestfailed", lambda request: shown.problems.append(request.url))
        page.expose_function("callServer", server.request)
        page.goto(pages.url)
        result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query}})
        config = {"host": host, "input": {"query": query}, "result": result, "resize": resize}
        page.evaluate("([config, url]) => start(config, url)", [config, views.url])
        shown.view.locator(".passage, img").first.wait_for()
        yield shown
        page.close()


def axe_findings(shown: AppView) -> list[str]:
    """What axe-core finds in the view, rules of best practice included."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    frame = shown.page.frames[1]
    frame.evaluate(script)
    found = frame.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{row['id']}: {[node['html'] for node in row['nodes']]}" for row in found["violations"]]
