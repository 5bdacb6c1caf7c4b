"""The commands ask, search, read, list and info, run as a user does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rich.text import Text

from openzim_mcp.cli.command import Exit, split_directories
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
    assert "using the handbook" in run_on_terminal("list", columns=200).out


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
    assert result.out.startswith("1. **Ravenport** › Trade  \n   Its merchants")
    assert "  \n   isles_en_all_2026-01.zim: Ravenport\n" in result.out


def test_snippet_that_begins_like_a_list_stays_one_paragraph(zims: Path) -> None:
    result = run("search", "elizabeth", "--limit", "1", zims / "real/wikipedia_en_100_mini_2022-10.zim")

    assert result.out.startswith("1. **Elizabeth II**  \n   **Elizabeth** II - ")


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
    assert outline.out == "# Ravenport\n\n- 1 History\n- 2 Trade\n"
    assert whole.err == "isles_en_all_2026-01.zim: Ravenport\n"


def test_read_shows_the_lines_that_hold_words(isles_zim: Path) -> None:
    found = run("read", "Ravenport", "--find", "dried herring", isles_zim)
    missing = run("read", "Ravenport", "--find", "elephant", isles_zim)
    both = run("read", "Ravenport", "--find", "herring", "--toc", isles_zim)

    assert found.out.startswith("# Ravenport\n\n- Trade: Its merchants sell dried herring")
    assert (missing.out, missing.code) == ("# Ravenport\n\nNo line has all these words.\n", Exit.NEGATIVE)
    assert both.code == Exit.USAGE
    assert run("read", "Ravenport", "--find", "herring", "--json", isles_zim).json["total"] == 1


def test_read_selects_the_archive_with_the_title(archives: Path) -> None:
    assert run("read", "Ada Quill", archives).out.startswith("# Ada Quill")
    assert run("read", "Ada Quil", archives).out.startswith("# Ada Quill")
    assert run("read", "zim://isles_en_all_2026-01/entry/Ada_Quill", archives).out.startswith("# Ada Quill")


def test_read_shows_the_part_that_a_fragment_names(archives: Path) -> None:
    part = run("read", "zim://isles_en_all_2026-01/entry/Ravenport#Trade", archives)
    unknown = run("read", "Ada Quill#Wars", archives)

    assert "sell dried herring" in part.out
    assert "founded in 1743" not in part.out
    assert "the page has no part 'Wars'" in unknown.err


def test_read_asks_which_archive_if_several_have_the_article(archives: Path) -> None:
    result = run("read", "Ravenport", archives)

    assert (result.code, result.out) == (Exit.NEGATIVE, "")
    assert "2 archives have 'Ravenport'.\n" in result.err
    assert "Choose one with --archive: isles_en_all_2026-01, towns_en_all_2026-01.\n" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("read", "Nowhere at all"), Exit.NEGATIVE, "No archive has an entry 'Nowhere at all'."),
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
    assert "Sections: Trade, History\n" in run("read", "Ravenport", "--section", "Wars", isles_zim).err


def test_questions_need_no_quotes(isles_zim: Path) -> None:
    result = run("ask", "who", "founded", "Ravenport", isles_zim)

    assert result.code == 0
    assert "Ada Quill" in result.out
    assert run("read", "Ada", "Quill", isles_zim).out.startswith("# Ada Quill")
    assert "Ravenport" in run("search", "herring", "amber", isles_zim).out


@pytest.mark.parametrize(
    ("words", "question", "directories"),
    [
        ("what is coffee", "what is coffee", []),
        ("what is coffee zims", "what is coffee", ["zims"]),
        ("what is coffee ./empty", "what is coffee", ["./empty"]),
        ("what is coffee ~/nowhere", "what is coffee", ["~/nowhere"]),
        ("what is in empty", "what is in empty", []),
        ("what is TCP/IP", "what is TCP/IP", []),
        ("what is notes.txt", "what is notes.txt", []),
        ("coffee zims/a.zim zims", "coffee", ["zims/a.zim", "zims"]),
        ("zims", "zims", []),
        ("what_is_coffee empty", "what is coffee", ["empty"]),
        ("what_is_coffee nowhere", "what is coffee", ["nowhere"]),
    ],
)
def test_directories_after_a_question_are_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, question: str, directories: list[str]
) -> None:
    (tmp_path / "zims").mkdir()
    (tmp_path / "zims/a.zim").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)

    assert split_directories([word.replace("_", " ") for word in words.split()]) == (question, directories)


@pytest.mark.parametrize("command", ["ask", "search", "read"])
def test_directory_without_readable_archives_is_an_error(zims: Path, tmp_path: Path, command: str) -> None:
    for name in ("zero_bytes", "not_a_zim"):
        shutil.copy(zims / f"damaged/{name}.zim", tmp_path)
    (tmp_path / "empty").mkdir()

    unreadable = run(command, "coffee", tmp_path)
    empty = run(command, "coffee", tmp_path / "empty")

    assert (unreadable.code, unreadable.out) == (Exit.UNREADABLE, "")
    assert unreadable.err == (
        f"openzim-mcp: No archive in {tmp_path} can be read.\n"
        "not_a_zim.zim: not a ZIM file: the first bytes are something else\n"
        "zero_bytes.zim: the file is empty (0 bytes)\n"
    )
    assert (empty.code, empty.out) == (Exit.NEGATIVE, "")
    assert f"To get it: openzim-mcp download NAME --dir {tmp_path}/empty\n" in empty.err


def test_archive_that_cannot_be_opened_is_not_an_empty_answer(zims: Path) -> None:
    result = run("ask", "coffee", zims / "damaged/decompression_bomb.zim")

    assert result.code == Exit.UNREADABLE
    assert "takes more memory than a worker may have" in result.err


def test_library_is_used_without_a_directory(tmp_path: Path, town_zim: Path) -> None:
    library = {"OPENZIM_MCP_LIBRARY": str(tmp_path / "mine")}
    before = run("list", **library)
    (tmp_path / "mine").mkdir()
    shutil.copy(town_zim, tmp_path / "mine")
    after = run("list", **library)

    assert "| handbook |" in before.out
    assert before.err == f"No archive in {tmp_path / 'mine'} yet: using the handbook.\n"
    assert ("| towns_en_all_2026-01 |" in after.out, after.err) == (True, "")


def test_missing_directory_is_named_and_the_others_are_used(tmp_path: Path, isles_zim: Path) -> None:
    result = run("ask", "who founded Ravenport?", isles_zim, tmp_path / "disk")
    listing = run("list", isles_zim, tmp_path / "disk")

    assert "Ada Quill" in result.out
    assert result.err == listing.err == "disk: does not exist; it is served as soon as it appears\n"


def test_links_to_another_disk_are_followed_on_request(tmp_path: Path, isles_zim: Path) -> None:
    (tmp_path / "isles.zim").symlink_to(isles_zim)

    refused = run("ask", "who founded Ravenport?", tmp_path)

    assert refused.code == Exit.UNREADABLE
    assert "--follow-links" in refused.err
    assert "Ada Quill" in run("ask", "who founded Ravenport?", tmp_path, "--follow-links").out
    assert "Ada Quill" in run("ask", "who founded Ravenport?", tmp_path, OPENZIM_MCP_FOLLOW_LINKS="true").out


def test_errors_name_options_instead_of_tool_arguments(archives: Path) -> None:
    result = run("info", "nowhere", archives)

    assert "`openzim-mcp list`" in result.err
    assert "available" not in result.err


@pytest.mark.parametrize("columns", [60, 80])
def test_archive_names_are_never_broken(zims: Path, columns: int) -> None:
    text = Text.from_ansi(run_on_terminal("list", zims / "real", columns=columns).out).plain

    for name in ("wikipedia_en_ray_charles_2015-06_split", "wikipedia_ady_all_nopic_2026-02", "characters_encoding"):
        assert name in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= columns


def test_interrupted_download_is_listed_with_the_command_to_go_on(tmp_path: Path, town_zim: Path) -> None:
    shutil.copy(town_zim, tmp_path)
    (tmp_path / "wiki_en_all_2026-01.zim.part").write_bytes(b"x" * 1000)

    assert run("list", tmp_path).err == (
        "wiki_en_all_2026-01.zim: interrupted after 1.0 KB; "
        f"to go on: openzim-mcp download wiki_en_all_2026-01.zim --dir {tmp_path}\n"
    )
    assert run("list", "--json", tmp_path).json["interrupted"][0]["size"] == 1000


def test_long_article_is_shown_in_a_pager(zims: Path, tmp_path: Path) -> None:
    archive = zims / "built/wiki_real_pub.zim"
    copy = tmp_path / "paged"
    pager = f"tee {copy}"

    run_on_terminal("read", "Dog", archive, PAGER=pager)
    paged = copy.exists()
    copy.unlink(missing_ok=True)
    run_on_terminal("read", "Dog", "--toc", archive, PAGER=pager)
    run("read", "Dog", archive, PAGER=pager)

    assert (paged, copy.exists()) == (True, False)
    assert "# Dog" in run_on_terminal("read", "Dog", archive, PAGER="no-such-program", TERM="dumb").out


def test_list_shows_archives_and_problems(archives: Path) -> None:
    result = run("list", archives)

    assert result.code == 0
    assert "| towns_en_all_2026-01 | Test | eng |" in result.out
    assert "| broken |  |  |  |  | 14 B | not a ZIM file: the first bytes are something else |" in result.out


def test_list_of_empty_directory_exits_1(tmp_path: Path) -> None:
    result = run("list", tmp_path)

    assert (result.code, result.out) == (Exit.NEGATIVE, "")
    assert result.err.startswith(f"openzim-mcp: There is no archive in {tmp_path}.\nTo find one: openzim-mcp catalog")


def test_info_of_a_directory_describes_all_its_archives(archives: Path, town_zim: Path) -> None:
    result = run("info", archives, "--json")

    assert result.code == Exit.UNREADABLE
    assert [Path(row["file"]).name for row in result.json["archives"]] == [
        "broken.zim",
        "isles_en_all_2026-01.zim",
        "towns_en_all_2026-01.zim",
    ]
    assert run("info", town_zim.parent).out.startswith("# Test\n")


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


def test_index_crash_is_met_once_and_not_logged_above_the_answer(zims: Path) -> None:
    archive = zims / "damaged/zeroed_index_aborts_search.zim"
    question = ("ask", "what is a partial index?", archive)

    first, second = (run(*question, OPENZIM_MCP_LOGGING__LEVEL="WARNING") for _ in range(2))
    third = run(*question, XDG_CACHE_HOME="/proc/nowhere")

    assert "quarantined: it crashed the reader (SIGABRT)" in first.err
    assert (second.err, third.err) == ("", "")
    assert first.out == second.out == third.out
    assert "the search index is quarantined: it crashed the reader (SIGABRT)" in run("list", archive).out
