"""The log on standard error: lines of text or JSON objects, without private paths."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.config import Settings

FIELDS = "openzim_mcp_fields"
"""Attribute of a log record with additional fields, a dict."""


class _TextFormatter(logging.Formatter):
    """Shortens the paths of directories to their last part, in messages and tracebacks."""

    def __init__(self, directories: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._directories = sorted(directories, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in getattr(record, FIELDS, {}).items())
        return self._redact_directories(super().format(record) + fields)

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
            "message": record.getMessage(),
        }
        if record.exc_info:
            row["exception"] = self.formatException(record.exc_info)
        return self._redact_directories(json.dumps(row | getattr(record, FIELDS, {}), ensure_ascii=False, default=str))


def configure_logging(settings: Settings) -> None:
    """Log to standard error; nothing in the log is unfit for a bug report."""
    served = [str(path) for path in settings.served_directories]
    private = [*map(os.path.abspath, served), *map(os.path.realpath, served), os.path.dirname(__file__), sys.prefix]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((_JsonFormatter if settings.logging.format == "json" else _TextFormatter)(private))
    logging.basicConfig(level=settings.logging.level, handlers=[handler], force=True)
    if settings.logging.level != "DEBUG":
        # At INFO these libraries log what they do themselves; their warnings are about refused requests.
        for name in ("mcp", "uvicorn", "httpx"):
            logging.getLogger(name).setLevel(logging.WARNING)
