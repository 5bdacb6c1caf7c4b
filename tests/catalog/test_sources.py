from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from openzim_mcp.catalog.catalog import Entry
from openzim_mcp.catalog.client import Network
from openzim_mcp.catalog.metalink import Source, resolve
from support.mirror import Mirror, meta4, serving

NAME = "wiki_en_all_nopic_2026-01.zim"
CONTENT = b"z" * 5000


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(Mirror()) as mirror:
        yield mirror


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def entry(url: str) -> Entry:
    return Entry("", "wiki_en_all", "Wiki", "", ("eng",), "", "nopic", "2026-01-01", None, None, url)


@pytest.mark.parametrize("ending", ["", ".meta4"])
def test_the_metalink_gives_size_checksum_and_mirrors_by_priority(
    mirror: Mirror, network: Network, ending: str
) -> None:
    mirror.add(f"/zim/{NAME}.meta4", meta4(NAME, CONTENT, "http://one.example/x", "https://two.example/x"))

    found = resolve(network, entry(f"{mirror.url}/zim/{NAME}{ending}"))

    urls = ("http://one.example/x", "https://two.example/x", f"{mirror.url}/zim/{NAME}")
    assert found == Source(NAME, urls, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def test_without_a_metalink_the_address_itself_is_used(mirror: Mirror, network: Network) -> None:
    url = f"{mirror.url}/a/{NAME}"

    assert resolve(network, entry(f"{url}.meta4")) == Source(NAME, (url,))


@pytest.mark.parametrize("content", [b"", b"<html>Not here</html>", b"<metalink><file name='a.zim'>"])
def test_a_metalink_that_is_none_is_done_without(mirror: Mirror, network: Network, content: bytes) -> None:
    url = f"{mirror.url}/a/{NAME}"
    mirror.add(f"/a/{NAME}.meta4", content)

    assert resolve(network, entry(url)) == Source(NAME, (url,))
