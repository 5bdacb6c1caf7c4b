from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from openzim_mcp.calls.search import Question
from openzim_mcp.languages import three_letter_code, two_letter_code
from openzim_mcp.worker.search import archive_size
from openzim_mcp.worker.search import language as languages
from openzim_mcp.worker.search.language import Word, detect_language, language_by_code
from openzim_mcp.worker.search.query import Term, parse_query
from openzim_mcp.worker.zim import Archive

FILES = sorted((resources.files("openzim_mcp.worker.search") / "stopwords").iterdir(), key=lambda file: file.name)


def test_rare_words_weigh_more(isles: Archive) -> None:
    parsed = parse_query(isles, "Who founded the harbour of Ravenport?")

    assert [(term.word, term.frequency) for term in parsed.terms] == [("founded", 2), ("harbour", 4), ("ravenport", 3)]
    assert [term.word for term in parsed.indexed_terms] == ["founded", "ravenport", "harbour"]
    assert parsed.terms[0].weight > parsed.terms[1].weight > 0
    assert (parsed.corrected, parsed.unknown_words) == ({}, [])


class WithoutSearches(Archive):
    """An archive that must not be searched for a word that its index has, as that reads other places than its list."""

    def frequency(self, words: str) -> int:
        assert words == "xylographic"
        return super().frequency(words)


def test_words_of_a_large_archive_are_counted_by_its_lists(zims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(zims / "built/wiki_real_pub.zim")
    question = "Who founded the monasteries of the 12th century, a xylographic one?"
    searched = parse_query(Archive("wiki", [path]), question, counts=None)
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)

    assert parse_query(WithoutSearches("wiki", [path]), question, counts=None).terms == searched.terms
    assert [term.word for term in searched.terms if not term.frequency] == ["xylographic"]


def test_only_whole_words_of_the_query_are_corrected(isles: Archive) -> None:
    parsed = parse_query(isles, "Harbour of Alderwik, Alderwiker")

    assert parsed.text.startswith("Harbour of alderwick, ")
    assert "alderwicker" not in parsed.text


def test_misspelled_words_are_corrected(isles: Archive) -> None:
    parsed = parse_query(isles, "Photosinthesis in Alderwik")

    assert parsed.corrected == {"photosinthesis": "photosynthesis", "alderwik": "alderwick"}
    assert parsed.text == "photosynthesis in alderwick"


def test_unknown_word_weighs_most(isles: Archive) -> None:
    parsed = parse_query(isles, "xylophone harbour")

    assert parsed.unknown_words == ["xylophone"]
    assert parsed.terms[0].weight > parsed.terms[1].weight


@pytest.mark.parametrize(
    ("word", "stem", "search_prefix"),
    [("running", "run", "run"), ("happy", "happi", "happ"), ("الدولة", "دول", "دول"), ("软件", "软件", "软件")],
)
def test_search_prefix_is_in_every_form_of_a_word(word: str, stem: str, search_prefix: str) -> None:
    assert Term(word, stem, 1, 1.0).search_prefix == search_prefix


@pytest.mark.parametrize(
    ("codes", "query", "code", "words"),
    [
        ("eng", "Who founded the city of Ravenport?", "en", ["founded", "city", "ravenport"]),
        ("eng", "C++ at AT&T, O'Brien in the U.S. 1979", "en", ["c++", "at&t", "o'brien", "u.s.", "1979"]),
        ("eng", "AC/DC .NET c#", "en", ["ac", "dc", "net", "c#"]),
        ("deu", "Wo liegt Zürich?", "de", ["liegt", "zurich"]),
        ("fra", "Qui a écrit Les Misérables ?", "fr", ["ecrit", "miserables"]),
        ("spa", "¿Cuál es la capital de Perú?", "es", ["capital", "peru"]),
        ("rus", "Кто написал «Войну и мир»?", "ru", ["написал", "воину", "мир"]),
        ("ara", "من هو مؤسس الدولة؟", "ar", ["موسس", "الدولة"]),
        ("hin", "भारत की राजधानी क्या है", "hi", ["भरत", "रजधन"]),
        ("zho", "中国的首都是什么？", "zh", ["中国", "首都"]),
        ("jpn", "パッケージとは何ですか", "ja", ["ハッ", "ッケ", "ケー", "ーシ"]),
        ("kor", "서울은 어디에 있습니까", "ko", ["서울", "울은"]),
        ("tha", "เมืองหลวงของไทยคืออะไร", "th", ["เมื", "มือ", "ือง", "องห", "งหล", "หลว", "ลวง", "ไทย"]),
        ("eng", "ไม้สักคืออะไร", "th", ["ไม้", "ม้ส", "้สั", "สัก"]),
        (
            "tha",
            "กบกับคอมพิวเตอร์",
            "th",
            ["กบก", "บกั", "กับ", "ับค", "บคอ", "คอม", "อมพ", "มพิ", "พิว", "ิวเ", "วเต", "เตอ", "ตอร", "อร์"],
        ),
        ("lao", "ນ້ຳຂອງຢູ່ໃສ", "lo", ["ນ້ຳ", "້ຳຂ", "ຳຂອ", "ຂອງ"]),
        ("khm", "តើកម្ពុជានៅឯណា", "km", ["កម្", "ម្ព", "្ពុ", "ពុជ", "ុជា"]),
        ("mya", "ထိုင်းဘယ်မှာ", "my", ["ထို", "ိုင", "ုင်", "င်း"]),
        ("vie", "Con cua là gì?", "vi", ["con", "cua"]),
        ("vie", "Ai là vua của nước Anh?", "vi", ["vua", "nuoc", "anh"]),
        ("vie", "Thu do cua Viet Nam la gi", "vi", ["thu", "viet", "nam"]),
        ("tur", "Su kaç derecede kaynar?", "tr", ["su", "derecede", "kaynar"]),
        ("ara,jpn,rus,zho", "ядро", "ru", ["ядро"]),
        ("eng", "что такое ядро", "ru", ["ядро"]),
        ("", "the who", "en", ["the", "who"]),
    ],
)
def test_query_is_reduced_to_its_content_words(codes: str, query: str, code: str, words: list[str]) -> None:
    language = detect_language(codes, query)

    assert language.code == code
    assert [word.text for word in language.content_words(query)] == words


def test_forms_of_a_word_count_once() -> None:
    english = detect_language("eng", "")

    assert english.content_words("running runs runner's") == [Word("running", "run"), Word("runner", "runner")]


def test_stop_word_lists_cover_common_languages() -> None:
    codes = {file.name.removesuffix(".txt") for file in FILES}

    assert codes >= set("en zh hi es fr ar bn pt ru ur id de ja vi tr it fa pl nl uk ko th".split())
    assert all(file.read_text("utf-8").splitlines()[0].endswith("GPL-3.0-or-later.") for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_stop_words_are_listed_once(file: resources.abc.Traversable) -> None:
    words = " ".join(file.read_text("utf-8").splitlines()[1:]).split()

    assert len(words) == len(set(words)) >= 30
    assert not any(re.search(r"[\d,;\"]", word) for word in words)


def test_every_stop_word_list_belongs_to_a_known_language() -> None:
    codes = {file.name.removesuffix(".txt") for file in FILES}

    assert {two_letter_code(three_letter_code(code)) for code in codes} == codes
    assert all(len(three_letter_code(code)) == 3 for code in codes | set(languages._STEMMER_NAMES))


def test_other_form_is_searched_for_without_a_correction(zims: Path) -> None:
    archive = Archive("nonlatin", [str(zims / "built/nonlatin_pub.zim")])

    parsed = parse_query(archive, "принтер")

    assert (parsed.text, parsed.corrected) == ("принтер", {})
    assert [term.word for term in parsed.terms] == ["принтера"]


def test_possessive_is_not_part_of_a_word() -> None:
    words = language_by_code("en").content_words("Ravenport's harbour")

    assert [word.text for word in words] == ["ravenport", "harbour"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [("wher", True), ("teh", True), ("wich", True), ("xy", False), ("harbour", False)],
)
def test_misspelled_stop_word_is_recognized(word: str, *, expected: bool) -> None:
    assert language_by_code("en").is_misspelled_stop_word(word) is expected


def test_misspelled_stop_words_are_not_searched_for(isles: Archive) -> None:
    query = parse_query(isles, "wher is teh harbour that isnt old")

    assert [term.word for term in query.terms] == ["harbour", "old"]
    assert query.corrected == {}


def test_common_words_that_no_archive_has_are_not_searched_for(isles: Archive) -> None:
    query = parse_query(isles, "what happens to xylophones in the harbour")

    assert [term.word for term in query.terms] == ["xylophones", "harbour"]


def test_words_that_ask_for_a_kind_of_answer_weigh_less(isles: Archive) -> None:
    plain = parse_query(isles, "deep harbour").weights
    asking = parse_query(isles, Question("how deep is the harbour", type_words=["how", "deep"])).weights

    assert asking["deep"] < 0.5 * plain["deep"]
    assert asking["harbour"] == plain["harbour"]
