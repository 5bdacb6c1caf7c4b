from __future__ import annotations

import pytest

from openzim_mcp.worker.document import Block, BlockKind, Document, Passage


def split_passages(*blocks: Block) -> list[Passage]:
    return Document.without_sections(blocks).passages


def test_short_blocks_of_a_section_are_one_passage() -> None:
    passages = split_passages(
        Block("heading", "## Zürich", 0),
        Block("paragraph", "Zürich is a city.", 0),
        Block("hatnote", "For other uses, see x.", 0),
        Block("paragraph", "It has banks.", 0),
        Block("paragraph", "Elsewhere.", 1),
    )

    assert passages == [
        Passage(0, "Zürich is a city.\nIt has banks.", "zurich is a city.\nit has banks."),
        Passage(1, "Elsewhere.", "elsewhere."),
    ]


def test_long_block_is_split_between_its_lines() -> None:
    passages = split_passages(Block("list", "\n".join(["- " + "x" * 198] * 10), 0))

    assert [passage.text.count("\n") for passage in passages] == [1, 1, 1, 1, 1]


def test_passage_has_the_names_of_its_facts() -> None:
    (passage,) = split_passages(Block("facts", "- Born: 1930\n- Jobs: Singer: jazz", 0))

    assert passage.fact_names == ("Born", "Jobs")


@pytest.mark.parametrize(
    ("line_name", "name"),
    [
        ("Population, 2008 estimate", "Population"),
        ("Population (2000), Total", "Population"),
        ("GDP (PPP) (2007 estimate), Per capita", "GDP (PPP), Per capita"),
        ("2006 Record", "2006 Record"),
    ],
)
def test_names_of_facts_have_no_years(line_name: str, name: str) -> None:
    (passage,) = split_passages(Block("facts", f"- {line_name}: 17", 0))

    assert passage.fact_names == (name,)


def passage_rows(*blocks: Block) -> list[tuple[str, str]]:
    return [(passage.kind, passage.text) for passage in split_passages(*blocks)]


def test_facts_are_passages_of_their_own() -> None:
    facts = Block("facts", "\n".join(f"- Name {n}: {'x' * 90}" for n in range(8)) + "\n- no name", 0)

    passages = split_passages(facts, Block("paragraph", "Text.", 0))

    assert [(p.kind, p.fact_names) for p in passages] == [
        ("facts", ("Name 0", "Name 1", "Name 2", "Name 3")),
        ("facts", ("Name 4", "Name 5", "Name 6", "Name 7")),
        ("prose", ()),
    ]
    assert passages[1].text.endswith("- no name")


def test_parts_of_a_long_box_have_its_title() -> None:
    facts = "\n".join(f"- Name {n}: {'x' * 90}" for n in range(8))

    passages = split_passages(Block("facts", f"- Ravenport\n{facts}", 0))

    assert [passage.text.split("\n")[0] for passage in passages] == ["- Ravenport", "- Ravenport"]
    assert max(len(passage.text) for passage in passages) <= 500


def test_captions_alone_are_a_passage_of_their_kind() -> None:
    assert passage_rows(Block("paragraph", "One text.", 0), Block("figure", "[Image: A]", 0)) == [
        ("prose", "One text.\n[Image: A]")
    ]
    assert passage_rows(Block("figure", "[Image: A dog]", 0)) == [("caption", "[Image: A dog]")]


@pytest.mark.parametrize(
    ("introduction", "follower"),
    [
        (Block("paragraph", "It has three parts:", 0), Block("list", "\n".join(["- " + "part " * 12] * 6), 0)),
        (Block("paragraph", "Call it so:", 0), Block("code", f"```\n{'x = 1; ' * 60}\n```", 0)),
        (Block("paragraph", "**Values:**", 0), Block("table", "| a | b |\n| --- | --- |\n" + "| x | y |\n" * 40, 0)),
        (Block("definition", "`json.dump(obj)`", 0), Block("paragraph", ": " + "Serialize it. " * 30, 0)),
        (Block("paragraph", "Note", 0), Block("paragraph", "Mind the gap. " * 30, 0)),
    ],
)
def test_introduction_stays_with_what_follows(introduction: Block, follower: Block) -> None:
    before = Block("paragraph", "Something else. " * 10, 0)

    assert [passage.text for passage in split_passages(before, introduction, follower)] == [
        before.text,
        f"{introduction.text}\n{follower.text}",
    ]


def test_line_that_introduces_others_is_not_the_last_of_a_passage() -> None:
    lines = ["- " + "x" * 200] * 2 + ["- Head:"] + ["  - " + "y" * 300] * 4

    passages = split_passages(Block("list", "\n".join(lines), 0))

    assert passages[1].text == f"- Head:\n{lines[3]}"


def test_parts_of_a_long_table_have_its_header() -> None:
    header = "**Rivers**\n\n| River | Length |\n| --- | --- |"
    rows = [f"| River {n} {'x' * 60} | {n} |" for n in range(20)]

    passages = split_passages(Block("table", "\n".join([header, *rows]), 0))

    assert len(passages) > 2
    assert all(passage.text.startswith(f"{header}\n| River ") for passage in passages)
    assert {passage.kind for passage in passages} == {"table"}
    assert [row for passage in passages for row in passage.text.split("\n")[4:]] == rows


def test_parts_of_long_code_are_fenced() -> None:
    code = "\n".join(f"line_{n} = {'1' * 40}" for n in range(40))

    passages = split_passages(Block("code", f"```python\n{code}\n```", 0))

    assert len(passages) > 2
    assert all(passage.text.startswith("```python\n") and passage.text.endswith("\n```") for passage in passages)


def test_kind_of_a_passage_is_that_of_most_of_its_text() -> None:
    assert passage_rows(Block("paragraph", "See:", 0), Block("list", "- the first\n- the second", 0)) == [
        ("list", "See:\n- the first\n- the second")
    ]


def test_page_of_headings_is_a_list() -> None:
    assert passage_rows(Block("heading", "## One", 1), Block("heading", "### Two", 2)) == [("list", "- One\n- Two")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("**Heart attack** or **myocardial infarction** is a disease.", ("Heart attack", "myocardial infarction")),
        ("A plain sentence.", ()),
        ("**" + "x" * 100 + "**", ()),
    ],
)
def test_lead_names_are_the_bold_words_of_the_lead(text: str, names: tuple[str, ...]) -> None:
    before = (Block("facts", "- **a**: b", 0), Block("paragraph", "**A line in bold**", 0))
    document = Document.without_sections((*before, Block("paragraph", text, 0)))

    assert document.lead_names == names


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("paragraph", "one\ntwo", "one; two"),
        ("list", "- one\n  - two\n3. three", "one; two; three"),
        ("code", "```\nx = 1\n```", "`x = 1`"),
    ],
)
def test_block_becomes_a_line(kind: BlockKind, text: str, line: str) -> None:
    assert Block(kind, text, 0).as_line() == line


def test_continued_definition_starts_with_its_term() -> None:
    passages = split_passages(
        Block("definition", "`dedent(text)`", 0),
        Block("paragraph", f": Remove common whitespace. {'x' * 400}", 0),
        Block("code", f"```\n{'y' * 300}\n```", 0),
        Block("paragraph", f"A paragraph behind the list. {'z' * 400}", 0),
    )

    assert [passage.text.split("\n")[0] for passage in passages] == [
        "`dedent(text)`",
        "`dedent(text)`",
        f"A paragraph behind the list. {'z' * 400}",
    ]


def test_definition_is_not_split_behind_the_end_of_another() -> None:
    passages = split_passages(
        Block("definition", "`fill(text)`", 0),
        Block("paragraph", f": Fill a paragraph. {'x' * 300}", 0),
        Block("definition", "`dedent(text)`", 0),
        Block("paragraph", ": Remove common whitespace.", 0),
        Block("paragraph", f": Lines are normalized. {'y' * 200}", 0),
    )

    assert [passage.text.split("\n")[:2] for passage in passages] == [
        ["`fill(text)`", f": Fill a paragraph. {'x' * 300}"],
        ["`dedent(text)`", ": Remove common whitespace."],
    ]


def test_continued_definition_of_a_long_signature_has_only_its_name() -> None:
    passages = split_passages(
        Block("definition", f"`wrap({'a, ' * 40})`", 0),
        Block("paragraph", f": Wrap a paragraph. {'x' * 400}", 0),
        Block("paragraph", f": More. {'y' * 400}", 0),
    )

    assert [passage.text.split("\n")[0] for passage in passages][1:] == ["`wrap(…)`"] * (len(passages) - 1)
