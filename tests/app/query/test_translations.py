from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.archives import write_languages, write_zim
from support.stdio_server import StdioServer, wait_until


def ask(server: StdioServer, query: str) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query}})
    return str(result["content"][0]["text"])


@pytest.fixture
def server(tmp_path: Path, open_server: Callable[..., StdioServer]) -> StdioServer:
    """A server that has opened all archives: what is not known in time is left out."""
    write_languages(tmp_path)
    translations = "<h1>Gift</h1><p>Something given.</p><h2>Translations</h2><ul><li>German: Geschenk</li></ul>"
    metadata: dict[str, str | bytes] = {"Name": "wiktionary_en_all", "Title": "Wiktionary", "Language": "eng"}
    write_zim(tmp_path / "wiktionary_en_all.zim", {"Gift": translations}, metadata=metadata)
    server = open_server(tmp_path)
    wait_until(lambda: "wikivoyage" in ask(server, "Eiffel Tower in other languages"))
    return server


def test_article_in_a_language_brings_its_lead(server: StdioServer) -> None:
    text = ask(server, "Eiffel Tower in German")

    assert text.startswith("Der Eiffelturm ist ein Turm in Paris.")
    assert "Source: Eiffelturm — wikipedia_de_all.zim — zim://wikipedia_de_all/entry/Eiffelturm" in text


def test_article_that_is_in_the_language_is_read(server: StdioServer) -> None:
    assert ask(server, "Eiffelturm auf Deutsch").startswith("Der Eiffelturm ist ein Turm in Paris.")


def test_dictionary_translates_where_no_article_is_the_same(server: StdioServer) -> None:
    text = ask(server, "Gift in German")

    assert text.startswith("- Translations: German: Geschenk")
    assert "Source: Gift — wiktionary_en_all.zim" in text


def test_languages_are_told_where_the_asked_one_is_missing(server: StdioServer) -> None:
    text = ask(server, "Eiffel Tower in French")

    assert text.startswith(
        "No article about 'Eiffel Tower' is known in French. It is here in: English, German.\n\nSource: Eiffel Tower"
    )


def test_other_languages_are_listed(server: StdioServer) -> None:
    text = ask(server, "Eiffel Tower in other languages")

    assert text.startswith(
        "Eiffel Tower elsewhere:\n- Eiffelturm — German (wikipedia_de_all.zim: Eiffelturm)\n"
        "- Eiffel Tower — English (wikivoyage_en_all.zim: Eiffel_Tower)"
    )


def test_article_that_is_nowhere_else_says_so(server: StdioServer) -> None:
    text = ask(server, "Hund in anderen Sprachen")

    assert text.startswith("No other article about 'Hund' is known. The archives are in: German, English.")
