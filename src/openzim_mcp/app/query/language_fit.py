"""Answers in the language of a question, where its script tells which texts are in that language.

A question in Japanese about Debian shares only the name with English texts, and only characters with Chinese ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp.languages import two_letter_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.calls.archive import Description
    from openzim_mcp.calls.search import Estimate, Passage

_OTHER_LANGUAGE = 1.0
"""What is subtracted from the scores of passages in another language: more than a name in common adds."""
_MAX_ARCHIVES = 2
_MIN_SHARE = 0.1
"""A text is in a script if at least this share of its letters is."""
_MIN_LATIN_SHARE = 0.5
"""Texts in other scripts have names in Latin letters too."""
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_KANA = "\u3040-\u30ff"
_HAN = "\u3400-\u9fff"
_SCRIPTS = {
    "ja": _KANA,
    "zh": _HAN,
    "ko": "\uac00-\ud7a3",
    "ru": "\u0400-\u04ff",
    "uk": "\u0400-\u04ff",
    "ar": "\u0600-\u06ff",
    "fa": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
}
_REGEXES = {language: re.compile(f"[{letters}]") for language, letters in _SCRIPTS.items()}


def tells_language(language: str) -> bool:
    """Return whether the script of a text tells that it is in a language."""
    return language in _REGEXES


def archives_in_language(
    language: str, estimates: Mapping[str, Estimate], descriptions: Mapping[str, Description]
) -> set[str]:
    """Return the names of the archives in the question's language that have most of its words, if its script tells it.

    They are read even if archives in other languages have a name in the question more often.
    """
    covered = {
        name: max(map(len, estimate.coverage), default=0)
        for name, estimate in estimates.items()
        if estimate.coverage and language in _REGEXES and name in descriptions
        if language in two_letter_codes(descriptions[name].language)
    }
    return set(sorted((name for name in covered if covered[name]), key=lambda name: -covered[name])[:_MAX_ARCHIVES])


def prefer_language(language: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return passages, the best first, with those in another script than the question's after those in the same."""
    matches = [_is_in(language, row) for row in passages] if language else []
    if all(matches) or not any(matches):
        return list(passages)
    scored = [
        row if is_match else msgspec.structs.replace(row, score=round(row.score - _OTHER_LANGUAGE, 3))
        for row, is_match in zip(passages, matches, strict=True)
    ]
    return sorted(scored, key=lambda row: -row.score)


def _is_in(language: str, passage: Passage) -> bool:
    text = f"{passage.title} {passage.section_title} {passage.text}"
    letters = len(_LETTER.findall(text)) or 1
    if language not in _REGEXES:
        return len(_LATIN.findall(text)) / letters >= _MIN_LATIN_SHARE
    if language == "zh" and _REGEXES["ja"].search(text):
        return False
    return len(_REGEXES[language].findall(text)) / letters >= _MIN_SHARE
