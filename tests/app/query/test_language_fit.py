from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.app.query.language_fit import archives_in_language, prefer_language
from openzim_mcp.calls.archive import Description
from openzim_mcp.calls.search import Estimate, Passage, PassageFit, Sentence, WordCounts
from support.stdio_server import StdioServer

ARABIC = "يمكن تثبيت حزم Red Hat على دبيان بعد تحويلها بأداة alien إلى صيغة أخرى."
ENGLISH, JAPANESE, CHINESE = "Debian is a system.", "Debian はシステムです。", "Debian 是一个系统。"


def passage(text: str, score: float) -> Passage:
    return Passage("x.zim", text, "Debian", "", "", [Sentence(text, 0.5)], score, PassageFit(0, 0, 0, 0))


def description(language: str) -> Description:
    return Description("", "", language, "", "", "", 1, None, False, None, True, True, False, "other")


@pytest.mark.parametrize(
    ("language", "first"), [("ja", JAPANESE), ("zh", CHINESE), ("en", ENGLISH), ("", ENGLISH), ("ru", ENGLISH)]
)
def test_passages_in_the_script_of_the_question_come_first(language: str, first: str) -> None:
    passages = [passage(ENGLISH, 0.9), passage(CHINESE, 0.8), passage(JAPANESE, 0.7)]

    assert prefer_language(language, passages)[0].text == first


@pytest.mark.parametrize(("language", "first"), [("en", ENGLISH), ("de", ENGLISH), ("", ARABIC)])
def test_question_in_latin_letters_gets_passages_in_them_first(language: str, first: str) -> None:
    passages = [passage(ARABIC, 0.9), passage(ENGLISH, 0.6)]

    assert prefer_language(language, passages)[0].text == first


def test_archive_in_the_language_of_the_question_is_read() -> None:
    estimates = {
        name: Estimate("other", WordCounts(), coverage)
        for name, coverage in {"en": [{"debian": 1.0}], "ja": [{"debian": 0.5}], "ja2": [{}], "none": None}.items()
    }
    descriptions = {"en": description("eng"), "ja": description("zho,jpn"), "ja2": description("jpn")}

    assert archives_in_language("ja", estimates, descriptions) == {"ja"}
    assert archives_in_language("de", estimates, descriptions) == set()


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("Debianとは何ですか", "entry/ja-JP/"),
        ("aptとは何ですか？", "entry/ja-JP/"),
        ("Debianのインストール方法は？", "entry/ja-JP/"),
        ("如何在Debian中安装软件包？", "entry/zh-CN/"),
    ],
)
def test_question_is_answered_from_the_handbook_in_its_language(zims: Path, question: str, source: str) -> None:
    with StdioServer(zims / "built") as server:
        result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": question}})

    sources = [row["uri"] for row in result["_meta"]["openzim/sources"]]
    assert sources
    assert all(source in uri for uri in sources)
