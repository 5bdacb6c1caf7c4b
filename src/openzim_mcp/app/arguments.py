"""The arguments of tools: checked by type, described by a small schema, wrong ones explained."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from openzim_mcp.errors import OpenZimMcpValidationError
from openzim_mcp.text import closest, safe_line


class Arguments(BaseModel):
    """The base of every tool's arguments; null, and an empty text where none is needed, mean "not given"."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_what_is_not_given(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {k: v for k, v in given.items() if v is not None and not (v == "" and k in optional)}


class ArchiveArguments(Arguments):
    """The arguments of a tool that reads one archive."""

    zim_file_path: str | None = Field(
        None, max_length=1000, description="Archive name; may be left out if there is only one."
    )


def check_start(cursor: str | None, offset: int) -> None:
    """Refuse a call that says twice where to go on."""
    if cursor and offset:
        raise ValueError("cursor and offset exclude each other: a cursor knows where to go on")


_Arguments = TypeVar("_Arguments", bound=Arguments)


def parse(model: type[_Arguments], given: dict[str, Any] | None) -> _Arguments:
    """Return checked arguments, or raise an error that names each wrong one and what is accepted."""
    try:
        return model.model_validate(given or {})
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)
        names = list(model.model_fields)
        raise OpenZimMcpValidationError(
            "; ".join(_explain(e, names, given or {}) for e in wrong),
            hint=f"Accepted arguments: {', '.join(names)}." if names else "This tool takes no arguments.",
            arguments=[safe_line(str(e["loc"][0]), 100) for e in wrong if e["loc"]],
        ) from None


def _explain(error: Any, names: list[str], given: dict[str, Any]) -> str:
    if not error["loc"]:
        return str(error["msg"]).removeprefix("Value error, ")
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        close = closest(name, names, limit=1, cutoff=0.5)
        return f"{safe_line(name, 100)}: unknown argument" + (f", did you mean {close[0]}?" if close else "")
    if error["type"] == "missing":
        return f"{name}: required, but not given"
    accepted = str(error["msg"]).replace("Input should", "should").removeprefix("Value error, ")
    return f"{name}: {accepted}, not {safe_line(repr(given.get(name)), 80)}"


_SAYS_NOTHING = (
    ("default", None),
    ("default", False),
    ("default", 0),
    ("default", ""),
    ("minimum", 0),
    ("maximum", 2**32),
)


def schema(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without what a model would only pay for."""
    full = model.model_json_schema()
    named = full.get("properties", {})
    first = full.get("required", [])
    properties = {name: _small(named[name]) for name in (*first, *(name for name in named if name not in first))}
    required = {"required": first} if first else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _small(field: dict[str, Any]) -> dict[str, Any]:
    """Drop titles, null alternatives, empty defaults and limits that nobody meets: left out, they say the same."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    flat = {k: v for k, v in field.items() if k != "anyOf"} | (kinds[0] if len(kinds) == 1 else {})
    if len(kinds) > 1:
        flat["anyOf"] = kinds
    return {k: v for k, v in flat.items() if k not in {"title", "maxLength"} and (k, v) not in _SAYS_NOTHING}
