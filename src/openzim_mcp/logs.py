"""The log on standard error: lines of text or JSON objects, without private paths."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import sys
import time
from typing import TYPE_CHECKING

from openzim_mcp.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.config import Settings

FIELDS = "openzim_mcp_fields"
"""Attribute of a log record with additional fields, a dict."""


TRACEBACK = "openzim_mcp_traceback"
"""Attribute of a log record with a traceback of another process."""
_MAX_MESSAGE_CHARS = 10_000
_PLAIN_VALUE = re.compile(r"[\w./:@+-]+")


class _TextFormatter(logging.Formatter):
    """One line per record; only tracebacks have more, indented, so that no value can look like a record.

    Paths of directories are shortened to their last part, in messages and tracebacks.
    """

    def __init__(self, directories: Iterable[str]) -> None:
        super().__init__()
        self._directories = sorted(directories, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        head = f"{self.formatTime(record)} {record.levelname} {record.name}: {escape_invisible(_message(record))}"
        fields = "".join(f" {name}={_quote(value)}" for name, value in getattr(record, FIELDS, {}).items())
        lines = [escape_invisible(line) for line in self._traceback(record).split("\n") if line]
        return self._redact_directories("\n    ".join([head + fields, *lines]))

    def _traceback(self, record: logging.LogRecord) -> str:
        own = self.formatException(record.exc_info) if record.exc_info else ""
        return own or str(getattr(record, TRACEBACK, ""))

    def _redact_directories(self, line: str) -> str:
        for directory in self._directories:
            line = line.replace(directory, f"...{os.path.basename(directory)}")
        return line


class _JsonFormatter(_TextFormatter):
    """One JSON object per line."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        row: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        if traceback := self._traceback(record):
            row["exception"] = traceback
        return self._redact_directories(_encode_json(row | getattr(record, FIELDS, {})))


def _message(record: logging.LogRecord) -> str:
    message = record.getMessage()
    return message if len(message) <= _MAX_MESSAGE_CHARS else message[: _MAX_MESSAGE_CHARS - 1] + "…"


def _quote(value: object) -> str:
    text = str(value)
    if _PLAIN_VALUE.fullmatch(text):
        return text
    return '"' + escape_invisible(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _encode_json(row: dict[str, object]) -> str:
    """Return JSON in which letters of all scripts are readable, and what cannot be seen is escaped."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    if escape_invisible(text) == text:
        return text
    return "".join(c if escape_invisible(c) == c else json.dumps(c)[1:-1] for c in text)


def _shorten_known_errors(record: logging.LogRecord) -> bool:
    """Replace the traceback of an error that a setting of the system causes by what to do about it."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        record.msg, record.args = f"{_message(record)}: too many open files; raise the limit (ulimit -n)", ()
        record.exc_info = record.exc_text = None
    return True


def configure_logging(settings: Settings) -> None:
    """Log to standard error; nothing in the log is unfit for a bug report."""
    served = [str(path) for path in settings.served_directories]
    private = [*map(os.path.abspath, served), *map(os.path.realpath, served), os.path.dirname(__file__), sys.prefix]
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_shorten_known_errors)
    handler.setFormatter((_JsonFormatter if settings.logging.format == "json" else _TextFormatter)(private))
    logging.basicConfig(level=settings.logging.level, handlers=[handler], force=True)
    if settings.logging.level != "DEBUG":
        # At INFO these libraries log what they do themselves; their warnings are about refused requests.
        for name in ("mcp", "uvicorn", "httpx"):
            logging.getLogger(name).setLevel(logging.WARNING)
