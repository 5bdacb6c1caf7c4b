from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.subtitles import format_time, parse_chapters, parse_cues, read_subtitles

VTT = """WEBVTT - a talk

NOTE a comment --> not a cue

STYLE
::cue { color: red }

intro
00:00:01.000 --> 00:00:03.000 align:start
<v Ada>Sea water is <i>not</i> safe

00:00:03.000 --> 00:00:05.000
to drink &amp; boiling does not help.

00:03:15.500 --> 00:03:18.000
A still turns it into fresh water.
"""
ROLLING = """WEBVTT
Kind: captions

00:00:00.030 --> 00:00:02.000 align:start position:0%

welcome<00:00:00.500><c> to</c><00:00:00.900><c> the</c><c> camp</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
welcome to the camp

00:00:02.010 --> 00:00:05.000 align:start position:0%
welcome to the camp
we<00:00:02.500><c> build</c><c> a</c><c> fire</c>

00:00:05.000 --> 00:00:05.010 align:start position:0%
we build a fire
"""


def test_cues_are_joined_into_paragraphs() -> None:
    document = read_subtitles(VTT.encode())

    assert [(block.locator, block.text) for block in document.blocks] == [
        ("00:01", "Ada: Sea water is not safe to drink & boiling does not help."),
        ("03:15", "A still turns it into fresh water."),
    ]
    assert [row.title for row in document.sections] == ["", "00:01", "03:15"]
    assert [passage.locator for passage in document.passages] == ["00:01", "03:15"]


def test_rolling_captions_are_shown_once() -> None:
    assert read_subtitles(ROLLING.encode()).body == "welcome to the camp we build a fire"


@pytest.mark.parametrize(
    "raw",
    [
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}Größe <b>zählt</b>\r\n".encode("cp1252"),
        "\ufeff1\n00:00:01,000 --> 00:00:02,000\nGröße zählt\n".encode(),
        "1\n00:01,000 --> 00:02,000\nGröße zählt".encode("utf-16"),
    ],
)
def test_srt_is_read_in_any_encoding(raw: bytes) -> None:
    assert [cue.text for cue in parse_cues(raw)] == ["Größe zählt"]


def test_overlapping_cues_are_in_order() -> None:
    raw = b"WEBVTT\n\n00:05.000 --> 00:09.000\nsecond\n\n00:01.000 --> 00:06.000\nfirst\n"

    assert [cue.text for cue in parse_cues(raw)] == ["first", "second"]


def test_paragraph_ends_after_a_sentence() -> None:
    cues = "".join(f"00:{n:02}.000 --> 00:{n:02}.900\nThis is sentence number {n} of the talk.\n\n" for n in range(30))

    blocks = read_subtitles(f"WEBVTT\n\n{cues}".encode()).blocks

    assert all(block.text.endswith("talk.") and len(block.text) < 500 for block in blocks)
    assert [block.locator for block in blocks[:2]] == ["00:00", "00:08"]


def test_chapters_are_parsed() -> None:
    raw = b"WEBVTT\n\n00:00.000 --> 01:00.000\nStart\n\n01:00.000 --> 02:00.000\nThe still\n"

    assert [tuple(row) for row in parse_chapters(raw)] == [(0.0, "Start"), (60.0, "The still")]


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (195.9, "03:15"), (3795, "1:03:15")])
def test_time_is_written_as_people_do(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


@pytest.mark.parametrize("raw", [b"", b"WEBVTT", b"00:00 --> 00:01\nno fraction", b"\xff\xfe\x00", b"99:99:99.9 -->"])
def test_broken_subtitles_have_no_text(raw: bytes) -> None:
    assert read_subtitles(raw).passages == []
