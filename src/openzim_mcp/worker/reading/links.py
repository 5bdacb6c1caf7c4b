"""The links of an article, its lead image, and related articles."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from openzim_mcp.calls.reading import LeadImage, LinkRow, OutboundLinks, RelatedArticle, RelatedArticles
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.reading import article, related
from openzim_mcp.worker.reading.resolve import find_link_target

if TYPE_CHECKING:
    from openzim_mcp.calls.reading import FindLeadImage, FindRelated, ReadLinks
    from openzim_mcp.worker.document import Document, Link
    from openzim_mcp.worker.zim import Archive, Item

# What makes an article related, in mentions: each link counts one, and these are added.
_LEAD_BONUS = 2.0
_LINK_BACK_BONUS = 3.0
_SHARED_LINK_BONUS = 0.2
_MAX_SHARED_LINKS = 10
_ARTICLES_READ = 15
_MAX_READ_BYTES = 300_000
_MAX_RESOLVED_LINKS = 1000
_MIN_IMAGE_BYTES = 2000
_REFERENCE_TITLE = re.compile(
    r"see also|external links|further reading|siehe auch|weblinks|voir aussi|liens externes|véase también|"
    r"enlaces externos|ver também|ligações externas|vedi anche|voci correlate|collegamenti esterni|zie ook|"
    r"externe links?|см\. также|ссылки|関連項目|外部リンク|参见|外部链接",
    re.IGNORECASE,
)


def read_links(archive: Archive, call: ReadLinks) -> OutboundLinks:
    """Return the links of an article, once per section, with their targets in this archive."""
    item, document = article.load_page(archive, call.path)
    unique = {
        (link.kind, link.target, link.section): link for link in reversed(document.links) if link.kind != "anchor"
    }
    links = list(reversed(unique.values()))
    counts = Counter(link.kind for link in links)
    page = slice(call.offset, call.offset + call.limit)
    all_rows = _rows_for_reading(archive, item, document, links) if call.for_reading else []
    return OutboundLinks(
        item.path,
        item.title,
        archive.file_name,
        links=all_rows[page] if call.for_reading else [_link_row(archive, document, link) for link in links[page]],
        internal_count=counts["internal"],
        external_count=counts["external"],
        media_count=counts["media"],
        total=len(all_rows) if call.for_reading else len(links),
        left_out=len(links) - len(all_rows) if call.for_reading else 0,
    )


def _rows_for_reading(archive: Archive, item: Item, document: Document, links: list[Link]) -> list[LinkRow]:
    """Return each target once: articles linked in the text, other sites, then the same of lists of references."""
    rows: dict[str, tuple[tuple[bool, bool], LinkRow]] = {}
    for link in [link for link in links if link.kind != "media" and link.text][:_MAX_RESOLVED_LINKS]:
        row = _link_row(archive, document, link)
        target = row.path or row.url or ""
        rank = (_is_reference(document, link), row.kind == "external")
        if not row.missing and target != item.path and (target not in rows or rank < rows[target][0]):
            rows[target] = (rank, row)
    return [row for _, row in sorted(rows.values(), key=lambda ranked: ranked[0])]


def _is_reference(document: Document, link: Link) -> bool:
    section = document.sections[link.section]
    return section.kind == "references" or bool(_REFERENCE_TITLE.fullmatch(section.title))


def _link_row(archive: Archive, document: Document, link: Link) -> LinkRow:
    section = document.sections[link.section].title
    if link.kind == "external":
        return LinkRow(kind="external", url=link.target, text=link.text, section=section)
    target = find_link_target(archive, link.target)
    if target is None:
        return LinkRow(kind=link.kind, path=link.target, text=link.text, section=section, missing=True)
    return LinkRow(kind=link.kind, path=target.path, title=target.title, text=link.text, section=section)


def find_lead_image(archive: Archive, call: FindLeadImage) -> LeadImage:
    """Return the first image of an article that is larger than an icon; a file that is not a page is its own image."""
    item, document = article.load_page(archive, call.path)
    if not is_page(item.mime_type):
        return LeadImage(item.path, item.title, archive.file_name, item.path)
    targets = (find_link_target(archive, link.target) for link in document.links if link.kind == "media")
    images = (t.path for t in targets if t and t.mime_type.startswith("image/") and t.size >= _MIN_IMAGE_BYTES)
    return LeadImage(item.path, item.title, archive.file_name, next(images, None))


def find_related(archive: Archive, call: FindRelated) -> RelatedArticles:
    """Return the articles related to one by the index of links; before that is made, by the links of a few pages."""
    item, document = article.load_page(archive, call.path)
    articles, scores, mentions = _linked_articles(archive, item, document)
    lead = [path for path in articles if scores[path] > mentions[path]]
    ranked = related.rank_by_links(archive, item.path, mentions, lead)
    if ranked is None:
        ranked = _rank_by_pages(archive, item, articles, scores)
    shown = archive.find_entries(ranked[call.offset : call.offset + call.limit])
    rows = [RelatedArticle(row.path, row.title, mentions[row.path]) for row in shown]
    return RelatedArticles(item.path, item.title, archive.file_name, rows, len(ranked))


def _rank_by_pages(archive: Archive, item: Item, articles: dict[str, Item], scores: dict[str, float]) -> list[str]:
    """Return the articles that one links to: often, early, or both ways, or linking to the same articles first."""
    linked_paths = set(articles)
    for path in sorted(articles, key=lambda p: -scores[p])[:_ARTICLES_READ]:
        scores[path] += _relatedness(archive, articles[path], item.path, linked_paths)
    return sorted(articles, key=lambda p: (-scores[p], p))


def _linked_articles(
    archive: Archive, item: Item, document: Document
) -> tuple[dict[str, Item], dict[str, float], Counter[str]]:
    """Return the articles that are linked, the score of each, and how often each is mentioned."""
    articles: dict[str, Item] = {}
    scores: dict[str, float] = {}
    mentions: Counter[str] = Counter()
    resolved: dict[str, Item | None] = {}
    for link in document.links:
        if link.kind != "internal" or len(resolved) > _MAX_RESOLVED_LINKS:
            continue
        if link.target not in resolved:
            resolved[link.target] = find_link_target(archive, link.target)
        target = resolved[link.target]
        if target is None or target.path == item.path or not is_page(target.mime_type):
            continue
        is_first = target.path not in articles
        articles[target.path] = target
        mentions[target.path] += 1
        scores[target.path] = scores.get(target.path, 0.0) + 1 + (_LEAD_BONUS if is_first and not link.section else 0)
    return articles, scores, mentions


def _relatedness(archive: Archive, target: Item, path: str, linked_paths: set[str]) -> float:
    """Return the bonus of an article for what is on its own page: a link back, and links to the same articles."""
    if target.size > _MAX_READ_BYTES:
        return 0.0
    targets = {link.target for link in article.document(archive, target).links if link.kind == "internal"}
    shared = min(len(targets & linked_paths), _MAX_SHARED_LINKS)
    return (_LINK_BACK_BONUS if path in targets else 0.0) + _SHARED_LINK_BONUS * shared
