from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from openzim_mcp import text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\u2028more", "two lines and more"),
        ("a\x1b[31mred\x07", "a[31mred"),
        ("right\u202eleft", "rightleft"),
        ("tag\U000e0041s", "tags"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("日本語 Zürich 😀", "日本語 Zürich 😀"),
        ("1914\xad18", "1914-18"),
        ("1\u200b5 and 2\u20643 and a\u200b5", "1 5 and 2 3 and a5"),
    ],
)
def test_safe_line_has_no_invisible_characters(raw: str, safe: str) -> None:
    assert text.safe_line(raw) == safe


def test_safe_line_marks_where_it_was_cut() -> None:
    assert text.safe_line("x" * 100, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("marked", "mark", "plain"),
    [("**a** b**c", "**", "a bc"), ("1**2**3", "**", "1 2 3"), ("1****2", "**", "1 2"), ("plain", "`", "plain")],
)
def test_removed_marks_join_no_digits(marked: str, mark: str, plain: str) -> None:
    assert text.remove_mark(marked, mark) == plain


def test_control_characters_are_replaced_but_not_layout() -> None:
    assert text.replace_control("a\x1b[31m\tb\nc\u202ed\x85") == "a[31m\tb\ncd"
    assert text.replace_control("a\x00b", " ") == "a b"


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        ("# not a heading", "\\# not a heading"),
        ("#hashtag", "#hashtag"),
        ("[content_offset=5", "\\[content_offset=5"),
        ("Source: elsewhere", "\\Source: elsewhere"),
        ("first\n> second\nthird", "first\n\\> second\nthird"),
    ],
)
def test_markdown_structure_is_escaped(line: str, escaped: str) -> None:
    assert text.escape_markdown(line) == escaped


def test_normalized_text_is_like_the_index() -> None:
    assert text.normalize("Zürich ÅNGSTRÖM Й が 서울 भारत") == "zurich angstrom и か 서울 भरत"


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("I.Q.", "iq"),
        ("AC/DC", "ac dc"),
        ("C", "c"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("Zürich (city)", "zurich city"),
        ("O'Brien", "obrien"),
        ("日本語", "日本 本語"),
        (" ?! ", "?!"),
    ],
)
def test_title_key_ignores_case_accents_and_punctuation(title: str, key: str) -> None:
    assert text.title_key(title) == key


def test_title_words_keep_unspaced_runs_whole() -> None:
    assert text.title_words("The I.Q. of 日本語") == ["the", "iq", "of", "日本語"]


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("debian 软件包 和", ["debian", "软件", "件包", "和"]),
        ("debian ไม้สัก กบ", ["debian", "ไม้", "ม้ส", "้สั", "สัก", "กบ"]),
    ],
)
def test_unspaced_scripts_are_tokenized_in_groups(line: str, tokens: list[str]) -> None:
    assert text.tokenize(line) == tokens


@pytest.mark.parametrize("line", ["ไม้สัก", "ແມ່ນ້ຳ", "ភាសា", "မြစ်"])
def test_vowel_signs_of_unsegmented_scripts_stay(line: str) -> None:
    assert text.normalize(line) == line
    assert text.is_unsegmented_script(f"debian {line}")


@pytest.mark.parametrize("line", ["debian", "Zürich", "软件包", "서울", "भारत"])
def test_other_scripts_are_segmented(line: str) -> None:
    assert not text.is_unsegmented_script(line)


def test_word_spans_are_slices_of_the_text() -> None:
    line = "AT&T's C++ 软件包, U.S."

    assert [line[start:end] for start, end in text.word_spans(line)] == ["AT&T's", "C++", "软件包", "U.S."]


@pytest.mark.parametrize(
    ("line", "position", "expected"),
    [
        ("the running dog", 6, (4, 11, "running")),
        ("o'brien's dog", 3, (0, 9, "o'brien's")),
        ("dog", 0, (0, 3, "dog")),
        ("in the u.s. army", 7, (7, 11, "u.s.")),
        ("end.of sentence", 4, (4, 6, "of")),
    ],
)
def test_word_at_a_position_is_found(line: str, position: int, expected: tuple[int, int, str]) -> None:
    assert text.word_at(line, position) == expected


@pytest.mark.parametrize(
    "sentences",
    [
        ["One is here. ", "Two is there! ", "Three? ", "Four"],
        ["J. K. Rowling of St. Ives wrote books. ", "On the 3. May"],
        ["He said “stop.” ", "Then he left. ", "End"],
        ["about 5 ft. tall in all. ", "End"],
        ["これは文です。", "次の文！", "「はい。」", "終わり"],
        ["यह वाक्य है। ", "दूसरा"],
        ["line\n", "another line\n\n", "- item"],
    ],
)
def test_sentence_ends_split_a_text(sentences: list[str]) -> None:
    joined = "".join(sentences)
    ends = [0, *text.sentence_ends(joined), len(joined)]

    assert [joined[start:end] for start, end in itertools.pairwise(ends)] == sentences


def random_texts(pieces: Sequence[str]) -> Iterator[str]:
    generator = random.Random(0)
    for _ in range(3000):
        yield "".join(generator.choices(pieces, k=generator.randrange(1, 14)))


PIECES = [*" \n\t\r.!?:,;'\")]([&+#-_aAbZ19", "U.S. ", "St. ", "J. K. ", "3. ", "C++", "AT&T", "O'Brien", "e.g. ", "  "]


def test_words_of_ascii_are_those_of_any_text() -> None:
    for ascii_text in random_texts(PIECES):
        assert text.find_words(ascii_text) == text.find_words(f"{ascii_text} é")[:-1], ascii_text


def test_sentence_ends_after_blanks_are_those_of_any_script() -> None:
    for spaced in random_texts([*PIECES, *"…”»’é\u00a0"]):
        assert list(text.sentence_ends(spaced)) == list(text.sentence_ends(f"{spaced}ก")), spaced


def test_sentence_ends_can_be_limited_to_a_part() -> None:
    assert list(text.sentence_ends("Aaa. Bbb. Ccc. Ddd.", 5, 10)) == [10]


@pytest.mark.parametrize(
    ("joined", "start"),
    [
        ("One two.\nThree. Four five", "One two.\n"),
        ("One two! Three of St. Ives", "One two! "),
        ("文です。次の文", "文です。"),
        ("one two three", "one two "),
        ("unbroken", "unbroke"),
    ],
)
def test_best_cut_is_after_a_line_sentence_or_word(joined: str, start: str) -> None:
    assert joined[: text.best_cut(joined, 1, len(joined) - 1)] == start


@pytest.mark.parametrize(
    ("name", "close"),
    [("serach", ["search"]), ("lits", ["list"]), ("xyzzy", [])],
)
def test_closest_names_are_found(name: str, close: list[str]) -> None:
    assert text.closest(name, ["list", "search", "verify"]) == close


def test_closest_returns_at_most_the_limit() -> None:
    assert text.closest("abcd", ["abce", "abcf", "abcd"], limit=2) == ["abcd", "abcf"]


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abcd", 1), ("abc", "xbz", 2), ("abc", "xyz", 3), ("a", "abcde", 3)],
)
def test_edit_distance_stops_at_the_limit(first: str, second: str, edits: int) -> None:
    assert text.edit_distance(first, second, 2) == edits


@pytest.mark.parametrize(
    ("size", "formatted"),
    [(0, "0 B"), (999, "999 B"), (27_345_524, "27.3 MB"), (118_000_000_000, "118 GB"), (2e12, "2.0 TB")],
)
def test_sizes_are_in_powers_of_1000(size: float, formatted: str) -> None:
    assert text.format_size(size) == formatted


@pytest.mark.parametrize(
    ("section", "locator", "place"),
    [
        ("", "", ""),
        ("History", "", "History"),
        ("", "p. 12", "p. 12"),
        ("Storing water", "p. 12", "Storing water, p. 12"),
        ("p. 12", "p. 12", "p. 12"),
        ("00:00", "00:48", "00:48"),
        ("The ember", "1:03:15", "The ember, 1:03:15"),
    ],
)
def test_place_names_section_and_page_or_time(section: str, locator: str, place: str) -> None:
    assert text.place_in_page(section, locator) == place


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("These are needed:\n", True),
        ("`textwrap.dedent(text)`\n", True),
        ("**Note**\n", True),
        ("`dedent` removes whitespace.\n", False),
        ("`dedent` and `indent`\n", False),
        ("It is over.", False),
    ],
)
def test_introduction_ends_with_a_colon_or_is_a_term(line: str, *, expected: bool) -> None:
    assert text.is_introduction(line) is expected
