from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import logs
from openzim_mcp.config import LoggingSettings, Settings


@pytest.fixture(autouse=True)
def as_it_was() -> Any:
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def shown(kind: str, directory: Path, record: logging.LogRecord) -> str:
    logs.configure_logging(Settings(allowed_directories=(directory,), logging=LoggingSettings(format=kind)))
    return logging.getLogger().handlers[0].format(record)


def failure(path: Path) -> logging.LogRecord:
    try:
        raise FileNotFoundError(2, "No such file", str(path))
    except FileNotFoundError:
        return logging.LogRecord("x", logging.ERROR, "f", 1, "failed on %s", (path,), sys.exc_info())


@pytest.mark.parametrize("kind", ["text", "json"])
def test_not_even_a_traceback_shows_a_directory(town_zim: Path, kind: str) -> None:
    line = shown(kind, town_zim.parent, failure(town_zim))

    assert f"failed on ...{town_zim.parent.name}/{town_zim.name}" in line
    assert "FileNotFoundError" in line
    assert str(town_zim.parent) not in line


def test_a_line_has_its_fields_after_the_message(tmp_path: Path) -> None:
    record = logging.makeLogRecord({"msg": "tools/call", "levelname": "INFO", "name": "x", logs.FIELDS: {"ms": 1.5}})

    assert shown("text", tmp_path, record).endswith("INFO x: tools/call ms=1.5")


def test_a_program_reads_one_object_a_line(tmp_path: Path) -> None:
    record = logging.makeLogRecord(
        {"msg": "a\nb %s", "args": ("c",), "levelname": "INFO", "name": "x", "created": 0.0, logs.FIELDS: {"ms": 1.5}}
    )

    line = shown("json", tmp_path, record)

    assert "\n" not in line
    assert json.loads(line) | {"time": ""} == {
        "time": "",
        "level": "INFO",
        "logger": "x",
        "message": "a\nb c",
        "ms": 1.5,
    }
