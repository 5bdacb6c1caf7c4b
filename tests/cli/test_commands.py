"""The commands ask, search, read, list and info, run as a user does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openzim_mcp.cli.command import Exit
from support.command_line import run, run_on_terminal


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, town_zim: Path) -> Path:
    """A directory with two valid archives and a file that is not an archive."""
    directory = tmp_path_factory.mktemp("archives")
    shutil.copy(isles_zim, directory)
    shutil.copy(town_zim, directory)
    (directory / "broken.zim").write_bytes(b"not an archive")
    return directory


def test_ask_shows_answer_and_source(isles_zim: Path) -> None:
    result = run("ask", "who founded Ravenport?", isles_zim)

    assert result.code == 0
    assert "founded in 1743 by the shipwright Ada Quill" in result.out
    assert "\n\nSource: Ravenport" in result.out
    assert result.err == ""


def test_directories_come_from_argument_option_setting_or_handbook(isles_zim: Path) -> None:
    question = ("ask", "who founded Ravenport?", "--json")
    setting = {"OPENZIM_MCP_ALLOWED_DIRECTORIES": str(isles_zim.parent)}

    answers = [run(*question, isles_zim), run(*question, "--dir", isles_zim), run(*question, **setting)]

    assert ["Ada Quill" in result.json["answer"] for result in answers] == [True, True, True]
    assert run("list", "--json").json["archives"][0]["name"] == "handbook.zim"
    assert "using the handbook" in run_on_terminal("list").out


def test_ask_without_answer_exits_1(isles_zim: Path) -> None:
    result = run("ask", "xyzzyq plughq?", isles_zim)

    assert result.code == Exit.NEGATIVE
    assert result.out.startswith("Not found here: no archive has 'xyzzyq' or 'plughq'.")


def test_ask_has_no_next_page(isles_zim: Path) -> None:
    run("ask", "search for town", isles_zim)

    result = run("ask", "next page", isles_zim)

    assert (result.code, result.out) == (Exit.USAGE, "")
    assert "No next page: a command does not continue the answer of another." in result.err
    assert "`search --limit`" in result.err


def test_search_lists_articles_with_passages(archives: Path) -> None:
    result = run("search", "herring amber", archives)

    assert result.code == 0
    assert result.out.startswith("1. **Ravenport** › Trade (isles_en_all_2026-01.zim: Ravenport)\n   Its merchants")


def test_search_names_archives_that_failed(archives: Path) -> None:
    assert "broken.zim: " in run("search", "herring", archives).err


def test_search_by_title_in_one_archive(archives: Path) -> None:
    payload = run("search", "Mercury", "--titles", "--archive", "isles_en_all", "--json", archives).json

    assert {row["title"] for row in payload["results"]} >= {"Mercury (planet)", "Mercury (god)"}


def test_search_without_results_exits_1(isles_zim: Path) -> None:
    assert run("search", "xyzzyq", isles_zim).code == Exit.NEGATIVE


def test_read_shows_article_section_or_outline(archives: Path) -> None:
    whole = run("read", "Ravenport", "--archive", "isles_en_all", archives)
    section = run("read", "Ravenport", "--section", "History", "--archive", "isles_en_all", archives)
    outline = run("read", "Ravenport", "--toc", "--archive", "isles_en_all", archives)

    assert whole.out.startswith("# Ravenport\n\nRavenport is a harbour town on the east coast")
    assert section.out.startswith("## History\n\nThe town was founded")
    assert outline.out == "# Ravenport\n\n- History\n- Trade\n"
    assert whole.err == "isles_en_all_2026-01.zim: Ravenport\n"


def test_read_selects_the_archive_with_the_title(archives: Path) -> None:
    assert run("read", "Ada Quill", archives).out.startswith("# Ada Quill")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
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
        (("ask", ""), Exit.USAGE, "The question is empty."),
        (("search", " "), Exit.USAGE, "The search words are empty."),
        (
            ("ask", "who?", "--budget", "tiny"),
            Exit.USAGE,
            "--budget 'tiny' is not small, medium, large or a number from 100 up.",
        ),
    ],
)
def test_errors_are_one_line_with_exit_code(
    archives: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = run(*arguments, "--dir", archives)

    assert result.code == code
    assert result.out == ""
    assert message in result.err.splitlines()[0]
    assert "Traceback" not in result.err


def test_json_option_prints_errors_as_json(archives: Path) -> None:
    result = run("info", "iles", "--json", archives)

    assert result.code == Exit.NEGATIVE
    assert result.json["operation"] == "archive_not_found"


def test_unknown_section_lists_available_sections(isles_zim: Path) -> None:
    assert "available sections: History, Trade" in run("read", "Ravenport", "--section", "Wars", isles_zim).err


def test_unquoted_question_is_explained(isles_zim: Path) -> None:
    result = run("ask", "who", "founded", "it", isles_zim)

    assert result.code == Exit.USAGE
    assert "'founded' does not exist" in result.err


def test_list_shows_archives_and_problems(archives: Path) -> None:
    result = run("list", archives)

    assert result.code == 0
    assert "| towns_en_all_2026-01 | Test | eng |" in result.out
    assert "| broken |  |  |  |  | 14 B | not a ZIM file: the first bytes are something else |" in result.out


def test_list_of_empty_directory_exits_1(tmp_path: Path) -> None:
    result = run("list", tmp_path)

    assert (result.code, result.out) == (Exit.NEGATIVE, "No archives found.\n")


@pytest.mark.parametrize("by_file", [True, False])
def test_info_accepts_name_or_file(archives: Path, by_file: bool) -> None:  # noqa: FBT001
    file = archives / "towns_en_all_2026-01.zim"
    result = run("info", file) if by_file else run("info", "towns_en_all", "--dir", archives)

    assert result.code == 0
    assert result.out.startswith("# Test\n\n- language: eng\n- creator: Nobody\n")
    assert f"- file: {file}\n" in result.out


@pytest.mark.parametrize(
    "arguments", [("ask", "who founded Ravenport?"), ("search", "herring"), ("read", "Ravenport"), ("list",)]
)
@pytest.mark.parametrize("columns", [40, 120])
def test_output_fits_any_terminal_width(isles_zim: Path, arguments: tuple[str, ...], columns: int) -> None:
    assert run_on_terminal(*arguments, isles_zim, columns=columns).code == 0


@pytest.mark.parametrize("arguments", [("read", "Zürich"), ("ask", "what is Zürich?"), ("list",)])
def test_output_works_without_unicode(isles_zim: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, isles_zim, PYTHONIOENCODING="ascii")

    assert result.code == 0
    assert "Zurich" in result.out or arguments == ("list",)
