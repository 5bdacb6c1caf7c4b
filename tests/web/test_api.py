from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.worker.jobs import page_scan
from support.archives import write_zim
from support.http_server import TOKEN, HttpServer

ISLES = "isles_en_all_2026-01"
TOWNS = "towns_en_all_2026-01"


@pytest.fixture(scope="module")
def server(town_zim: Path, isles_zim: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim, isles_zim)) as server:
        yield server


def get(server: HttpServer, endpoint: str, /, **parameters: Any) -> Any:
    response = server.get(f"/api/v1/{endpoint}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_ask_returns_answer_passages_and_sources(server: HttpServer) -> None:
    answer = get(server, "ask", q="who founded Ravenport?", archive=ISLES)

    source = answer["sources"][0]
    assert (answer["query"], answer["answered"]) == ("who founded Ravenport?", True)
    assert 0 < answer["confidence"] <= 1
    assert answer["passages"][0]["text"] in answer["markdown"]
    assert source["uri"] == f"zim://{ISLES}/entry/Ravenport"
    assert source["url"].startswith(f"{server.root}/read/{ISLES}/Ravenport")


def test_ask_reads_the_source_of_a_link(server: HttpServer) -> None:
    answer = get(server, "ask", q=f"summary of {server.root}/read/towns_en_all/Ravenport")

    assert answer["sources"][0]["uri"] == f"zim://{TOWNS}/entry/Ravenport"


def test_ask_says_that_nothing_answers(server: HttpServer) -> None:
    answer = get(server, "ask", q="what is the melting point of tungsten?")

    assert answer["answered"] is False
    assert answer["markdown"].startswith("Not found here: ")


def test_ask_as_markdown_is_the_text_of_the_tool(server: HttpServer) -> None:
    response = server.get("/api/v1/ask", params={"q": "who founded Ravenport?"}, headers={"Accept": "text/markdown"})

    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "Source: Ravenport" in response.text


def test_search_covers_all_archives_with_plain_snippets(server: HttpServer) -> None:
    page = get(server, "search", q="harbour", limit=2)

    hit = page["results"][0]
    assert {row["archive"] for row in get(server, "search", q="Ravenport")["results"]} >= {
        f"{TOWNS}.zim",
        f"{ISLES}.zim",
    }
    assert "**" not in hit["snippet"]
    assert hit["url"].startswith(f"{server.root}/read/")
    assert hit["uri"].startswith("zim://")
    assert page["total"] >= 2


def test_search_pages_are_the_cursor_walk(server: HttpServer) -> None:
    first = get(server, "search", q="harbour", limit=1, page=1)
    second = get(server, "search", q="harbour", limit=1, page=2)

    assert get(server, "search", cursor=first["next_cursor"])["results"] == second["results"]
    assert first["results"] != second["results"]


def test_search_by_title_in_one_archive(server: HttpServer) -> None:
    page = get(server, "search", q="Ravenport", mode="title", archive="towns_en_all")

    assert [(row["archive"], row["title"], row["match"]) for row in page["results"]][:1] == [
        (f"{TOWNS}.zim", "Ravenport", "exact")
    ]


def test_suggest_completes_titles(server: HttpServer) -> None:
    rows = get(server, "suggest", q="Raven", archive=TOWNS)["suggestions"]

    assert rows[0] == {
        "archive": f"{TOWNS}.zim",
        "path": "Ravenport",
        "title": "Ravenport",
        "url": f"{server.root}/read/{TOWNS}/Ravenport",
        "uri": f"zim://{TOWNS}/entry/Ravenport",
    }


def test_read_pages_join_to_the_whole_text(server: HttpServer) -> None:
    whole = get(server, "read", archive=ISLES, path="Ravenport")
    parts, offset = [], 0
    while offset is not None:
        page = get(server, "read", archive=ISLES, path="Ravenport", limit=100, offset=offset)
        parts.append(page["markdown"])
        offset = page.get("next_offset")

    assert (whole["title"], whole["mime_type"], whole["characters"]) == (
        "Ravenport",
        "text/html",
        len(whole["markdown"]),
    )
    assert "".join(parts) == whole["markdown"]
    assert len(parts) > 1


@pytest.mark.parametrize("reference", [f"zim://{TOWNS}/entry/Ravenport", "{root}/read/towns_en_all/Ravenport"])
def test_read_accepts_references(server: HttpServer, reference: str) -> None:
    page = get(server, "read", ref=reference.format(root=server.root), view="summary")

    assert (page["archive"], page["path"], page["mime_type"]) == (f"{TOWNS}.zim", "Ravenport", "text/html")


def test_read_one_section_and_the_outline(server: HttpServer) -> None:
    outline = get(server, "read", archive=ISLES, path="Ravenport", view="toc")
    section = get(server, "read", archive=ISLES, path="Ravenport", section=outline["toc"][0]["id"])

    assert outline["markdown"].splitlines()[0] == f"- {outline['toc'][0]['title']}"
    assert section["section"] == outline["toc"][0]["title"]
    assert section["url"].endswith(f"#{outline['toc'][0]['id']}")


def test_read_finds_words(server: HttpServer) -> None:
    found = get(server, "read", archive=ISLES, path="Ravenport", find="herring")
    text = get(server, "read", archive=ISLES, path="Ravenport", offset=found["matches"][0]["content_offset"])

    assert (found["total"], found["matches"][0]["section"]) == (1, "Trade")
    assert text["markdown"].startswith(found["matches"][0]["text"])
    assert found["markdown"] == f"- Trade: {found['matches'][0]['text']}"


def test_inbound_links_are_paged_by_cursor(tmp_path: Path) -> None:
    pages = {"Hub": "<p>The hub.</p>"} | dict.fromkeys(("Alpha", "Beta"), '<p>To <a href="Hub">the hub</a>.</p>')
    archive = write_zim(tmp_path / "hub.zim", pages, redirects={"Centre": "Hub"})
    page_scan.scan_pages([str(archive)], ScanPages(), lambda *_: None)
    with HttpServer((archive,)) as server:
        first = get(server, "links", ref="Centre", archive="hub", direction="inbound", limit=1)
        rest = get(server, "links", cursor=first["next_cursor"])
        refused = server.get("/api/v1/links", params={"ref": "Hub", "archive": "hub", "direction": "sideways"})

    assert first["inbound_links"] == [{"path": "Alpha", "title": "Alpha", "text": "the hub"}]
    assert [row["path"] for row in rest["inbound_links"]] == ["Beta"]
    assert (first["path"], first["total"], first["complete"], first["done"]) == ("Hub", 2, True, False)
    assert rest["done"]
    assert refused.status_code == 400


def test_inbound_links_tell_the_progress_of_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 0)
    monkeypatch.setattr(page_scan, "_SAVE_SHARE", 0)
    archive = write_zim(tmp_path / "hub.zim", dict.fromkeys(("Alpha", "Beta", "Hub"), '<a href="Hub">hub</a>'))

    def end_scan(done: int, _of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        page_scan.scan_pages([str(archive)], ScanPages(), end_scan)
    with HttpServer((archive,)) as server:
        page = get(server, "links", ref="Hub", archive="hub", direction="inbound")

    assert [row["path"] for row in page["inbound_links"]] == ["Alpha"]
    assert (page["complete"], page["progress"], page["next_cursor"]) == (False, {"done": 1, "of": 3}, None)


def test_links_are_those_of_the_tool(server: HttpServer) -> None:
    page = get(server, "links", ref="Ravenport", archive=ISLES)

    assert page["internal_count"] == sum(row["kind"] == "internal" for row in page["outbound_links"])


def test_archives_are_listed_and_described(server: HttpServer) -> None:
    rows = get(server, "archives")["archives"]
    details = get(server, "archives/towns_en_all")

    assert [(row["name"], row["state"]) for row in rows] == [(ISLES, "ok"), (TOWNS, "ok")]
    assert details["url"] == f"{server.root}/archives/{TOWNS}"
    assert details["metadata"]["metadata"]["Creator"] == "Nobody"


def test_health_has_no_paths(server: HttpServer) -> None:
    response = server.get("/api/v1/health")

    assert response.json()["health"]["status"] == "healthy"
    assert [row["name"] for row in response.json()["loaded_archives"]] == [ISLES, TOWNS]
    assert "directories" not in response.json()
    assert "..." not in response.text


@pytest.mark.parametrize(
    "path", [f"read?archive={TOWNS}&path=Ravenport", "ask?q=who+founded+Ravenport", "search?q=harbour", "archives"]
)
def test_client_with_the_result_gets_304(server: HttpServer, path: str) -> None:
    first = server.get(f"/api/v1/{path}")
    again = server.get(f"/api/v1/{path}", headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    other = server.get(f"/api/v1/{path}", headers={"If-None-Match": '"other"'})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert other.content == first.content


def test_tag_changes_with_the_archive(tmp_path: Path, town_zim: Path, isles_zim: Path) -> None:
    archive = tmp_path / "wiki.zim"
    archive.write_bytes(town_zim.read_bytes())
    with HttpServer((tmp_path,)) as server:
        path = "/api/v1/raw/wiki/Ravenport"
        before = server.get(path)
        (tmp_path / "new").write_bytes(isles_zim.read_bytes())
        (tmp_path / "new").rename(archive)
        after = server.get(path, headers={"If-None-Match": before.headers["etag"]})

    assert after.status_code == 200
    assert after.headers["etag"] != before.headers["etag"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "operation"),
    [
        ("GET", "/api/v1/nothing", {}, 404, "not_found"),
        ("POST", "/api/v1/health", {}, 405, "method_not_allowed"),
        ("GET", "/api/v1/health?verbose=1", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/ask?q=a&q=b", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/ask?q=", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/search?q=a&page=0", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/search?cursor=made-up", {}, 400, "invalid_cursor"),
        ("GET", "/api/v1/read?ref=a&path=b", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/read?path=b", {}, 400, "invalid_arguments"),
        ("GET", "/api/v1/read?ref=Ravenport", {}, 409, "ambiguous_entry"),
        ("GET", "/api/v1/read?ref=qqqqqqqqqqqqqq", {}, 404, "entry_not_found"),
        ("GET", "/api/v1/archives/none", {}, 404, "archive_not_found"),
        ("GET", "/api/v1/health", {"Origin": "https://evil.example"}, 403, "forbidden"),
        ("GET", "/api/v1/health", {"Host": "evil.example"}, 421, "misdirected"),
        ("POST", "/api/v1/open-webui/search", {}, 400, "invalid_arguments"),
    ],
)
def test_errors_are_problem_documents(
    server: HttpServer, method: str, path: str, headers: dict[str, str], status: int, operation: str
) -> None:
    response = server.request(method, path, headers=headers)

    problem = response.json()
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert (problem["status"], problem["operation"]) == (status, operation)
    assert problem["detail"]


def test_log_names_the_endpoint_but_not_the_question(server: HttpServer) -> None:
    response = server.get("/api/v1/search", params={"q": "confidential words"})
    raw = server.get(f"/api/v1/raw/{TOWNS}/Ravenport")

    line = server.wait_for_line(response.headers["x-request-id"])
    assert "GET /api/v1/search" in line
    assert "client=127.0.0.1" in line
    assert "status=200" in line
    assert "confidential" not in server.log
    assert server.wait_for_line(raw.headers["x-request-id"]).split(" GET ")[1].startswith("/api/v1/raw ")


def test_local_pages_may_read_the_api(server: HttpServer) -> None:
    response = server.get("/api/v1/archives", headers={"Origin": "http://localhost:5173"})

    assert response.headers["access-control-allow-origin"] == "http://localhost:5173"


def test_api_needs_the_token(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"AUTH_TOKEN": TOKEN}) as server:
        refused = server.get("/api/v1/health")
        wrong = server.get("/api/v1/health", headers={"Authorization": "Bearer wrong"})
        accepted = server.get("/api/v1/health", headers={"Authorization": f"Bearer {TOKEN}"})

    assert (refused.status_code, refused.json()["operation"]) == (401, "invalid_token")
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert (wrong.status_code, wrong.headers["content-type"]) == (401, "application/problem+json")
    assert accepted.status_code == 200


def test_rate_limit_applies(town_zim: Path) -> None:
    limits = {
        "RATE_LIMIT__ENABLED": "true",
        "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01",
        "RATE_LIMIT__BURST_SIZE": "1",
    }
    with HttpServer((town_zim,), limits) as server:
        statuses = [server.get("/api/v1/health").status_code, (limited := server.get("/api/v1/health")).status_code]

    assert statuses == [200, 429]
    assert limited.json()["operation"] == "rate_limited"
    assert int(limited.headers["retry-after"]) == max(1, round(limited.json()["retry_after"]))
