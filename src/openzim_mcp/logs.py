"""What is written to standard error: lines for people or objects for programs, and nothing private in them."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.config import Settings

FIELDS = "openzim_mcp_fields"
"""The attribute of a record that has more about it: names and values."""


class _Text(logging.Formatter):
    """Shows directories by their last part, in messages and in tracebacks."""

    def __init__(self, directories: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._directories = sorted(directories, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in getattr(record, FIELDS, {}).items())
        return self.discreet(super().format(record) + fields)

    def discreet(self, line: str) -> str:
        for directory in self._directories:
            line = line.replace(directory, f"...{os.path.basename(directory)}")
        return line


class _Json(_Text):
    """One object a line."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return self.discreet(json.dumps(told | getattr(record, FIELDS, {}), ensure_ascii=False, default=str))


def set_up(settings: Settings) -> None:
    """Write to standard error, and nothing there that should not be in a bug report."""
    served = [str(path) for path in settings.allowed_directories]
    private = [*map(os.path.abspath, served), *map(os.path.realpath, served), os.path.dirname(__file__), sys.prefix]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((_Json if settings.logging.format == "json" else _Text)(private))
    logging.basicConfig(level=settings.logging.level, handlers=[handler], force=True)
    if settings.logging.level != "DEBUG":
        # What these say at INFO is about themselves; their warnings are about requests that were refused.
        for name in ("mcp", "uvicorn", "httpx"):
            logging.getLogger(name).setLevel(logging.WARNING)
