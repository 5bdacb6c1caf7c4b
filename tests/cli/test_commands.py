"""Asking, searching, reading and listing, as a person does it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openzim_mcp.cli.command import Exit
from support.command_line import run, run_on_terminal


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, town_zim: Path) -> Path:
    """Two sound archives and one that is none."""
    folder = tmp_path_factory.mktemp("shelf")
    shutil.copy(isles_zim, folder)
    shutil.copy(town_zim, folder)
    (folder / "broken.zim").write_bytes(b"not an archive")
    return folder


def test_a_question_is_answered_with_its_source(isles_zim: Path) -> None:
    ended = run("ask", "who founded Ravenport?", isles_zim)

    assert ended.code == 0
    assert "founded in 1743 by the shipwright Ada Quill" in ended.out
    assert "\n\nSource: Ravenport" in ended.out
    assert ended.err == ""


def test_directories_come_from_the_argument_the_option_the_setting_or_are_the_handbook(isles_zim: Path) -> None:
    question = ("ask", "who founded Ravenport?", "--json")
    setting = {"OPENZIM_MCP_ALLOWED_DIRECTORIES": str(isles_zim.parent)}

    answers = [run(*question, isles_zim), run(*question, "--dir", isles_zim), run(*question, **setting)]

    assert ["Ada Quill" in ended.json["answer"] for ended in answers] == [True, True, True]
    assert run("list", "--json").json["archives"][0]["name"] == "handbook.zim"
    assert "this reads the handbook" in run_on_terminal("list").out


def test_a_question_without_an_answer_ends_with_1(isles_zim: Path) -> None:
    ended = run("ask", "xyzzyq plughq?", isles_zim)

    assert ended.code == Exit.NEGATIVE
    assert ended.out.startswith("Nothing was found")


def test_no_command_goes_on_where_another_ended(isles_zim: Path) -> None:
    run("ask", "search for town", isles_zim)

    ended = run("ask", "next page", isles_zim)

    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "There is no next page: each command answers by itself." in ended.err
    assert "`search --limit`" in ended.err


def test_search_lists_articles_with_their_passages(shelf: Path) -> None:
    ended = run("search", "herring amber", shelf)

    assert ended.code == 0
    assert ended.out.startswith("1. **Ravenport** › Trade (isles_en_all_2026-01.zim: Ravenport)\n   Its merchants")


def test_search_names_archives_that_failed(shelf: Path) -> None:
    assert "broken.zim: " in run("search", "herring", shelf).err


def test_search_by_title_in_one_archive(shelf: Path) -> None:
    found = run("search", "Mercury", "--titles", "--archive", "isles_en_all", "--json", shelf).json

    assert {row["title"] for row in found["results"]} >= {"Mercury (planet)", "Mercury (god)"}


def test_a_search_that_finds_nothing_ends_with_1(isles_zim: Path) -> None:
    assert run("search", "xyzzyq", isles_zim).code == Exit.NEGATIVE


def test_an_article_is_read_whole_in_part_or_as_its_outline(shelf: Path) -> None:
    whole = run("read", "Ravenport", "--archive", "isles_en_all", shelf)
    section = run("read", "Ravenport", "--section", "History", "--archive", "isles_en_all", shelf)
    outline = run("read", "Ravenport", "--toc", "--archive", "isles_en_all", shelf)

    assert whole.out.startswith("# Ravenport\n\nRavenport is a harbour town on the east coast")
    assert section.out.startswith("## History\n\nThe town was founded")
    assert outline.out == "# Ravenport\n\n- History\n- Trade\n"
    assert whole.err == "isles_en_all_2026-01.zim: Ravenport\n"


def test_of_several_archives_the_one_with_the_title_is_read(shelf: Path) -> None:
    assert run("read", "Ada Quill", shelf).out.startswith("# Ada Quill")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("read", "Nowhere at all"), Exit.NEGATIVE, "No archive has an article 'Nowhere at all'."),
        (
            ("read", "Ravenport", "--section", "Wars", "--archive", "isles_en_all"),
            Exit.NEGATIVE,
            "has no section 'Wars'",
        ),
        (("read", "Ravenport", "--archive", "iles"), Exit.NEGATIVE, "No archive 'iles'"),
        (("read", "Ravenport", "--archive", "broken"), Exit.UNREADABLE, "not a ZIM file"),
        (("info", "broken"), Exit.UNREADABLE, "not a ZIM file"),
        (("ask", ""), Exit.USAGE, "query"),
        (("ask", "who?", "--budget", "tiny"), Exit.USAGE, "compact_budget"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(shelf: Path, words: tuple[str, ...], code: int, message: str) -> None:
    ended = run(*words, "--dir", shelf)

    assert ended.code == code
    assert ended.out == ""
    assert message in ended.err.splitlines()[0]
    assert "Traceback" not in ended.err


def test_an_error_is_json_for_scripts(shelf: Path) -> None:
    ended = run("info", "iles", "--json", shelf)

    assert ended.code == Exit.NEGATIVE
    assert ended.json["operation"] == "archive_not_found"


def test_the_sections_that_there_are_are_named(isles_zim: Path) -> None:
    assert "available_sections: History, Trade" in run("read", "Ravenport", "--section", "Wars", isles_zim).err


def test_a_question_that_is_not_quoted_is_explained(isles_zim: Path) -> None:
    ended = run("ask", "who", "founded", "it", isles_zim)

    assert ended.code == Exit.USAGE
    assert "'founded' does not exist" in ended.err


def test_list_says_what_each_archive_is_and_why_one_cannot_be_read(shelf: Path) -> None:
    ended = run("list", shelf)

    assert ended.code == 0
    assert "| towns_en_all_2026-01 | Test | eng |" in ended.out
    assert "| broken |  |  |  |  | 14 B | not a ZIM file: the first bytes are something else |" in ended.out


def test_an_empty_directory_ends_with_1(tmp_path: Path) -> None:
    ended = run("list", tmp_path)

    assert (ended.code, ended.out) == (Exit.NEGATIVE, "There is no archive.\n")


@pytest.mark.parametrize("by_file", [True, False])
def test_info_describes_an_archive_by_name_or_file(shelf: Path, by_file: bool) -> None:  # noqa: FBT001
    file = shelf / "towns_en_all_2026-01.zim"
    ended = run("info", file) if by_file else run("info", "towns_en_all", "--dir", shelf)

    assert ended.code == 0
    assert ended.out.startswith("# Test\n\n- language: eng\n- creator: Nobody\n")
    assert f"- file: {file}\n" in ended.out


@pytest.mark.parametrize(
    "words", [("ask", "who founded Ravenport?"), ("search", "herring"), ("read", "Ravenport"), ("list",)]
)
@pytest.mark.parametrize("columns", [40, 120])
def test_a_terminal_of_any_width_shows_it(isles_zim: Path, words: tuple[str, ...], columns: int) -> None:
    assert run_on_terminal(*words, isles_zim, columns=columns).code == 0


@pytest.mark.parametrize("words", [("read", "Zürich"), ("ask", "what is Zürich?"), ("list",)])
def test_a_console_without_unicode_shows_it(isles_zim: Path, words: tuple[str, ...]) -> None:
    ended = run(*words, isles_zim, PYTHONIOENCODING="ascii")

    assert ended.code == 0
    assert "Zurich" in ended.out or words == ("list",)
