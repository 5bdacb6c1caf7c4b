from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.archives import ISLES, write_zim
from support.http_server import TOKEN, HttpServer

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
BOATS = {
    "Sloop": (
        "<h1>Sloop</h1><p>A sloop has one mast. See <a href='Rigging'>rigging</a>.<img src='pic.png' alt='A sloop'></p>"
        "<h2>Use</h2><p>Sloops carry mail.</p><h2>Care</h2><p>Tar the hull.</p>"
    ),
    "Rigging": "<p>Rigging holds the mast.</p>",
    "Ravenport": "<h1>Ravenport</h1><p>Sloops are built in Ravenport.</p>",
    "pic.png": "picture",
    "clip.txt": "0123456789" * 300_000,
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_zim(folder / "isles_2026-01.zim", ISLES, metadata={"Title": "The Isles", "Date": "2026-01-05"})
    write_zim(folder / "boats.zim", BOATS, metadata={"Title": "<b>Boats & co", "Description": "On <i>boats</i>"})
    (folder / "broken.zim").write_bytes((folder / "boats.zim").read_bytes()[:2000])
    return folder


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[HttpServer]:
    with HttpServer((directory,), {"RATE_LIMIT__ENABLED": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(directory: Path) -> Iterator[HttpServer]:
    with HttpServer((directory,), {"AUTH_TOKEN": TOKEN, "RATE_LIMIT__ENABLED": "false"}) as running:
        yield running


def page(server: HttpServer, path: str, **options: object) -> httpx2.Response:
    return server.get(path, headers=BROWSER, **options)


def test_start_page_lists_the_archives(server: HttpServer) -> None:
    response = page(server, "/")

    assert response.status_code == 200
    assert "2 archives with" in response.text
    assert '<a href="/archives/isles_2026-01">The Isles</a>' in response.text
    assert "&lt;b&gt;Boats &amp; co" in response.text
    assert "All archives, 1 with a problem" in response.text


def test_answer_shows_the_passage_with_its_source(server: HttpServer) -> None:
    html = page(server, "/ask?q=Who+founded+Ravenport%3F").text

    assert "<mark>Ravenport</mark>" in html or "<mark>founded</mark>" in html
    assert "Ada Quill" in html
    assert re.search(r'<a href="/read/isles_2026-01/Ravenport#History:~:text=[^"]+">Ravenport › History</a>', html)
    assert "The Isles, 2026-01-05" in html


def test_model_view_is_the_text_of_the_tool(server: HttpServer) -> None:
    html = page(server, "/ask?q=Who+founded+Ravenport%3F&view=model").text
    answer = server.get("/api/v1/ask", params={"q": "Who founded Ravenport?"})

    shown = re.search(r'<pre class="model" tabindex="0">(.*?)</pre>', html, re.DOTALL)
    assert shown is not None
    assert "zim://isles_2026-01/entry/Ravenport" in shown[1]
    assert re.search(r"What a model sees <span class=\"muted\">\d+ tokens", html)
    if answer.status_code == 200:
        assert shown[1].splitlines()[0] == answer.json()["markdown"].splitlines()[0]


def test_unanswered_question_is_not_found(server: HttpServer) -> None:
    html = page(server, "/ask?q=Who+invented+the+zorblax%3F").text

    assert '<div class="not-found"><p>Not found here: ' in html
    assert html.count("Not found here: ") == 1


def test_question_is_escaped(server: HttpServer) -> None:
    html = page(server, "/ask?q=%3Cscript%3Ealert(1)%3C/script%3E%22").text

    assert "<script>alert" not in html
    assert 'value="&lt;script&gt;alert(1)&lt;/script&gt;&#34;"' in html


def test_search_lists_articles_and_goes_on(server: HttpServer) -> None:
    html = page(server, "/search?q=harbour").text

    assert 'href="/read/isles_2026-01/Ravenport"' in html
    assert page(server, "/search?q=harbour&archive=isles_2026-01").status_code == 200


def test_archives_page_names_state_and_fix(server: HttpServer) -> None:
    html = page(server, "/archives").text

    assert "Cannot be read" in html
    assert "<code>openzim-mcp download broken</code>" in html
    assert "English" in html
    assert "On &lt;i&gt;boats&lt;/i&gt;" in html


def test_archive_page_browses_by_title(server: HttpServer) -> None:
    html = page(server, "/archives/isles_2026-01").text

    assert '<a href="/read/isles_2026-01/Alderwick">Alderwick</a>' in html
    assert 'href="/archives/isles_2026-01/random"' in html
    start = page(server, "/archives/isles_2026-01?start=merc").text
    assert "Mercury (god)" in start
    assert "Alderwick</a>" not in start
    random = page(server, "/archives/isles_2026-01/random", follow_redirects=False)
    assert random.status_code == 303
    assert random.headers["location"].startswith("/read/isles_2026-01/")


def test_connect_page_has_the_real_address(server: HttpServer, guarded: HttpServer) -> None:
    assert f"claude mcp add --transport http zim {server.url}" in page(server, "/connect").text
    html = page(guarded, "/connect", cookies=sign_in(guarded)).text
    assert "Authorization: Bearer YOUR_TOKEN" in html
    assert TOKEN not in html


def test_reader_shows_the_article(server: HttpServer) -> None:
    html = page(server, "/read/boats/Sloop").text

    assert '<a href="/read/boats/Rigging">rigging</a>' in html
    assert '<h2 id="Use">Use' in html
    assert '<a href="#Care">Care</a>' in html
    assert re.search(r'<img class="picture" src="/content/[^/"]+/pic.png" alt="A sloop"', html)


def test_reader_leads_to_the_right_path(server: HttpServer) -> None:
    response = page(server, "/read/boats/sloop", follow_redirects=False)

    assert (response.status_code, response.headers["location"]) == (303, "/read/boats/Sloop")


def test_archive_without_a_path_leads_to_its_main_page(server: HttpServer) -> None:
    response = page(server, "/read/boats/", follow_redirects=False)

    assert (response.status_code, response.headers["location"]) == (303, "/read/boats/Sloop")


def test_reader_page_is_revalidated(server: HttpServer) -> None:
    first = page(server, "/read/boats/Sloop")

    again = server.get("/read/boats/Sloop", headers={**BROWSER, "If-None-Match": first.headers["etag"]})

    assert again.status_code == 304
    assert "private" in first.headers["cache-control"]


def test_related_page_names_other_archives(server: HttpServer) -> None:
    html = page(server, "/related/boats/Ravenport").text

    assert '<a href="/read/isles_2026-01/Ravenport">Ravenport</a> <span class="muted">The Isles</span>' in html
    assert "<html" not in page(server, "/related/boats/Ravenport?fragment=1").text


def test_missing_entry_offers_close_titles(server: HttpServer) -> None:
    response = page(server, "/read/isles_2026-01/Zzzz")

    assert response.status_code == 404
    assert page(server, "/read/nothing/Dog").status_code == 404


@pytest.mark.parametrize("path", ["/", "/ask?q=Ravenport", "/archives", "/read/boats/Sloop", "/read/boats/zzzz"])
def test_pages_have_a_strict_policy(server: HttpServer, path: str) -> None:
    headers = page(server, path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert f"script-src 127.0.0.1:{server.port}/static/;" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_static_files_are_small_and_kept(server: HttpServer) -> None:
    html = page(server, "/").text
    sizes = {}
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', html):
        response = server.get(address)
        assert "immutable" in response.headers["cache-control"]
        sizes[address.partition("?")[0]] = len(response.content)

    assert sizes["/static/page.js"] <= 10_000
    assert len(html) + sum(sizes.values()) < 60_000


def content_address(server: HttpServer, path: str) -> str:
    html = page(server, "/original/boats/Sloop").text
    root = re.search(r'src="(/content/[^/"]+/)', html)
    assert root is not None
    return root[1] + path


def test_original_is_served_without_rights(server: HttpServer) -> None:
    response = server.get(content_address(server, "Sloop"))

    policy = response.headers["content-security-policy"]
    assert response.status_code == 200
    assert policy.startswith("sandbox; default-src 'none'")
    for rule in ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'"):
        assert rule in policy
    assert "allow" not in policy
    root = content_address(server, "")
    assert f"img-src 127.0.0.1:{server.port}{root} data:" in policy


def test_capability_is_good_for_one_archive(server: HttpServer) -> None:
    address = content_address(server, "Alderwick")
    _, _, capability, _ = address.split("/")

    assert server.get(address).status_code == 404
    assert server.get(f"/content/{capability[:-2]}xx/Sloop").status_code == 403
    assert server.get("/content/1.2.3/Sloop").status_code == 403
    assert server.get("/content/%C3%A9/Sloop").status_code == 403


def test_files_are_served_in_ranges(server: HttpServer) -> None:
    address = content_address(server, "clip.txt")

    part = server.get(address, headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, b"56789")
    assert part.headers["content-range"] == "bytes 5-9/3000000"
    rest = server.get(address, headers={"Range": "bytes=2999998-"})
    assert rest.content == b"89"
    assert server.get(address, headers={"Range": "bytes=4000000-"}).status_code == 416
    assert server.get(address).content == BOATS["clip.txt"].encode()


def test_fonts_of_a_page_without_origin_are_served(server: HttpServer) -> None:
    response = server.get(content_address(server, "pic.png"), headers={"Origin": "null"})

    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, "*")
    assert server.get("/", headers={"Origin": "null"}).status_code == 403


def sign_in(server: HttpServer, **fields: str) -> dict[str, str]:
    response = server.request(
        "POST", "/sign-in", data={"token": TOKEN, "target": "/", **fields}, headers={"Origin": server.root}
    )
    assert response.status_code == 303
    return dict(response.cookies)


def test_without_a_token_nothing_is_shown(guarded: HttpServer) -> None:
    for path in ("/", "/ask?q=Ravenport", "/archives", "/read/boats/Sloop", "/connect", "/original/boats/Sloop"):
        response = page(guarded, path)
        assert response.status_code == 401
        assert 'name="token"' in response.text
        assert "Isles" not in response.text
        assert "Boats" not in response.text
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_programs_get_an_error_instead_of_the_form(guarded: HttpServer) -> None:
    response = guarded.get("/api/v1/health", headers={"Accept": "text/html"})

    assert response.status_code == 401
    assert "json" in response.headers["content-type"]
    assert guarded.get("/").headers["content-type"].startswith("application/json")


def test_session_opens_page_and_api_but_not_mcp(guarded: HttpServer) -> None:
    cookies = sign_in(guarded)

    assert page(guarded, "/", cookies=cookies).status_code == 200
    assert guarded.get("/api/v1/health", cookies=cookies).status_code == 200
    assert guarded.get("/metrics", cookies=cookies).status_code == 401
    assert guarded.request("POST", "/mcp", json={}, cookies=cookies).status_code == 401


def test_cookie_is_strict_and_does_not_hold_the_token(guarded: HttpServer) -> None:
    response = guarded.request(
        "POST", "/sign-in", data={"token": TOKEN, "target": "/archives"}, headers={"Origin": guarded.root}
    )

    cookie = response.headers["set-cookie"]
    assert response.headers["location"] == "/archives"
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_sign_in_from_other_pages_is_refused(guarded: HttpServer, headers: dict[str, str]) -> None:
    sent = ({"Origin": guarded.root} if "Sec-Fetch-Site" in headers else {}) | headers

    for path in ("/sign-in", "/sign-out"):
        response = guarded.request("POST", path, data={"token": TOKEN, "target": "/"}, headers=sent)
        assert response.status_code == 403
        assert "set-cookie" not in response.headers


def test_session_is_refused_to_other_pages_of_this_machine(guarded: HttpServer) -> None:
    cookies = sign_in(guarded)
    fetched = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    opened = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert guarded.get("/api/v1/health", cookies=cookies, headers=fetched).status_code == 401
    assert guarded.get("/", cookies=cookies, headers={**BROWSER, **opened}).status_code == 200


def test_link_from_another_site_is_opened_again_with_the_cookie(guarded: HttpServer) -> None:
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    response = guarded.get("/read/boats/Sloop?part=1", headers=headers)

    assert response.headers["refresh"] == "0; url=/read/boats/Sloop?part=1"
    assert "refresh" not in page(guarded, "/").headers


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_sign_in_leads_nowhere_else(guarded: HttpServer, target: str) -> None:
    response = guarded.request(
        "POST", "/sign-in", data={"token": TOKEN, "target": target}, headers={"Origin": guarded.root}
    )

    assert response.headers["location"] == "/"


def test_forged_sessions_are_refused(guarded: HttpServer) -> None:
    value = sign_in(guarded)["openzim_mcp_session"]

    for forged in (value[:-3] + "abc", "s.", "s.9999999999..x", f"t.{TOKEN}x", "x" * 5000):
        assert page(guarded, "/", cookies={"openzim_mcp_session": forged}).status_code == 401


def test_form_that_is_loaded_again_leads_to_the_start(guarded: HttpServer) -> None:
    assert guarded.get("/sign-in", follow_redirects=False).headers["location"] == "/"


def test_sign_out_removes_the_cookie(guarded: HttpServer) -> None:
    response = guarded.request("POST", "/sign-out", headers={"Origin": guarded.root}, cookies=sign_in(guarded))

    assert response.status_code == 303
    assert "Max-Age=0" in response.headers["set-cookie"]


def test_removed_token_ends_its_sessions(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\nanother-long-token-here\n")
    with HttpServer((directory,), {"AUTH_TOKEN_FILE": str(file)}) as server:
        cookies = sign_in(server)
        assert page(server, "/", cookies=cookies).status_code == 200

        shutil.copy(file, tmp_path / "old")
        file.write_text("another-long-token-here\n")
        server.wait_for_line("1 tokens read")

        assert page(server, "/", cookies=cookies).status_code == 401


def test_wrong_tokens_are_slowed_down(directory: Path) -> None:
    with HttpServer((directory,), {"AUTH_TOKEN": TOKEN}) as server:
        statuses = [
            server.request("POST", "/sign-in", data={"token": "wrong"}, headers={"Origin": server.root}).status_code
            for _ in range(12)
        ]

    assert statuses[0] == 401
    assert statuses[-1] == 429
