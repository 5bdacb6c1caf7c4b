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
    ("kind", "text", "line"),
    [
        ("paragraph", "one\ntwo", "one; two"),
        ("list", "- one\n  - two\n3. three", "one; two; three"),
        ("code", "```\nx = 1\n```", "`x = 1`"),
    ],
)
def test_block_becomes_a_line(kind: BlockKind, text: str, line: str) -> None:
    assert Block(kind, text, 0).as_line() == line
