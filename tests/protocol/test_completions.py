"""Completions over pipes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import PromptReference

from openzim_mcp.protocol.completions import COMPLETERS
from openzim_mcp.protocol.prompts import PROMPTS
from openzim_mcp.protocol.resources import TEMPLATES
from support.archives import write_zim
from support.stdio_server import PROTOCOL_VERSIONS, STATELESS_VERSION, StdioServer, server_environment

OpenServer = Callable[..., StdioServer]
ENTRY = "zim://{name}/entry/{path}"


def reference(owner: str) -> dict[str, str]:
    """Return the reference to a prompt by its name, or to a resource template by its URI."""
    return {"type": "ref/resource", "uri": owner} if "://" in owner else {"type": "ref/prompt", "name": owner}


def complete(server: StdioServer, owner: str, argument: str, value: str, **arguments: str) -> dict[str, Any]:
    params: dict[str, Any] = {"ref": reference(owner), "argument": {"name": argument, "value": value}}
    if arguments:
        params["context"] = {"arguments": arguments}
    return dict(server.request("completion/complete", params)["completion"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, zims: Path) -> Path:
    path = tmp_path_factory.mktemp("zims")
    shutil.copy(isles_zim, path / "isles.zim")
    shutil.copy(zims / "real/wikibooks_aa_2014-11.zim", path / "wikibooks_old.zim")
    shutil.copy(zims / "damaged/not_a_zim.zim", path / "isles_broken.zim")
    write_zim(path / "files.zim", {"Main": "x"})
    many = {f"Page_{number:03}": "x" for number in range(250)} | {"Page.png": "x", "style.css": "x"}
    write_zim(path / "many_isles.zim", many)
    return path


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[StdioServer]:
    with StdioServer(directory) as server:
        yield server


def test_every_argument_has_a_completer() -> None:
    arguments = {(prompt.name, name) for prompt in PROMPTS for name in prompt.arguments}
    for template in TEMPLATES:
        arguments |= {(template.uri_template, n) for n in ("name", "path") if f"{{{n}}}" in template.uri_template}

    assert set(COMPLETERS) == arguments


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", ["files", "isles", "many_isles", "wikibooks_old"]),
        ("isl", ["isles", "many_isles"]),
        ("WIKI", ["wikibooks_old"]),
        ("nope", []),
    ],
)
@pytest.mark.parametrize("prompt", ["explore", "summarize"])
def test_archive_names_with_the_prefix_come_first(
    server: StdioServer, prompt: str, value: str, names: list[str]
) -> None:
    completion = complete(server, prompt, "zim_file_path", value)

    assert completion == {"values": names, "total": len(names), "hasMore": False}


def test_archive_named_files_is_completed_with_its_extension(server: StdioServer) -> None:
    assert complete(server, "zim://{name}", "name", "fil")["values"] == ["files.zim"]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("Merc", ["Mercury_(element)", "Mercury_(god)", "Mercury_(planet)"]),
        ("merc", ["Mercury_(element)", "Mercury_(god)", "Mercury_(planet)"]),
        ("Ada Q", ["Ada_Quill"]),
        ("C", ["C", "C++"]),
        ("C/Raven", ["Ravenport"]),
        ("Z\u00fc", ["Zürich"]),
        ("Port", ["Port of Ravens"]),
        ("nothing", []),
    ],
)
def test_entry_paths_are_completed_in_the_chosen_archive(server: StdioServer, value: str, paths: list[str]) -> None:
    completion = complete(server, ENTRY, "path", value, name="isles")

    assert completion == {"values": paths, "total": len(paths), "hasMore": False}
    assert complete(server, "summarize", "entry_path", value, zim_file_path="isles")["values"] == paths


def test_article_path_is_completed_with_pages_only(server: StdioServer) -> None:
    files = complete(server, ENTRY, "path", "not", name="isles")["values"]
    articles = complete(server, "summarize", "entry_path", "not", zim_file_path="isles")["values"]

    assert (files, articles) == (["notes.txt"], [])


def test_completion_has_a_hundred_values_and_the_total(server: StdioServer) -> None:
    entries = complete(server, ENTRY, "path", "Pag", name="many_isles")
    pages = complete(server, "summarize", "entry_path", "Pag", zim_file_path="many_isles")

    assert (len(entries["values"]), entries["total"], entries["hasMore"]) == (100, 251, True)
    assert (len(pages["values"]), pages["total"], pages["hasMore"]) == (100, 250, True)
    assert pages["values"][0] == "Page_000"


def test_old_archive_is_completed_with_and_without_namespace(server: StdioServer) -> None:
    first = complete(server, ENTRY, "path", "", name="wikibooks_old")["values"][0]

    assert first.startswith("A/")
    assert first in complete(server, ENTRY, "path", first[:6], name="wikibooks_old")["values"]
    assert first in complete(server, ENTRY, "path", first[2:6], name="wikibooks_old")["values"]


@pytest.mark.parametrize("arguments", [{}, {"name": "nope"}, {"name": "isles_broken"}, {"name": "../x"}])
def test_unreadable_archive_has_no_completions(server: StdioServer, arguments: dict[str, str]) -> None:
    assert complete(server, ENTRY, "path", "Raven", **arguments) == {"values": [], "total": 0, "hasMore": False}


def test_only_archive_is_chosen_by_default(open_server: OpenServer, isles_zim: Path) -> None:
    server = open_server(isles_zim)

    assert complete(server, ENTRY, "path", "Raven")["values"] == ["Ravenport"]


@pytest.mark.parametrize(
    ("owner", "argument"), [("nope", "topic"), ("research", "nope"), ("zim://files", "name"), ("zim://{name}", "path")]
)
def test_unknown_argument_is_refused(server: StdioServer, owner: str, argument: str) -> None:
    params = {"ref": reference(owner), "argument": {"name": argument, "value": ""}}

    error = server.request_error("completion/complete", params)

    assert error["code"] == -32602


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_every_version_completes(directory: Path, version: str) -> None:
    with StdioServer(directory).with_version(version) as server:
        assert complete(server, "explore", "zim_file_path", "isl")["values"] == ["isles", "many_isles"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", STATELESS_VERSION])
async def test_sdk_client_completes(directory: Path, mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "openzim_mcp", str(directory)], env=server_environment({})
    )
    async with Client(server, mode=mode) as client:
        result = await client.complete(
            PromptReference(name="summarize"),
            {"name": "entry_path", "value": "Raven"},
            context_arguments={"zim_file_path": "isles"},
        )

    assert result.completion.values == ["Ravenport"]


def test_completions_are_charged_and_end_at_the_limit(open_server: OpenServer, directory: Path) -> None:
    limits = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__BURST_SIZE": "2", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01"}
    server = open_server(directory, **limits)

    values = [complete(server, ENTRY, "name", "isles")["values"] for _ in range(3)]
    error = server.call("zim_query", query="harbour town")

    assert values == [["isles", "many_isles"]] * 2 + [[]]
    assert error["operation"] == "rate_limited"
