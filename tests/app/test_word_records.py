from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from openzim_mcp import config, files
from openzim_mcp.app import routing
from openzim_mcp.app.app import App
from openzim_mcp.app.arguments import parse_request
from openzim_mcp.app.query.ask import answer_query
from openzim_mcp.app.query.reply import QueryRequest, Reply
from openzim_mcp.app.routing import find_route
from openzim_mcp.calls.search import Question
from support.archives import write_zim

pytestmark = pytest.mark.anyio

NAMES = ("Ambleport", "Birchholm", "Cinderby", "Dunmoor", "Elderwick", "Fennside")


@pytest.fixture
def towns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six archives, of which a question may ask three, and make the records of two."""
    monkeypatch.setattr(routing, "MAX_ASKED", 3)
    monkeypatch.setattr(routing, "_MAX_MADE", 2)
    for name in NAMES:
        write_zim(tmp_path / f"{name.lower()}.zim", {name: f"<p>{name} was founded by a miller.</p>"})
    return tmp_path


def settings(directory: Path) -> config.Settings:
    return config.load_settings(allowed_directories=[str(directory)])


def kept(app_archives: list[str]) -> list[bool]:
    return [os.path.exists(files.words_path(identity)) for identity in app_archives]


async def test_question_makes_a_few_records_and_says_that_others_are_missing(towns: Path) -> None:
    async with App.open(settings(towns), workers=1) as app:
        archives = await app.usable_archives()
        route = await find_route(app, archives, Question("who founded Elderwick?"))
        reply = await answer_query(app, parse_request(QueryRequest, {"query": "who founded Fennside?"}))

    assert (len(route.known), route.unknown) == (2, 4)
    assert "elderwick" in route.known
    assert isinstance(reply, Reply)
    assert "2 archives are being prepared" in reply.text


async def test_records_are_made_in_the_background(towns: Path) -> None:
    async with App.open(settings(towns), workers=1) as app:
        archives = await app.usable_archives()
        await app.word_records.make(await app.word_records.find_missing(archives))
        route = await find_route(app, archives, Question("who founded Fennside?"))

    assert kept([archive.identity for archive in archives]) == [True] * len(NAMES)
    assert (len(route.known), route.unknown) == (len(NAMES), 0)


async def test_damaged_archive_leaves_the_records_of_others(towns: Path, zims: Path) -> None:
    shutil.copy(zims / "damaged/zeroed_index_aborts_search.zim", towns / "aaa.zim")
    async with App.open(settings(towns), workers=1) as app:
        archives = await app.usable_archives()
        await app.word_records.make(archives)

        assert await app.word_records.find_missing(archives) == []
        assert sum(kept([archive.identity for archive in archives])) >= len(NAMES)


async def test_records_that_are_not_kept_are_not_missing(towns: Path) -> None:
    without_records = settings(towns).model_copy(update={"records_enabled": False})
    async with App.open(without_records, workers=1) as app:
        archives = await app.usable_archives()

        assert await app.word_records.find_missing(archives) == []
        assert (await find_route(app, archives, Question("who founded Fennside?"))).unknown == 0
