from __future__ import annotations

import errno
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import logs
from openzim_mcp.config import LoggingSettings, Settings


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def format_record(log_format: str, directory: Path, record: logging.LogRecord) -> str:
    logs.configure_logging(Settings(allowed_directories=(directory,), logging=LoggingSettings(format=log_format)))
    return logging.getLogger().handlers[0].format(record)


def error_record(path: Path) -> logging.LogRecord:
    try:
        raise FileNotFoundError(2, "No such file", str(path))
    except FileNotFoundError:
        return logging.LogRecord("x", logging.ERROR, "f", 1, "failed on %s", (path,), sys.exc_info())


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_tracebacks_do_not_show_directories(town_zim: Path, log_format: str) -> None:
    line = format_record(log_format, town_zim.parent, error_record(town_zim))

    assert f"failed on ...{town_zim.parent.name}/{town_zim.name}" in line
    assert "FileNotFoundError" in line
    assert str(town_zim.parent) not in line


def test_fields_follow_the_message(tmp_path: Path) -> None:
    record = logging.makeLogRecord({"msg": "tools/call", "levelname": "INFO", "name": "x", logs.FIELDS: {"ms": 1.5}})

    assert format_record("text", tmp_path, record).endswith("INFO x: tools/call ms=1.5")


def test_json_record_is_one_line(tmp_path: Path) -> None:
    record = logging.makeLogRecord(
        {"msg": "a\nb %s", "args": ("c",), "levelname": "INFO", "name": "x", "created": 0.0, logs.FIELDS: {"ms": 1.5}}
    )

    line = format_record("json", tmp_path, record)

    assert "\n" not in line
    assert json.loads(line) | {"time": ""} == {
        "time": "",
        "level": "INFO",
        "logger": "x",
        "message": "a\nb c",
        "ms": 1.5,
    }


FORGED = 'x" y\n2026-01-01 00:00:00,000 INFO openzim_mcp: forged \x1b[31m\u202e\u2028\x85\r'


def forging_record() -> logging.LogRecord:
    """A record whose message, field and traceback hold text from a client."""
    try:
        raise ValueError(FORGED)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "method %s", (FORGED,), sys.exc_info())
    setattr(record, logs.FIELDS, {"tool": FORGED, "client": "192.0.2.1"})
    return record


def test_text_log_cannot_be_forged(tmp_path: Path) -> None:
    first, *others = format_record("text", tmp_path, forging_record()).splitlines()

    assert r'method x" y\n2026-01-01' in first
    assert first.endswith(r"client=192.0.2.1")
    assert r'tool="x\" y\n2026' in first
    assert all(line.startswith("    ") for line in others)
    assert all(line.isprintable() for line in [first, *others])


def test_json_log_cannot_be_forged(tmp_path: Path) -> None:
    line = format_record("json", tmp_path, forging_record())

    assert line.isprintable()
    assert json.loads(line)["tool"] == FORGED


def test_traceback_of_a_worker_is_indented(tmp_path: Path) -> None:
    record = logging.makeLogRecord({"msg": "failed", "levelname": "ERROR", "name": "x", logs.TRACEBACK: "a\nb"})

    assert format_record("text", tmp_path, record).endswith("ERROR x: failed\n    a\n    b")


def test_too_many_open_files_is_a_line_without_traceback(tmp_path: Path) -> None:
    try:
        raise OSError(errno.EMFILE, "Too many open files")
    except OSError:
        record = logging.LogRecord("asyncio", logging.ERROR, "f", 1, "accept failed", (), sys.exc_info())
    logs.configure_logging(Settings(allowed_directories=(tmp_path,)))
    handler = logging.getLogger().handlers[0]
    handler.filter(record)

    assert handler.format(record).endswith("accept failed: too many open files; raise the limit (ulimit -n)")
