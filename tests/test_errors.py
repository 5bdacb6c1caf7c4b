from __future__ import annotations

import pytest

from openzim_mcp import errors


def test_a_payload_has_the_fields_of_the_contract_and_those_of_the_case() -> None:
    error = errors.OpenZimMcpRateLimitError("Too many calls.", hint="Wait.", retry_after=0.5)

    assert error.payload("zim_browse") == {
        "status": "error",
        "operation": "rate_limited",
        "message": "Too many calls.",
        "hint": "Wait.",
        "retry_after": 0.5,
    }


def test_an_error_without_an_operation_of_its_own_names_the_tool() -> None:
    assert errors.OpenZimMcpError("No.").payload("zim_health") == {
        "status": "error",
        "operation": "zim_health",
        "message": "No.",
    }


@pytest.mark.parametrize("kind", [errors.ArchiveUnusable, errors.InvalidCursor, errors.OutOfMemory])
def test_an_error_survives_the_way_from_a_worker(kind: type[errors.OpenZimMcpError]) -> None:
    sent = kind("It is so.", hint="Do this.", archive="a.zim")

    received = errors.from_wire(sent.to_wire())

    assert type(received) is kind
    assert received.payload("t") == sent.payload("t")


def test_the_tree_of_the_specification_is_there() -> None:
    for name in ("Configuration", "Validation", "Archive", "RateLimit"):
        assert issubclass(getattr(errors, f"OpenZimMcp{name}Error"), errors.OpenZimMcpError)
