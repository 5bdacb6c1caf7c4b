"""The page in a real browser: by mouse and keyboard, narrow, dark, printed, from right to left, and without script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.archives import ISLES, write_zim
from support.browser import open_page
from support.http_server import TOKEN, HttpServer

ARABIC = "<html lang='ar'><h1>ميناء</h1><p>الميناء مكان ترسو فيه السفن.</p><h2>التاريخ</h2><p>قديم.</p><h2>التجارة</h2><p>واسعة.</p>"
LONG = "<p>" + "Sailors tell of the lantern fish. " * 12 + "</p>"
CODE = "x = 1  # " + "wide " * 60
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff2f6f3c2f0000000049454e44ae426082"
)
PAGES = ISLES | {
    "Harbour": f"""<h1>Harbour</h1><table class='infobox'><tr><th>Depth<td>12 m<tr><th>Owner<td><a href='Ravenport'>Ravenport</a></table>
        <p>A harbour shelters ships. See <a href='Ravenport'>Ravenport</a>, <a href='Gone'>gone</a> and
        <a href='https://example.org/x'>outside</a>.</p>{LONG * 4}
        <figure><img src='pic.png' alt='A quay' width='40' height='40'><figcaption>The quay</figcaption></figure>
        <h2 id='Tides'>Tides</h2>{LONG * 4}<p>The highest tide ever seen here came in 1871.</p>
        <h2>Formula</h2><p><math alttext='r^2'><msup><mi>r</mi><mn>2</mn></msup></math></p>
        <h2>Table</h2><table class='wikitable'><tr><th>Ship<th>Mast</tr><tr><td>Sloop<td>1</tr></table>
        <h2>Code</h2><pre>{CODE}</pre>""",
    "Arabic": ARABIC,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_zim(folder / "isles.zim", PAGES | {"pic.png": PICTURE}, metadata={"Title": "The Isles", "Date": "2026-01-05"})
    write_zim(folder / "towns.zim", {"Ravenport": "<h1>Ravenport</h1><p>A town.</p>"}, metadata={"Title": "Towns"})
    return folder


@pytest.fixture(scope="module")
def server(library: Path) -> Iterator[HttpServer]:
    with HttpServer((library,), {"RATE_LIMIT__ENABLED": "false"}) as running:
        yield running


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with open_page(browser) as opened:
        yield opened


def test_question_leads_to_the_marked_passage(page: Any, server: HttpServer) -> None:
    page.goto(server.root)
    page.get_by_role("searchbox").or_(page.get_by_role("combobox", name="Ask the archives")).first.fill(
        "When was the highest tide?"
    )
    page.get_by_role("button", name="Ask").click()
    source = page.locator(".card .source a").first
    assert "1871" in page.locator(".card").first.inner_text()
    assert page.locator(".card mark").count() > 0

    source.click()
    page.wait_for_url("**/read/isles/Harbour*")
    page.wait_for_function("() => scrollY > 200")
    assert page.locator("h1").inner_text() == "Harbour"

    page.go_back()
    page.wait_for_selector(".card")
    page.go_forward()
    page.wait_for_selector("article.text")


def test_unanswered_question_says_so(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/ask?q=Who+invented+the+zorblax")

    assert page.locator(".not-found").inner_text().startswith("Not found here:")


def test_model_view_is_a_tab(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/ask?q=Who+founded+Ravenport")
    page.get_by_role("link", name="What a model sees").click()

    assert "Source: Ravenport" in page.locator("pre.model").inner_text()
    assert page.locator(".tabs [aria-current]").inner_text().startswith("What a model sees")


def test_suggestions_by_keyboard(page: Any, server: HttpServer) -> None:
    if server.get("/api/v1/suggest?q=rav").status_code != 200:
        pytest.skip("this server has no suggestions")
    page.goto(server.root)
    box = page.get_by_role("combobox", name="Ask the archives")
    box.press_sequentially("raven")
    options = page.get_by_role("option")
    options.first.wait_for()
    assert box.get_attribute("aria-expanded") == "true"

    box.press("ArrowDown")
    assert options.first.get_attribute("aria-selected") == "true"
    assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    box.press("Escape")
    assert page.get_by_role("listbox").count() == 0
    box.press("ArrowDown")
    box.press("Enter")

    page.wait_for_url("**/read/*/Ravenport")


def test_reader_is_used_by_keyboard_alone(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Harbour")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "ui-main"

    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


def test_reader_shows_pictures_formulas_and_tables(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Harbour")
    page.locator("figure img").scroll_into_view_if_needed()

    page.wait_for_function("() => document.querySelector('figure img').naturalWidth === 1")
    assert page.locator("figure").inner_text() == "The quay"
    assert page.locator("article math msup").count() == 1
    assert page.locator("article th").all_inner_texts() == ["Ship", "Mast"]
    assert page.locator(".facts dd").first.inner_text() == "12 m"
    outside = page.get_by_role("link", name="outside")
    assert (outside.get_attribute("rel"), outside.get_attribute("class")) == (
        "noopener noreferrer nofollow",
        "external",
    )
    assert page.get_by_role("link", name="gone").count() == 0


def test_links_and_outline_stay_in_the_reader(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Harbour")
    page.get_by_label("Contents of this article").get_by_role("link", name="Tides").click()
    page.wait_for_function("() => location.hash === '#Tides' && scrollY > 100")
    page.get_by_role("link", name="Ravenport").first.click()
    page.wait_for_url("**/read/isles/Ravenport")

    page.go_back()
    page.wait_for_url("**/read/isles/Harbour#Tides")


def test_related_articles_and_other_archives_are_added(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Ravenport")
    page.get_by_label("More on this title").scroll_into_view_if_needed()

    page.get_by_role("heading", name="In other archives").wait_for()
    assert page.get_by_role("link", name="Ravenport").last.get_attribute("href") == "/read/towns/Ravenport"


def test_original_is_shown_in_a_frame(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Harbour")
    page.get_by_role("link", name="As in the archive").click()
    frame = page.frame_locator("iframe")

    assert frame.locator("h1").inner_text() == "Harbour"
    frame.get_by_role("link", name="Ravenport").first.click()
    frame.get_by_text("harbour town on the east coast").wait_for()
    page.get_by_role("link", name="Back to the reader").click()
    page.wait_for_url("**/read/isles/Harbour")


def test_page_works_without_script(browser: Any, server: HttpServer) -> None:
    with open_page(browser, java_script_enabled=False) as page:
        page.goto(server.root)
        page.get_by_role("searchbox").fill("Who founded Ravenport?")
        page.get_by_role("button", name="Ask").click()
        page.get_by_role("link", name="Ravenport › History").click()
        assert page.locator("article h1").inner_text() == "Ravenport"
        page.get_by_role("link", name="Related articles").click()
        assert page.get_by_role("heading", name="In other archives").count() == 1
        page.goto(f"{server.root}/archives/isles")
        page.get_by_label("Titles that start with").fill("Merc")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="Mercury (god)").click()
        assert page.locator("article h1").inner_text() == "Mercury"


@pytest.mark.parametrize(
    "path", ["/", "/ask?q=harbour", "/archives", "/connect", "/read/isles/Harbour", "/search?q=harbour"]
)
def test_page_fits_320_pixels(browser: Any, server: HttpServer, path: str) -> None:
    with open_page(browser, viewport={"width": 320, "height": 640}) as page:
        page.goto(server.root + path)

        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_dark_mode_has_a_dark_background(browser: Any, server: HttpServer) -> None:
    colors = {}
    for scheme in ("light", "dark"):
        with open_page(browser, color_scheme=scheme) as page:
            page.goto(server.root)
            colors[scheme] = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 23)"}


def test_arabic_article_runs_from_right_to_left(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Arabic")

    assert page.locator("article").get_attribute("dir") == "rtl"
    assert page.locator("article").get_attribute("lang") == "ar"
    assert page.evaluate("getComputedStyle(document.querySelector('article p')).textAlign") in {"start", "right"}


def test_print_shows_the_article_only(page: Any, server: HttpServer) -> None:
    page.goto(f"{server.root}/read/isles/Harbour")
    page.emulate_media(media="print")

    assert not page.locator("header.bar").is_visible()
    assert not page.locator("nav.outline").is_visible()
    assert page.locator("article h1").is_visible()


def test_first_view_is_light_and_from_this_server(page: Any, server: HttpServer) -> None:
    sizes: dict[str, int] = {}
    page.on("response", lambda response: sizes.update({response.url: len(response.body())}))
    page.goto(server.root)
    page.wait_for_load_state("networkidle")

    assert sum(sizes.values()) < 60_000
    assert len(sizes) <= 5
    assert all(url.startswith(server.root) for url in sizes)


def test_copy_button_copies_the_snippet(browser: Any, server: HttpServer) -> None:
    with open_page(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"{server.root}/connect")
        page.get_by_role("button", name="Copy").first.click()
        page.get_by_role("button", name="Copied").wait_for()

        assert page.evaluate("navigator.clipboard.readText()") == f"claude mcp add --transport http zim {server.url}"


def test_person_signs_in_once(browser: Any, library: Path) -> None:
    with (
        HttpServer((library,), {"AUTH_TOKEN": TOKEN, "RATE_LIMIT__ENABLED": "false"}) as server,
        open_page(browser) as page,
    ):
        page.goto(f"{server.root}/read/isles/Harbour")
        assert "Isles" not in page.content()
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_role("alert").inner_text() == "This token is not accepted."
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()

        page.wait_for_url("**/read/isles/Harbour")
        page.locator("figure img").scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('figure img').naturalWidth === 1")
        page.get_by_role("link", name="As in the archive").click()
        assert page.frame_locator("iframe").locator("h1").inner_text() == "Harbour"
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/ask?q=Who+founded+Ravenport",
        "/ask?q=zorblax",
        "/archives",
        "/archives/isles",
        "/connect",
        "/read/isles/Harbour",
        "/read/isles/Arabic",
    ],
)
def test_axe_finds_nothing(browser: Any, server: HttpServer, path: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    with open_page(browser, color_scheme=scheme) as page:
        page.goto(server.root + path)
        results = axe.Axe().run(page)

    assert [(row["id"], [node["html"] for node in row["nodes"]]) for row in results.response["violations"]] == []
