"""The base of the request models, and errors that explain a wrong argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from openzim_mcp import cursors
from openzim_mcp.errors import OpenZimMcpValidationError
from openzim_mcp.text import closest, safe_line, visible_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

    from openzim_mcp.config import Operation

BUDGETS = {"small": 500, "medium": 1500, "large": 4000}
_MIN_BUDGET_TOKENS = 100
_MAX_PROBLEMS = 5
"""Wrong arguments that an error names."""
_NAMES_IN_RESULTS = {"archive": "zim_file_path", "path": "entry_path", "uri": "entry_path"}
"""What results call an argument: a model that copies it means the same. The schema does not show these names."""


class Request(BaseModel):
    """The base of every request; null, and an empty text where none is needed, mean "not given"."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, arguments: object) -> object:
        if not isinstance(arguments, dict):
            return arguments
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        renamed = {cls._argument_name(name, arguments): value for name, value in arguments.items()}
        return {
            name: value
            for name, value in renamed.items()
            if value is not None and not (value == "" and name in optional)
        }

    @classmethod
    def _argument_name(cls, name: str, arguments: Mapping[str, object]) -> str:
        """Return the argument that a name means; a name of the schema is itself, even beside another for the same."""
        argument = _NAMES_IN_RESULTS.get(name, name)
        is_alias = name not in cls.model_fields and argument in cls.model_fields and argument not in arguments
        return argument if is_alias else name

    def cost(self) -> tuple[Operation, int]:
        """Return the operation that the rate limit charges for, and how often."""
        return "default", 1


class ArchiveRequest(Request):
    """A request about one archive."""

    zim_file_path: str | None = Field(
        None, max_length=1000, description="Archive, by name or title; may be left out if there is only one."
    )


OptionalArchive: Any = Field(
    None, max_length=1000, description="Archive, by name or title; left out, all are looked in."
)


class BudgetedRequest(ArchiveRequest):
    """A request whose answer can be kept short."""

    zim_file_path: str | None = OptionalArchive

    compact_budget: int | str | None = Field(
        None, description="Tokens the answer may have: a number, small (500), medium (1500) or large (4000)."
    )

    @field_validator("compact_budget")
    @classmethod
    def _check_budget(cls, value: int | str | None) -> int | None:
        if isinstance(value, str):
            value = BUDGETS.get(value, int(value) if value.isdecimal() else -1)
        if value is not None and value < _MIN_BUDGET_TOKENS:
            raise ValueError(f"should be small, medium, large, or a number from {_MIN_BUDGET_TOKENS} up")
        return value

    @property
    def max_tokens(self) -> int | None:
        """The budget as a number; None if there is none."""
        return int(self.compact_budget) if self.compact_budget else None


AnyRequest = TypeVar("AnyRequest", bound=Request)


def check_start(cursor: str | None, offset: int) -> None:
    """Refuse a request that says twice where to continue."""
    if cursor and offset:
        raise ValueError("cursor and offset exclude each other: a cursor knows where to continue")


def require_text(query: str) -> str:
    """Return a query on one line, or refuse an empty one."""
    text = visible_line(query)
    if not text:
        raise OpenZimMcpValidationError("query is empty.", hint="Say what to look for: a title, words, or a question.")
    return text


def resume(tool: str, request: AnyRequest) -> AnyRequest:
    """Complete a request that passes a cursor with the request that the cursor carries."""
    arguments = request.model_dump(exclude_unset=True)
    cursor = arguments.get("cursor")
    return parse_request(type(request), cursors.decode(cursor, tool).request | arguments) if cursor else request


def parse_request(model: type[AnyRequest], arguments: Mapping[str, object] | None) -> AnyRequest:
    """Return a checked request, or raise an error that names each wrong argument and what is accepted."""
    try:
        return model.model_validate(arguments or {})
    except ValidationError as error:
        all_problems = error.errors(include_url=False, include_context=False)
        problems, more = all_problems[:_MAX_PROBLEMS], len(all_problems) - _MAX_PROBLEMS
        names = list(model.model_fields)
        explained = [_explain_error(problem, names, arguments or {}) for problem in problems]
        raise OpenZimMcpValidationError(
            "; ".join([*explained, *([f"and {more} more"] if more > 0 else [])]),
            hint=f"Accepted arguments: {', '.join(names)}." if names else "This tool takes no arguments.",
            arguments=[safe_line(str(problem["loc"][0]), 100) for problem in problems if problem["loc"]],
        ) from None


def _explain_error(error: ErrorDetails, names: list[str], arguments: Mapping[str, object]) -> str:
    if not error["loc"]:
        return error["msg"].removeprefix("Value error, ")
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        similar = closest(name, names, limit=1, cutoff=0.5)
        return f"{safe_line(name, 100)}: unknown argument" + (f", did you mean {similar[0]}?" if similar else "")
    if error["type"] == "missing":
        return f"{name}: required, but not given"
    accepted = error["msg"].replace("Input should", "should").removeprefix("Value error, ")
    return f"{name}: {accepted}, not {safe_line(repr(arguments.get(name)), 80)}"
