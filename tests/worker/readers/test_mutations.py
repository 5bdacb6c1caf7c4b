"""A small sample of benchmarks/kinds.py: damaged documents of every kind are read without an exception."""

from __future__ import annotations

import random

import pytest

from openzim_mcp.worker.readers import find_reader
from support.epubs import write_epub
from support.pdfs import page, write_pdf

SAMPLES = {
    "a.pdf": write_pdf(
        [page([f"Line {n} of a page."]) for n in range(5)], outline=[(0, "A", 1), (1, "B", 2)], labels=b"<<>>"
    ),
    "a.epub": write_epub({"a.xhtml": "<h1>A</h1><p>Text.</p>", "b.xhtml": "<p>More.</p>"}),
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\n<c>word</c> &amp; more\n\n00:02.000 --> 00:03.000\n<v Ada>next\n",
    "a.md": b"---\ntitle: A\n---\n# B\n\n```\ncode\n```\n\n- a\n- b\n\n| a |\n| - |\n",
    "a.csv": b'a;b\n"1;2";3\n',
    "a.rtf": rb"{\rtf1{\fonttbl x}\b A\b0\par\u8211?B\'e9}",
    "a.txt": b"CHAPTER I\n\n" + b"word " * 100 + b"\n\nCHAPTER II\n\n" + b"word " * 100,
}
MUTATIONS = 40


@pytest.mark.parametrize("name", SAMPLES)
def test_mutations_are_read_without_an_exception(name: str) -> None:
    reader = find_reader("", name)
    assert reader is not None
    randomness = random.Random(name)
    for _ in range(MUTATIONS):
        data = bytearray(SAMPLES[name])
        for _ in range(randomness.randint(1, 5)):
            at, size = randomness.randrange(len(data) + 1), randomness.choice([1, 4, 60])
            data[at : at + size] = randomness.choice([b"", randomness.randbytes(size), bytes(data[:size])])

        document = reader(bytes(data), name)

        assert all(passage.text for passage in document.passages)
