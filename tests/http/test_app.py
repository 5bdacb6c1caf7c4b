from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.http_server import HttpServer, McpClient, answer, text_of
from support.stdio_server import PROTOCOL_VERSIONS, STATELESS_VERSION


@pytest.fixture(scope="module")
def web(town_zim: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim,), {"TOOL_MODE": "advanced"}) as web:
        yield web


@pytest.mark.parametrize("revision", PROTOCOL_VERSIONS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_every_revision_is_served_with_and_without_a_slash(web: HttpServer, revision: str, slash: str) -> None:
    with McpClient(web.url + slash, revision) as visit:
        tools = answer(visit.post("tools/list"))["result"]["tools"]
        found = visit.call("zim_query", query="who founded Ravenport?")

    assert len(tools) == 8
    assert "Source: " in text_of(found)


def test_a_request_has_a_name_that_the_log_has_too(web: HttpServer) -> None:
    with McpClient(web.url, STATELESS_VERSION) as visit:
        response = visit.post(
            "tools/call", {"name": "zim_health", "arguments": {"zim_file_path": "towns_en_all_2026-01"}}
        )

    name = response.headers["x-request-id"]
    line = web.line(name)
    assert "tools/call" in line
    assert "client=127.0.0.1 tool=zim_health archive=towns_en_all_2026-01" in line
    assert "outcome=ok" in line


def test_no_answer_is_kept_on_the_way_or_read_as_something_else(web: HttpServer) -> None:
    headers = httpx2.get(f"{web.root}/healthz").headers

    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert "server" not in headers


def test_who_comes_to_the_wrong_place_is_sent_to_the_right_one(web: HttpServer) -> None:
    response = httpx2.get(web.root)

    assert response.status_code == 404
    assert response.json()["error_description"] == "Not found; the MCP endpoint is /mcp."


def test_prometheus_reads_calls_by_tool_and_outcome(web: HttpServer) -> None:
    with McpClient(web.url, STATELESS_VERSION) as visit:
        visit.call("zim_get", entry_path="no such page anywhere")
        visit.post("tools/call", {"name": "made_up", "arguments": {}})
        visit.post("made/up")
    text = httpx2.get(f"{web.root}/metrics").text

    assert 'openzim_mcp_calls_total{method="tools/call",outcome="error",tool="zim_get"}' in text
    assert 'openzim_mcp_call_seconds_bucket{le="0.25",tool="zim_query"}' in text
    assert "openzim_mcp_http_requests_total" in text
    assert "made" not in text


def test_a_client_that_goes_away_is_not_counted_as_a_failure(web: HttpServer) -> None:
    counted = 'openzim_mcp_calls_total{method="subscriptions/listen",outcome="cancelled",tool=""} 1.0'
    with McpClient(web.url, STATELESS_VERSION) as visit:
        wanted = visit.request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        stream = visit.http.send(wanted, stream=True)
        next(stream.iter_lines())
        stream.close()

    end = time.monotonic() + 10
    while counted not in httpx2.get(f"{web.root}/metrics").text and time.monotonic() < end:
        time.sleep(0.05)
    assert counted in httpx2.get(f"{web.root}/metrics").text


def test_a_log_for_programs_has_one_object_a_line(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"LOGGING__FORMAT": "json"}) as web:
        with McpClient(web.url, STATELESS_VERSION) as visit:
            visit.call("zim_query", query="the harbour of Ravenport")
        web.stop()

    rows = [json.loads(line) for line in web.lines]
    call = next(row for row in rows if row["message"] == "tools/call")
    assert (call["client"], call["tool"], call["outcome"]) == ("127.0.0.1", "zim_query", "ok")
    assert "harbour" not in web.log


def test_what_was_asked_is_in_the_log_only_for_debugging(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"LOGGING__LEVEL": "DEBUG"}) as web:
        with McpClient(web.url, STATELESS_VERSION) as visit:
            visit.call("zim_query", query="the harbour of Ravenport")
        web.stop()

    assert "harbour of Ravenport" in web.log


def test_each_client_has_its_own_rate_limit(town_zim: Path) -> None:
    limit = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01", "RATE_LIMIT__BURST_SIZE": "3"}
    with HttpServer((town_zim,), limit) as web:
        allowed = {}
        for source in ("127.0.0.1", "127.0.0.2"):
            with McpClient(web.url, STATELESS_VERSION, source=source) as visit:
                results = [visit.call("zim_query", query="list archives") for _ in range(5)]
                allowed[source] = sum(not result.get("isError") for result in results)

    assert allowed == {"127.0.0.1": 3, "127.0.0.2": 3}


def test_without_sessions_nothing_is_promised_that_needs_one(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"STATELESS": "true"}) as web, McpClient(web.url) as visit:
        capabilities = answer(visit.initialize())["result"]["capabilities"]
        refused = answer(visit.post("resources/subscribe", {"uri": "zim://files"}))
        found = visit.call("zim_query", query="list archives")

    assert visit.session is None
    assert capabilities["resources"] == {"subscribe": False, "listChanged": False}
    assert refused["error"]["code"] == -32601
    assert "towns" in text_of(found)
