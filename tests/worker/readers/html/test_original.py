from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.html.original import rewrite_page

ROOT = "/content/CAP/"


def rewrite(html: str) -> str:
    return rewrite_page(html.encode(), ROOT).decode()


@pytest.mark.parametrize(
    "element",
    [
        "<script>alert(1)</script>",
        "<base href='https://e.org/'>",
        "<meta http-equiv='refresh' content='0;url=https://e.org'>",
        "<META HTTP-EQUIV=Set-Cookie content=a>",
        "<link rel='preconnect' href='//e.org'>",
        "<link rel=dns-prefetch href='//e.org'>",
        "<link rel='stylesheet preload' href='a.css'>",
        "<link rel=manifest href=x>",
        "<iframe src='x'></iframe>",
        "<object data='x'></object>",
        "<embed src='x'>",
    ],
)
def test_elements_that_leave_or_run_are_removed(element: str) -> None:
    assert rewrite(f"<head>{element}</head><p>text</p>") == "<html><head></head><body><p>text</p></body></html>"


@pytest.mark.parametrize(
    "address",
    [
        "https://e.org/",
        "//e.org/",
        "\\\\e.org/",
        "/\\e.org/",
        "ht\ntps://e.org/",
        "\x01 javascript:alert(1)",
        "data:text/html,x",
        "mailto:a@e.org",
    ],
)
def test_links_that_leave_become_text(address: str) -> None:
    assert "<a>text</a>" in rewrite(f'<a href="{address}" ping="//e.org" target=_top>text</a>')


def test_links_inside_stay() -> None:
    html = rewrite(
        "<a href='B#x'>b</a><a href='/A/C'>c</a><a href='../D?x=1'>d</a><img src='/I/p.png' srcset='//e 2x'>"
    )

    assert 'href="B#x"' in html
    assert f'href="{ROOT}A/C"' in html
    assert 'href="../D?x=1"' in html
    assert f'<img src="{ROOT}I/p.png">' in html


def test_pictures_of_other_sites_are_removed() -> None:
    html = rewrite(
        "<img src='https://e.org/p.png'><img src='data:image/png;base64,AA'><video poster='//e/p' src='v.webm'>"
    )

    assert html.count("<img>") == 1
    assert "data:image/png" in html
    assert '<video src="v.webm">' in html


def test_vector_pictures_cannot_lead_away() -> None:
    html = rewrite("<svg><a xlink:href='https://e.org'><text>t</text></a><use href='https://e.org#x'/></svg>")

    assert "e.org" not in html


def test_style_sheets_of_the_archive_stay() -> None:
    assert f'<link rel="stylesheet" href="{ROOT}-/s.css">' in rewrite("<link rel='stylesheet' href='/-/s.css'>")


def test_endless_markup_is_a_sentence() -> None:
    assert b"cannot be shown" in rewrite_page(b"<b>" * 60_000, ROOT)
