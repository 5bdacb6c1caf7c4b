from __future__ import annotations

import time

import pytest

from openzim_mcp.web import signatures

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def in_an_hour() -> int:
    return int(time.time()) + 3600


def test_signed_text_is_verified_with_its_key() -> None:
    value = signatures.sign(KEY, "content", "wiki é", in_an_hour())

    assert signatures.verify([OTHER_KEY, KEY], "content", value) == ("wiki é", KEY)
    assert signatures.verify([OTHER_KEY], "content", value) is None


def test_signature_is_good_for_one_purpose() -> None:
    value = signatures.sign(KEY, "session", "", in_an_hour())

    assert signatures.verify([KEY], "content", value) is None


def test_signature_expires() -> None:
    value = signatures.sign(KEY, "content", "wiki", int(time.time()) - 1)

    assert signatures.verify([KEY], "content", value) is None


@pytest.mark.parametrize("value", ["", ".", "..", "1.2.3", "9999999999.d2lraQ.x", "\ud800", "é.é.é"])
def test_other_texts_are_refused(value: str) -> None:
    assert signatures.verify([KEY], "content", value) is None


def test_changed_text_is_refused() -> None:
    expires, text, signature = signatures.sign(KEY, "content", "wiki", in_an_hour()).split(".")
    later = f"{int(expires) + 1}.{text}.{signature}"
    other = signatures.sign(OTHER_KEY, "content", "other", int(expires)).split(".")[1]

    assert signatures.verify([KEY], "content", later) is None
    assert signatures.verify([KEY], "content", f"{expires}.{other}.{signature}") is None


def test_own_key_is_kept() -> None:
    signatures.own_key.cache_clear()
    first = signatures.own_key()
    signatures.own_key.cache_clear()

    assert signatures.own_key() == first
    assert len(first) == 32


def test_key_is_that_of_the_client() -> None:
    assert signatures.key_of(f"token-{OTHER_KEY.hex()[:12]}", [KEY, OTHER_KEY]) == OTHER_KEY
    assert signatures.key_of("127.0.0.1", [KEY, OTHER_KEY]) == KEY
