from __future__ import annotations

import random
import sys

import pytest

from openzim_mcp.text import replace_control, strip_invisible
from openzim_mcp.uris import ZimUri, archive_uri, canonical_uri, entry_uri, parse_uri

SURROGATES = range(0xD800, 0xE000)
# All characters of the first two planes, and some of the others, which are hardly used.
CODES = [*range(0x20000), *range(0x20000, sys.maxunicode + 1, 61)]
CHARACTERS = [chr(code) for code in CODES if code not in SURROGATES]
CHUNK_CHARACTERS = 4096
NAMES = ["wiki_en_2026-01", "a b", "x@y~2", "50%", "Zürich", "a:b", "what?#", "files", "it's", "日本\u3000語", "100%25"]


@pytest.mark.parametrize(
    ("uri", "parsed"),
    [
        ("zim://files", ZimUri()),
        ("zim://files/", ZimUri()),
        ("ZIM://Files", ZimUri()),
        ("zim://files.zim", ZimUri("files.zim")),
        ("zim://wiki", ZimUri("wiki")),
        ("zim://wiki/", ZimUri("wiki")),
        ("zim://wiki/entry/A/B?c#d", ZimUri("wiki", "A/B?c#d")),
        ("zim://wiki/entry/A%2FB", ZimUri("wiki", "A%2FB")),
        ("zim://files/entry/entry/x", ZimUri("files", "entry/x")),
        ("zim://wiki/entry/a/text/b", ZimUri("wiki", "a/text/b")),
        ("zim://wiki/text/a/entry/b", ZimUri("wiki", "a/entry/b", is_text=True)),
        ("zim://wiki/text/", None),
        ("zim://wiki/entry/", None),
        ("zim://wiki/other", None),
        ("zim://", None),
        ("zim:///wiki", None),
        ("zim://a%2Fb", None),
        ("file:///wiki", None),
        ("wiki", None),
    ],
)
def test_uri_is_parsed(uri: str, parsed: ZimUri | None) -> None:
    assert parse_uri(uri) == parsed


def test_candidates_are_unescaped_first_then_as_written() -> None:
    parsed = parse_uri("zim://a%20b/entry/100%25")

    assert parsed is not None
    assert parsed.name_candidates == ["a b", "a%20b"]
    assert parsed.path_candidates == ["100%", "100%25"]


@pytest.mark.parametrize("name", NAMES)
def test_archive_uri_parses_to_the_archive(name: str) -> None:
    uri = archive_uri(name)
    parsed = parse_uri(uri)

    assert uri.isascii()
    assert " " not in uri
    assert parsed is not None
    assert parsed.name_candidates[0].removesuffix(".zim") == name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", ["A/B", "what?", "C#", "100%", "100%25", "/a", "entry/x", "\u3000", "a\u00a0b", " "])
def test_entry_uri_parses_to_the_entry(name: str, path: str) -> None:
    assert parts(entry_uri(name, path)) == (name, path)


def parts(uri: str) -> tuple[str, str]:
    parsed = parse_uri(uri)
    assert parsed is not None
    return parsed.name_candidates[0], parsed.path_candidates[0]


def test_entry_uri_parses_back_for_each_character() -> None:
    for start in range(0, len(CHARACTERS), CHUNK_CHARACTERS):
        path = "".join(CHARACTERS[start : start + CHUNK_CHARACTERS])

        uri = entry_uri("wiki", path)

        assert parts(uri) == ("wiki", path)
        assert uri.split() == [uri]
        assert strip_invisible(uri) == replace_control(uri) == uri


def test_entry_uri_parses_back_for_random_names() -> None:
    generator = random.Random(4)
    odd = [c for c in CHARACTERS[:0x3100] if not c.isalnum()]
    for _ in range(2000):
        characters = generator.choices(odd, k=8) + generator.choices(CHARACTERS, k=2)
        generator.shuffle(characters)
        text = "".join(characters)
        name = text.replace("/", "") or "x"

        assert parts(entry_uri(name, text)) == (name, text)
        assert parse_uri(archive_uri(name)) is not None


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("Ravenport", "zim://wiki/entry/Ravenport"),
        ("A/Python_(programming_language)", "zim://wiki/entry/A/Python_(programming_language)"),
        ("東京", "zim://wiki/entry/東京"),
        ("東\u3000京", "zim://wiki/entry/東%E3%80%80京"),
        ("a\u00a0b c", "zim://wiki/entry/a%C2%A0b%20c"),
        ("A/b c", "zim://wiki/entry/A/b%20c"),
        ("Zürich", "zim://wiki/entry/Zürich"),
        ("c#?%", "zim://wiki/entry/c%23%3F%25"),
    ],
)
def test_entry_uri_escapes_only_what_must_be(path: str, uri: str) -> None:
    assert entry_uri("wiki", path) == uri


@pytest.mark.parametrize(
    ("uri", "variant"),
    [
        ("zim://files", "ZIM://files/"),
        ("zim://wiki", "zim://Wiki.zim"),
        ("zim://wiki", "zim://wiki/entry/A/B"),
        ("zim://a%20b", "zim://a b"),
        ("zim://Z%C3%BCrich", "zim://zürich"),
    ],
)
def test_variants_of_a_uri_have_one_canonical_uri(uri: str, variant: str) -> None:
    assert canonical_uri(uri) == canonical_uri(variant)


def test_list_and_archive_of_its_name_differ_canonically() -> None:
    assert canonical_uri("zim://files") != canonical_uri("zim://files.zim")
