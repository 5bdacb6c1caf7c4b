from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http_server import HttpServer, McpClient, read_reply, result_text
from support.stdio_server import PROTOCOL_VERSIONS, STATELESS_VERSION, wait_until


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim,), {"TOOL_MODE": "advanced"}) as server:
        yield server


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_every_protocol_version_is_served(server: HttpServer, version: str, slash: str) -> None:
    with McpClient(server.url + slash, version) as client:
        tools = read_reply(client.post("tools/list"))["result"]["tools"]
        result = client.call("zim_query", query="who founded Ravenport?")

    assert len(tools) == 8
    assert "Source: " in result_text(result)


def test_request_id_is_in_response_and_log(server: HttpServer) -> None:
    with McpClient(server.url, STATELESS_VERSION) as client:
        response = client.post(
            "tools/call", {"name": "zim_health", "arguments": {"zim_file_path": "towns_en_all_2026-01"}}
        )

    line = server.wait_for_line(response.headers["x-request-id"])
    assert "tools/call" in line
    assert "client=127.0.0.1 tool=zim_health archive=towns_en_all_2026-01" in line
    assert "outcome=ok" in line


def test_responses_are_neither_cached_nor_sniffed(server: HttpServer) -> None:
    headers = server.get("/healthz").headers

    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert "server" not in headers


def test_unknown_path_names_the_mcp_endpoint(server: HttpServer) -> None:
    response = server.get("/nothing")

    assert response.status_code == 404
    assert response.json()["error_description"] == "Not found; the MCP endpoint is /mcp."


def test_metrics_count_calls_by_tool_and_outcome(server: HttpServer) -> None:
    with McpClient(server.url, STATELESS_VERSION) as client:
        client.call("zim_get", entry_path="no such page anywhere")
        client.post("tools/call", {"name": "made_up", "arguments": {}})
        client.post("made/up")
    text = server.get("/metrics").text

    assert 'openzim_mcp_calls_total{method="tools/call",outcome="error",tool="zim_get"}' in text
    assert 'openzim_mcp_call_seconds_bucket{le="0.25",tool="zim_query"}' in text
    assert "openzim_mcp_http_requests_total" in text
    assert "made" not in text


def test_disconnected_client_counts_as_cancelled(server: HttpServer) -> None:
    counter = 'openzim_mcp_calls_total{method="subscriptions/listen",outcome="cancelled",tool=""} 1.0'
    with McpClient(server.url, STATELESS_VERSION) as client:
        request = client.request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        stream = client.http.send(request, stream=True)
        next(stream.iter_lines())
        stream.close()

    wait_until(lambda: counter in server.get("/metrics").text)


def test_json_log_has_one_object_per_line(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"LOGGING__FORMAT": "json"}) as server:
        with McpClient(server.url, STATELESS_VERSION) as client:
            client.call("zim_query", query="the harbour of Ravenport")
        server.stop()

    rows = [json.loads(line) for line in server.lines]
    call = next(row for row in rows if row["message"] == "tools/call")
    assert (call["client"], call["tool"], call["outcome"]) == ("127.0.0.1", "zim_query", "ok")
    assert "harbour" not in server.log


def test_queries_are_logged_at_debug_only(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"LOGGING__LEVEL": "DEBUG"}) as server:
        with McpClient(server.url, STATELESS_VERSION) as client:
            client.call("zim_query", query="the harbour of Ravenport")
        server.stop()

    assert "harbour of Ravenport" in server.log


def test_rate_limit_is_per_client(town_zim: Path) -> None:
    limit = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01", "RATE_LIMIT__BURST_SIZE": "3"}
    with HttpServer((town_zim,), limit) as server:
        allowed = {}
        for source in ("127.0.0.1", "127.0.0.2"):
            with McpClient(server.url, STATELESS_VERSION, source=source) as client:
                results = [client.call("zim_query", query="list archives") for _ in range(5)]
                allowed[source] = sum(not result.get("isError") for result in results)

    assert allowed == {"127.0.0.1": 3, "127.0.0.2": 3}


def test_stateless_server_offers_no_subscriptions(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"STATELESS": "true"}) as server, McpClient(server.url) as client:
        capabilities = read_reply(client.initialize())["result"]["capabilities"]
        refused = read_reply(client.post("resources/subscribe", {"uri": "zim://files"}))
        result = client.call("zim_query", query="list archives")

    assert client.session is None
    assert capabilities["resources"] == {"subscribe": False, "listChanged": False}
    assert refused["error"]["code"] == -32601
    assert "towns" in result_text(result)
