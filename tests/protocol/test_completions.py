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
from support.stdio_server import PROTOCOL_VERSIONS, StdioServer, server_environment

OpenServer = Callable[..., StdioServer]
ENTRY = "zim://{name}/entry/{path}"


def complete(server: StdioServer, about: str, argument: str, value: str, **known: str) -> dict[str, Any]:
    ref = {"type": "ref/resource", "uri": about} if "://" in about else {"type": "ref/prompt", "name": about}
    params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
    if known:
        params["context"] = {"arguments": known}
    return dict(server.request("completion/complete", params)["completion"])


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, zims: Path) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    shutil.copy(isles_zim, folder / "isles.zim")
    shutil.copy(zims / "real/wikibooks_aa_2014-11.zim", folder / "wikibooks_old.zim")
    shutil.copy(zims / "damaged/not_a_zim.zim", folder / "isles_broken.zim")
    write_zim(folder / "files.zim", {"Main": "x"})
    many = {f"Page_{number:03}": "x" for number in range(250)} | {"Page.png": "x", "style.css": "x"}
    write_zim(folder / "many_isles.zim", many)
    return folder


@pytest.fixture(scope="module")
def server(shelf: Path) -> Iterator[StdioServer]:
    with StdioServer(shelf) as server:
        yield server


def test_every_argument_of_every_prompt_and_template_can_be_completed() -> None:
    wanted = {(prompt.name, name) for prompt in PROMPTS for name in prompt.arguments}
    for template in TEMPLATES:
        wanted |= {(template.uri_template, n) for n in ("name", "path") if f"{{{n}}}" in template.uri_template}

    assert set(COMPLETERS) == wanted


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
def test_archive_names_that_begin_so_come_first(server: StdioServer, prompt: str, value: str, names: list[str]) -> None:
    found = complete(server, prompt, "zim_file_path", value)

    assert found == {"values": names, "total": len(names), "hasMore": False}


def test_the_archive_named_like_the_list_is_offered_by_its_file_name_in_an_address(server: StdioServer) -> None:
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
def test_entry_paths_are_completed_within_the_archive_already_chosen(
    server: StdioServer, value: str, paths: list[str]
) -> None:
    found = complete(server, ENTRY, "path", value, name="isles")

    assert found == {"values": paths, "total": len(paths), "hasMore": False}
    assert complete(server, "summarize", "entry_path", value, zim_file_path="isles")["values"] == paths


def test_a_prompt_about_articles_offers_only_pages(server: StdioServer) -> None:
    files = complete(server, ENTRY, "path", "not", name="isles")["values"]
    articles = complete(server, "summarize", "entry_path", "not", zim_file_path="isles")["values"]

    assert (files, articles) == (["notes.txt"], [])


def test_at_most_a_hundred_are_offered_and_the_rest_counted(server: StdioServer) -> None:
    found = complete(server, ENTRY, "path", "Pag", name="many_isles")
    pages = complete(server, "summarize", "entry_path", "Pag", zim_file_path="many_isles")

    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 251, True)
    assert (len(pages["values"]), pages["total"], pages["hasMore"]) == (100, 250, True)
    assert pages["values"][0] == "Page_000"


def test_an_old_archive_is_completed_with_and_without_its_namespace(server: StdioServer) -> None:
    first = complete(server, ENTRY, "path", "", name="wikibooks_old")["values"][0]

    assert first.startswith("A/")
    assert first in complete(server, ENTRY, "path", first[:6], name="wikibooks_old")["values"]
    assert first in complete(server, ENTRY, "path", first[2:6], name="wikibooks_old")["values"]


@pytest.mark.parametrize("known", [{}, {"name": "nope"}, {"name": "isles_broken"}, {"name": "../x"}])
def test_without_a_readable_archive_there_is_nothing_to_offer(server: StdioServer, known: dict[str, str]) -> None:
    assert complete(server, ENTRY, "path", "Raven", **known) == {"values": [], "total": 0, "hasMore": False}


def test_the_only_archive_need_not_be_chosen(open_server: OpenServer, isles_zim: Path) -> None:
    server = open_server(isles_zim)

    assert complete(server, ENTRY, "path", "Raven")["values"] == ["Ravenport"]


@pytest.mark.parametrize(
    ("about", "argument"), [("nope", "topic"), ("research", "nope"), ("zim://files", "name"), ("zim://{name}", "path")]
)
def test_what_has_no_such_argument_is_refused(server: StdioServer, about: str, argument: str) -> None:
    ref = {"type": "ref/resource", "uri": about} if "://" in about else {"type": "ref/prompt", "name": about}

    error = server.request_error("completion/complete", {"ref": ref, "argument": {"name": argument, "value": ""}})

    assert error["code"] == -32602


@pytest.mark.parametrize("revision", PROTOCOL_VERSIONS)
def test_every_revision_completes(shelf: Path, revision: str) -> None:
    with StdioServer(shelf).with_version(revision) as server:
        assert complete(server, "explore", "zim_file_path", "isl")["values"] == ["isles", "many_isles"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_sdk_client_of_both_eras_completes(shelf: Path, era: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "openzim_mcp", str(shelf)], env=server_environment({})
    )
    async with Client(server, mode=era) as client:
        found = await client.complete(
            PromptReference(name="summarize"),
            {"name": "entry_path", "value": "Raven"},
            context_arguments={"zim_file_path": "isles"},
        )

    assert found.completion.values == ["Ravenport"]
