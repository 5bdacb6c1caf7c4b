"""The articles related to one by the index of links: linked both ways, by the same pages (co-citation), or alike."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from openzim_mcp.worker import link_index
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.html.hrefs import find_hrefs
from openzim_mcp.worker.readers.html.links import LinkResolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openzim_mcp.worker.zim import Archive

# What makes an article related; an article that many pages link to is related to each of them less.
_LINK_WEIGHT = 1.0
_LINK_BACK_WEIGHT = 1.0
_LEAD_WEIGHT = 0.5
_CITED_TOGETHER_WEIGHT = 1.5
_SHARED_LINK_WEIGHT = 0.2
_MAX_SHARED_LINKS = 10
_MAX_COMPARED_ARTICLES = 20
"""How many of the nearest articles are read for the links that they share with the article."""
_MAX_CITING_PAGES = 30
"""How many of the pages that link to an article are read for what else they link to."""
_MAX_CITING_LINKS = 400
"""A page with more links is a list, such as a site map: what it links to has nothing else in common."""
_MAX_PAGE_BYTES = 1 << 20
_MAX_CANDIDATES = 500


def rank_by_links(archive: Archive, path: str, mentions: Mapping[str, int], lead: Iterable[str]) -> list[str] | None:
    """Return the paths of the articles related to one, the nearest first; None as long as its links are not indexed.

    `mentions` are the articles that it links to, `lead` those of them that its lead does.
    """
    number = archive.number_of(path)
    inbound = None if number is None else link_index.read_inbound(archive.identity, archive.entry_count, number)
    degrees = link_index.load_in_degrees(archive.identity, archive.entry_count)
    if inbound is None or inbound.sources is None or not inbound.is_complete or degrees is None:
        return None
    linked = {target: mentioned for mentioned in mentions if (target := archive.number_of(mentioned)) is not None}
    in_lead = set(lead)
    links_of = _read_citing_pages(archive, inbound.sources)
    lists = {source for source, targets in links_of.items() if len(targets) > _MAX_CITING_LINKS}
    sources = set(inbound.sources) - lists
    cited = Counter(target for source in links_of.keys() - lists for target in links_of[source])
    share = len(sources) / max(1, len(links_of) - len(lists))
    scores: dict[int, float] = {}
    for target in {*linked, *cited, *inbound.sources[:_MAX_CANDIDATES]} - lists - {number}:
        score = _LINK_WEIGHT * (target in linked) + _LINK_BACK_WEIGHT * (target in linked and target in sources)
        score += _LEAD_WEIGHT * (linked.get(target) in in_lead)
        by_chance = len(sources) * degrees[target] / max(1, inbound.of)
        together = max(0.0, min(cited[target] * share, degrees[target]) - by_chance)
        nearness = together / math.sqrt(len(sources) * degrees[target]) if together else 0.0
        scores[target] = score / math.log2(2 + degrees[target]) + _CITED_TOGETHER_WEIGHT * nearness
    _add_shared_links(archive, scores, set(linked))
    best = _best(scores, _MAX_CANDIDATES)
    paths = (archive.path_by_id(target) for target in best)
    return [related for related in paths if is_page(archive.mime_type_of(related))]


def _best(scores: Mapping[int, float], count: int) -> list[int]:
    return sorted(scores, key=lambda target: (-scores[target], target))[:count]


def _add_shared_links(archive: Archive, scores: dict[int, float], linked: set[int]) -> None:
    """Add to the scores of the nearest articles for each link that they share with the article."""
    for target in _best(scores, _MAX_COMPARED_ARTICLES):
        shared = len(_read_targets(archive, target) & linked)
        scores[target] += _SHARED_LINK_WEIGHT * min(shared, _MAX_SHARED_LINKS)


def _read_citing_pages(archive: Archive, sources: Sequence[int]) -> dict[int, set[int]]:
    """Return the pages that link to an article, or some of them, with the entries that each links to."""
    step = max(1, len(sources) // _MAX_CITING_PAGES)
    return {source: _read_targets(archive, source) for source in sources[::step][:_MAX_CITING_PAGES]}


def _read_targets(archive: Archive, number: int) -> set[int]:
    """Return the numbers of the entries that a page links to."""
    page = archive.read_page(number, _MAX_PAGE_BYTES)
    if page is None:
        return set()
    base, hrefs = find_hrefs(page.content)
    resolver = LinkResolver(page.path, base)
    links = {link[1] for href in hrefs if (link := resolver.resolve(href)) and link[0] == "internal"}
    return {target for link in links if (target := archive.target_number(link)) is not None}
