"""Readable errors for wrong settings: which one, its value, and what it accepts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from pydantic import SecretStr

from openzim_mcp.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

_MAX_VALUE_CHARS = 100
_TYPE_NAMES: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    SecretStr: "text",
    Path: "a path",
}


def describe_validation_error(
    error: ValidationError, variables: Mapping[str, FieldInfo], prefix: str, options: Mapping[str, str]
) -> str:
    """Return a line for each setting that is wrong; `options` are the names of those on the command line."""
    return "\n".join(_describe_detail(detail, variables, prefix, options) for detail in error.errors())


def _describe_detail(
    detail: ErrorDetails, variables: Mapping[str, FieldInfo], prefix: str, options: Mapping[str, str]
) -> str:
    location = [str(part) for part in detail["loc"]]
    if not location:
        return detail["msg"].removeprefix("Value error, ")
    variable = f"{prefix}{'__'.join(location).upper()}"
    option = options.get(location[0])
    name = f"{'.'.join(location)} ({variable}): " if option is None else option and f"{option}: "
    if detail["type"] == "value_error":
        return f"{name}{detail['msg'].removeprefix('Value error, ')}"
    field = variables.get(variable)
    accepted = describe_accepted(field) if field else detail["msg"].removeprefix("Input should be ")
    return f"{name}{str(detail['input'])[:_MAX_VALUE_CHARS]!r} is not accepted; use {accepted}"


def describe_json_error(message: str, settings: Iterable[str], prefix: str) -> str:
    """Name the variable whose value is not JSON; pydantic's `message` names only the setting that contains it."""
    setting = next(name for name in settings if f'"{name}"' in message)
    start = f"{prefix}{setting}".upper()
    values = [
        f"{name}={value[:_MAX_VALUE_CHARS]!r}" for name, value in os.environ.items() if name.upper().startswith(start)
    ]
    return f"{setting} ({', '.join(values)}): not valid JSON; use an object, as in docs/settings.md"


def describe_accepted(field: FieldInfo) -> str:
    """Return in words what a setting accepts."""
    types = [kind for kind in (get_args(field.annotation) or [field.annotation]) if kind is not type(None)]
    if get_origin(field.annotation) is Literal:
        return " or ".join(map(str, types))
    type_name = _TYPE_NAMES.get(types[0], "a list or JSON")
    low = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in field.metadata if hasattr(bound, "le")), None)
    if low is None:
        return type_name
    return f"{type_name} from {low} " + ("up" if high is None else f"to {high}")


def describe_unknown_variables(variables: Iterable[str], prefix: str) -> list[str]:
    """Return a sentence for each environment variable with our prefix that is not a setting."""
    settings = list(variables)
    groups = tuple(f"{name}__" for name in settings) + tuple(settings)
    sentences = []
    for name in sorted(os.environ):
        if name.upper().startswith(prefix) and not name.upper().startswith(groups):
            close = closest(name.upper(), settings, limit=1)
            sentences.append(f"{name} is not a setting" + (f"; did you mean {close[0]}?" if close else ""))
    return sentences
