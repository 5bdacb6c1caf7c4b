"""The templates of the page, and its static files under names that change with their content."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2

from openzim_mcp import addresses
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATIC_TYPES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


@dataclass(frozen=True)
class StaticFile:
    """A file that never changes under its address."""

    content: bytes
    media_type: str
    address: str


@functools.cache
def static_files() -> Mapping[str, StaticFile]:
    """Return the static files by name."""
    folder = resources.files("openzim_mcp.web") / "static"
    return {name: _load(folder.joinpath(name).read_bytes(), name) for name in _STATIC_TYPES}


def _load(content: bytes, name: str) -> StaticFile:
    version = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, f"{_STATIC_TYPES[name]}; charset=utf-8", f"{addresses.STATIC}/{name}?v={version}")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("openzim_mcp.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["size"] = format_size
    environment.filters["number"] = "{:,}".format
    environment.globals["addresses"] = addresses
    environment.globals["static"] = {name: file.address for name, file in static_files().items()}
    return environment


def render_template(name: str, values: Mapping[str, Any]) -> str:
    """Return a template, filled in; a value that it lacks is an error."""
    return _environment().get_template(name).render(values)
