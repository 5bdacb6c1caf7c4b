from __future__ import annotations

from pathlib import Path

from openzim_mcp.calls.search import EstimateAnswer, FindPassages, Question
from openzim_mcp.worker.search.answer import estimate_answer, find_passages
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim

TOWNS = {
    "Ravenport": "<h1>Ravenport</h1><p>Ravenport lives from herring.</p><h2>Trade</h2><p>Its market sells amber.</p>",
    "Amber": "<h1>Amber</h1><p>Amber is found on beaches. A market may sell it.</p>",
    "Alderwick": "<h1>Alderwick</h1><p>A town on a hill.</p>",
}


def indexed(path: Path) -> Archive:
    build_index(path)
    return Archive("x", [str(path)])


def ask(archive: Archive, question: Question) -> list[str]:
    passages = find_passages(archive, FindPassages(question, scan_seconds=5.0)).passages
    return list(dict.fromkeys(passage.path for passage in passages))


def test_page_is_found_by_words_of_several_passages(tmp_path: Path) -> None:
    archive = indexed(write_zim(tmp_path / "x.zim", TOWNS))

    assert ask(archive, Question("who sells amber and herring in ravenport"))[0] == "Ravenport"


def test_estimate_tells_words_of_the_title_from_others(tmp_path: Path) -> None:
    archive = indexed(write_zim(tmp_path / "x.zim", TOWNS))

    estimate = estimate_answer(archive, EstimateAnswer(Question("ravenport herring zeppelin")))

    assert estimate.coverage is not None
    assert estimate.coverage[0] == {"ravenport": 1.5, "herring": 1.0}
    assert estimate.counts.frequencies == {"ravenport": 1, "herring": 1, "zeppelin": 0}


def test_pages_in_the_script_of_the_question_are_read(tmp_path: Path) -> None:
    pages = {
        "apt_命令": "<h1>apt 命令</h1><p>apt apt apt 安装软件包。</p>",
        "apt_コマンド": "<h1>apt コマンド</h1><p>apt はパッケージを管理するツールです。</p>",
        "apt": "<h1>apt</h1><p>apt manages packages.</p>",
    }
    archive = indexed(write_zim(tmp_path / "x.zim", pages, metadata={"Language": "eng,jpn,zho"}))

    assert ask(archive, Question("aptとは何ですか？", language="ja")) == ["apt_コマンド"]
