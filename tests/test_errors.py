from __future__ import annotations

import json

import pytest

from openzim_mcp import errors, tokens


def test_payload_has_message_hint_and_details() -> None:
    error = errors.OpenZimMcpRateLimitError("Too many calls.", hint="Wait.", retry_after=0.5)

    assert error.payload("zim_browse") == {
        "status": "error",
        "operation": "rate_limited",
        "message": "Too many calls.",
        "hint": "Wait.",
        "retry_after": 0.5,
    }


def test_payload_without_an_operation_names_the_tool() -> None:
    assert errors.OpenZimMcpError("No.").payload("zim_health") == {
        "status": "error",
        "operation": "zim_health",
        "message": "No.",
    }


@pytest.mark.parametrize("error_class", [errors.ArchiveUnusable, errors.InvalidCursor, errors.OutOfMemory])
def test_error_of_a_worker_is_rebuilt(error_class: type[errors.OpenZimMcpError]) -> None:
    raised = error_class("It is so.", hint="Do this.", archive="a.zim")

    rebuilt = errors.rebuild_error(error_class.__name__, raised.message, raised.hint, raised.details)

    assert type(rebuilt) is error_class
    assert rebuilt.payload("t") == raised.payload("t")


def test_unknown_error_of_a_worker_is_an_archive_error() -> None:
    assert type(errors.rebuild_error("Unknown", "It is so.", None, {})) is errors.OpenZimMcpArchiveError


def test_base_classes_exist() -> None:
    for name in ("Configuration", "Validation", "Archive", "RateLimit"):
        assert issubclass(getattr(errors, f"OpenZimMcp{name}Error"), errors.OpenZimMcpError)


def test_list_has_as_many_rows_as_an_error_has_room_for() -> None:
    rows = [f"wikipedia_en_all_maxi_2026-{month:02}.zim" for month in range(1, 13)]
    error = errors.ArchiveNotFound("Several archives.", hint="Use one.").with_list("available_archives", rows)

    shown = error.details["available_archives"]
    assert rows[: len(shown)] == shown
    assert 2 < len(shown) < 10
    assert tokens.estimate(json.dumps(error.payload("zim_get"))) <= 150


def test_list_has_at_least_one_row() -> None:
    rows = ["x" * 2000, "y"]

    assert errors.EntryNotFound("No.").with_list("did_you_mean", rows).details == {"did_you_mean": rows[:1]}
    assert errors.EntryNotFound("No.").with_list("did_you_mean", []).details == {}
