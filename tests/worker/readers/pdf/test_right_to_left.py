from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.pdf.right_to_left import restore_order


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ("يجب", [30, 20, 10], "يجب"),
        ("بجي", [10, 20, 30], "يجب"),
        # A ligature has all its letters in one place, in either order of the words.
        ("الا", [30, 20, 20], "الا"),
        ("لقألا", [10, 20, 30, 30, 40], "الأقل"),
        # A mark may stand to the right of where its letter starts.
        ("يُغلى", [40, 42, 30, 20, 10], "يُغلى"),
        # Only the first part of this word is turned.
        ("ضيأًا", [20, 30, 40, 10, 10], "أيضًا"),
        ("عام ١٩٣٣", [80, 70, 60, 50, 10, 20, 30, 40], "عام ١٩٣٣"),
        ("Ravenport é", [0] * 11, "Ravenport é"),
    ],
)
def test_words_are_in_the_order_of_reading(text: str, places: list[float], expected: str) -> None:
    assert restore_order(text, places.__getitem__) == expected
