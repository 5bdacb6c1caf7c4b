"""The commands of the first five minutes still end and print as the transcript in the docs shows."""

from __future__ import annotations

import os
import re

import first_five_minutes
import pytest
from first_five_minutes import Result

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the transcript is of a POSIX terminal")

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_SAME_EVERYWHERE = re.compile(r"openzim-mcp (?:ask|catalog|list|read)\b")
"""What the other commands print depends on the system, its paths and its programs."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    home = tmp_path_factory.mktemp("new-user") / "home"
    home.mkdir()
    return first_five_minutes.play(home, with_install=False)


def test_commands_end_as_expected(results: list[Result]) -> None:
    assert [result.exit_code for result in results] == [result.step.exit_code for result in results]


def test_transcript_shows_what_commands_print(results: list[Result]) -> None:
    transcript = _NUMBER.sub("0", first_five_minutes.TRANSCRIPT.read_text(encoding="utf-8"))
    outputs = [_NUMBER.sub("0", result.output) for result in results if _SAME_EVERYWHERE.match(result.line)]

    assert len(outputs) >= 6
    assert [output for output in outputs if output not in transcript] == [], "run scripts/first_five_minutes.py"
