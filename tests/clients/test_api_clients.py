"""Programs that people connect to the API: real ones where they install, others by the shapes that they expect."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
import yaml

from clients import tools
from support.archives import ISLES, TOWNS, write_zim
from support.http_server import TOKEN, HttpServer

ROOT = Path(__file__).parent.parent.parent
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
# Combinations of parameters that exclude each other cannot be described by OpenAPI, so that check is left out.
_EXCLUDED_CHECKS = "positive_data_acceptance"
_TIMEOUT_SECONDS = 600


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("zims")
    write_zim(folder / "isles_en_all_2026-01.zim", ISLES)
    write_zim(folder / "towns.zim", TOWNS)
    with HttpServer((folder,), {"AUTH_TOKEN": TOKEN}) as server:
        yield server


def run(command: list[str], **options: Any) -> str:
    process = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, **options)
    assert process.returncode == 0, process.stdout[-6000:] + process.stderr[-2000:]
    return process.stdout


def recipe(heading: str, language: str) -> str:
    """Return the code block below a heading of the docs."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    match = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert match, heading
    return match[1]


def test_schemathesis_finds_no_difference(server: HttpServer) -> None:
    program = Path(tools.python_with("schemathesis")).parent / "schemathesis"

    run(
        [
            *(
                str(program),
                "run",
                f"{server.root}/openapi.json",
                "--header",
                f"Authorization: {HEADERS['Authorization']}",
            ),
            *("--checks", "all", "--exclude-checks", _EXCLUDED_CHECKS, "--phases", "examples,coverage"),
            *("--max-examples", "3", "--seed", "1", "--request-timeout", "60", "--no-color"),
        ],
        cwd=tools.CACHE,
    )


def test_llamaindex_http_reader_loads_documents(server: HttpServer) -> None:
    code = (
        "import json, sys; from llamaindex_http_reader import ZimHttpReader; "
        f"reader = ZimHttpReader({server.root!r}, {TOKEN!r}); "
        "documents = reader.load_data(question='who founded Ravenport?', titles=['zim://towns/entry/Ravenport']); "
        "print(json.dumps([[document.text, document.metadata] for document in documents]))"
    )

    output = run([tools.python_with("frameworks"), "-c", code], cwd=ROOT / "examples")

    documents = json.loads(output.splitlines()[-1])
    assert documents[-1][1] == {
        "title": "Ravenport",
        "archive": "towns.zim",
        "source": f"{server.root}/read/towns/Ravenport",
        "uri": "zim://towns/entry/Ravenport",
    }
    assert len(documents) > 1
    assert all(text for text, _ in documents)


def test_curl_and_jq_recipe_prints_an_answer(server: HttpServer) -> None:
    if not shutil.which("curl") or not shutil.which("jq"):
        pytest.skip("curl and jq are not installed")
    commands = recipe("curl and jq", "sh").replace("http://127.0.0.1:8000", server.root)
    commands = commands.replace("curl -s", f"curl -s -H 'Authorization: Bearer {TOKEN}'").replace("coffee", "Ravenport")

    output = run(["sh", "-e", "-c", commands])

    assert "Ravenport" in output
    assert "null" not in output


def _pick(row: Any, keys: str) -> Any:
    """Return what a query of SearXNG's json_engine selects: keys, separated by slashes."""
    for key in keys.split("/"):
        row = row[key]
    return row


def test_searxng_settings_find_results(server: HttpServer) -> None:
    settings = yaml.safe_load(recipe("SearXNG", "yaml"))["engines"][0]
    url = settings["search_url"].replace("http://127.0.0.1:8000", server.root)

    pages = [
        server.get(url.format(query=quote("harbour"), pageno=number).removeprefix(server.root), headers=HEADERS).json()
        for number in (1, 2)
    ]

    rows = _pick(pages[0], settings["results_query"])
    assert (settings["engine"], settings["paging"]) == ("json_engine", True)
    assert rows
    for row in rows:
        assert _pick(row, settings["url_query"]).startswith(f"{server.root}/read/")
        assert _pick(row, settings["title_query"])
        assert "**" not in _pick(row, settings["content_query"])
    assert _pick(pages[1], settings["results_query"]) != rows


def test_open_webui_search_and_loader_have_its_shapes(server: HttpServer) -> None:
    found = server.request(
        "POST", "/api/v1/open-webui/search", json={"query": "Ravenport", "count": 2}, headers=HEADERS
    ).json()
    loaded = server.request(
        "POST",
        "/api/v1/open-webui/load",
        json={"urls": [found[0]["link"], "https://elsewhere.example/page"]},
        headers=HEADERS,
    ).json()

    assert [sorted(row) for row in found] == [["link", "snippet", "title"]] * 2
    assert [sorted(row) for row in loaded] == [["metadata", "page_content"]]
    assert loaded[0]["metadata"]["source"] == found[0]["link"]
    assert "Ravenport" in loaded[0]["page_content"]


def test_open_webui_tool_file_answers(server: HttpServer) -> None:
    spec = importlib.util.spec_from_file_location("open_webui_tool", ROOT / "examples" / "open_webui_tool.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tools_object = module.Tools()
    tools_object.valves = module.Tools.Valves(base_url=server.root, token=TOKEN)

    answer = anyio.run(tools_object.ask_archives, "who founded Ravenport?")
    article = anyio.run(tools_object.read_article, "zim://towns/entry/Ravenport")

    assert "title: ZIM archives" in (inspect.getdoc(module) or "")
    assert "Source: Ravenport" in answer
    assert article
