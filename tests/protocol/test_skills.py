"""Skills as clients see them: the list, the digests, and the files as resources."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openzim_mcp import tokens
from openzim_mcp.app.query import intents
from openzim_mcp.app.skills import load_skills
from support.stdio_server import PROTOCOL_VERSIONS, STATELESS_VERSION, StdioServer

URI = "skill://offline-research/SKILL.md"


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[StdioServer]:
    with StdioServer(town_zim).with_version(STATELESS_VERSION) as server:
        yield server


def read_text(server: StdioServer, uri: str) -> str:
    (content,) = server.request("resources/read", {"uri": uri})["contents"]
    assert content["mimeType"] == "text/markdown"
    return str(content["text"])


def test_extension_is_declared_in_the_version_that_has_it(town_zim: Path) -> None:
    server = StdioServer(town_zim)
    capabilities: dict[str, Any] = server.connect(STATELESS_VERSION)["capabilities"]
    server.close()

    assert capabilities["extensions"]["io.modelcontextprotocol/skills"] == {}


def test_list_has_every_file_with_digest_and_size(server: StdioServer) -> None:
    result = server.request("skills/list")
    (skill,) = result["skills"]

    assert {name: result[name] for name in ("resultType", "cacheScope")} == {
        "resultType": "complete",
        "cacheScope": "public",
    }
    assert [row["uri"] for row in skill["resources"]] == [URI, "skill://offline-research/references/requests.md"]
    for row in skill["resources"]:
        text = read_text(server, row["uri"]).encode()
        assert (row["digest"], row["size"]) == (f"sha256:{hashlib.sha256(text).hexdigest()}", len(text))


def test_front_matter_is_that_of_the_file(server: StdioServer) -> None:
    (skill,) = server.request("skills/list")["skills"]

    assert skill["frontmatter"] == yaml.safe_load(read_text(server, URI).split("---\n")[1])
    assert server.request("skills/get", {"uri": URI})["skill"] == skill


@pytest.mark.parametrize("uri", ["skill://nope/SKILL.md", "skill://offline-research", "zim://files", ""])
def test_unknown_skill_is_an_error(server: StdioServer, uri: str) -> None:
    assert server.request_error("skills/get", {"uri": uri})["code"] == -32602


@pytest.mark.parametrize("uri", ["skill://offline-research/../../config.py", "skill://offline-research/nope.md"])
def test_only_files_of_the_skill_can_be_read(server: StdioServer, uri: str) -> None:
    error = server.request_error("resources/read", {"uri": uri})

    assert error["code"] == -32602
    assert error["data"]["hint"] == f"There are: {URI}."


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_files_are_read_in_every_version(town_zim: Path, version: str) -> None:
    with StdioServer(town_zim).with_version(version) as server:
        assert "# Research with offline archives" in read_text(server, URI)


def test_skill_is_short_and_its_references_exist() -> None:
    (skill,) = load_skills()
    text = skill.files[0].content.decode()
    paths = {file.path for file in skill.files}

    assert tokens.estimate(text) < 1000
    assert set(re.findall(r"\]\(([^)]+)\)", text)) == paths - {"SKILL.md"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill.name)
    assert len(skill.header["description"]) <= 1024


def test_skill_names_all_requests() -> None:
    requests = load_skills()[0].files[1].content.decode()

    assert all(example in requests for intent in intents.INTENTS for example in intent.examples)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("when was Ravenport founded?", "Source: "),
        ("who won the Zorblax cup?", "Not found here: "),
        ("list articles", "[offset="),
    ],
)
def test_skill_explains_the_lines_of_real_answers(server: StdioServer, query: str, line: str) -> None:
    arguments = {"query": query, "limit": 1}
    answer = server.request("tools/call", {"name": "zim_query", "arguments": arguments})["content"][0]["text"]

    assert f"\n{line}" in f"\n{answer}"
    assert f"`{line}" in load_skills()[0].files[0].content.decode()
