from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from openzim_mcp.app.arguments import ArchiveRequest, parse_request, require_text
from openzim_mcp.errors import OpenZimMcpValidationError
from openzim_mcp.protocol import tools


class Sample(ArchiveRequest):
    query: str
    limit: int | None = Field(None, ge=1, le=100, description="How many.")
    budget: int | str | None = None


def test_null_and_empty_arguments_are_dropped() -> None:
    request = parse_request(Sample, {"query": "x", "limit": None, "zim_file_path": ""})

    assert request == Sample(query="x")


def test_numeric_text_is_a_number() -> None:
    assert parse_request(Sample, {"query": "x", "limit": "7"}).limit == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "x", "limit": 0}, "limit: should be greater than or equal to 1, not 0"),
        (
            {"query": "x", "limit": "many"},
            "limit: should be a valid integer, unable to parse string as an integer, not 'many'",
        ),
        ({"query": "x", "qurey": 1}, "qurey: unknown argument, did you mean query?"),
        ({"query": "x", "zzz\u202e\n": 1}, "zzz: unknown argument"),
        ({}, "query: required, but not given"),
        (None, "query: required, but not given"),
        ({"query": ["x"]}, "query: should be a valid string, not ['x']"),
    ],
)
def test_error_names_the_argument_and_what_is_accepted(arguments: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(OpenZimMcpValidationError) as caught:
        parse_request(Sample, arguments)

    assert caught.value.message == message
    assert caught.value.hint == "Accepted arguments: zim_file_path, query, limit, budget."


def test_schema_has_no_redundant_keywords() -> None:
    assert tools.argument_schema(Sample) == {
        "type": "object",
        "properties": {
            "zim_file_path": {
                "description": "Archive, by name or title; may be left out if there is only one.",
                "type": "string",
            },
            "query": {"type": "string"},
            "limit": {"description": "How many.", "type": "integer", "minimum": 1, "maximum": 100},
            "budget": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("query", ["", "   ", "\x00\x1f", "\u200b"])
def test_empty_query_is_refused(query: str) -> None:
    with pytest.raises(OpenZimMcpValidationError, match="query is empty"):
        require_text(query)
