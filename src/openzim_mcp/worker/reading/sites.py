"""URLs of the original site: which site an archive holds, and under which names a page of it may be stored.

The site is known from the metadata Source and Name, from the canonical link of a page, or from paths that start with
a host, as warc2zim writes them. Scheme, `www.`, `m.`, a slash or `.html` at the end, and the query do not matter.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit
from weakref import WeakKeyDictionary

from openzim_mcp import errors
from openzim_mcp.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.calls.reading import FindOriginalUrls
    from openzim_mcp.worker.zim import Archive

_HOST = r"(?:[\w-]+\.)+[^\W\d_]{2,}"
_URL_WITHOUT_SCHEME = re.compile(rf"{_HOST}(?=/)", re.IGNORECASE)
_IGNORED_LABELS = {"www", "m"}
_SITES_BY_NAME = (
    (
        re.compile(
            r"(?:kiwix\.)?(wiki(?:pedia|books|quote|source|news|versity|voyage|species)|wiktionary)_([a-z-]+)(?:_|$)"
        ),
        r"\2.\1.org",
    ),
    (re.compile(r"devdocs_[a-z-]+_([\w.~-]+)"), r"devdocs.io/\1"),
    (re.compile(rf"({_HOST})(?:_|$)"), r"\1"),
    (re.compile(r"gutenberg(?:_|$)"), "gutenberg.org"),
)
_SHARED_HOSTS = {"devdocs.io"}
"""Hosts of several sites: the first folder tells which."""
# What may stand before the path of a page on the site, but not in the archive: a wiki's folder, a version, a language.
_LEADING_FOLDER = re.compile(
    r"(?:wiki|docs?|browse|v?\d[\d.]*|latest|stable|current|[a-z]{2}(?:-[a-z]{2})?)/", re.IGNORECASE
)
_MAX_LEADING_FOLDERS = 3
_LINK = re.compile(rb"<link\b[^>]*\brel=[\"']?canonical\b[^>]*>", re.IGNORECASE)
# Where DevDocs says what it shows: its pages have no canonical link.
_ATTRIBUTION = re.compile(rb"<a\b[^>]*\b_attribution-link\b[^>]*>", re.IGNORECASE)
_HREF = re.compile(rb"\bhref=[\"']?(https?://[^\"'\s>]+)", re.IGNORECASE)
# How the sites whose pages name no URL address them.
_PAGE_URLS = (
    (re.compile(r"[\w.-]*\bwik(?:i\w+|tionary)\.org"), "https://{host}/wiki/{stem}"),
    (
        re.compile(r"(?:[\w.-]+\.)?(?:stackexchange|stackoverflow|superuser|serverfault|askubuntu)\.com"),
        "https://{host}/{path}",
    ),
    (re.compile(r"devdocs\.io"), "https://{host}/{folder}/{path}"),
)
_MAX_URL_CHARS = 2000
_MAX_PAGE_BYTES = 4 << 20
_SAFE_IN_URL = "/:?&=+,;@!$'()*~%"
_SAMPLED_PAGES = 3
_MAX_SAMPLED_ENTRIES = 50
_MAX_SCANNED_ENTRIES = 5000
_MAX_SCANNED_BYTES = 100 << 20


class _Site(NamedTuple):
    host: str
    folder: str


_sites_by_metadata: WeakKeyDictionary[Archive, frozenset[_Site]] = WeakKeyDictionary()
_sites_by_pages: WeakKeyDictionary[Archive, frozenset[_Site]] = WeakKeyDictionary()
_original_paths: WeakKeyDictionary[Archive, dict[str, str]] = WeakKeyDictionary()


def may_lack_scheme(text: str) -> bool:
    """Return whether a text may be a URL without its scheme; it may also be a path."""
    return bool(_URL_WITHOUT_SCHEME.match(text.strip()))


def split_url(text: str) -> SplitResult:
    """Return the parts of a URL that may lack its scheme."""
    text = text.strip()
    with contextlib.suppress(ValueError):
        return urlsplit(text if "//" in text.partition("?")[0] else f"https://{text}")
    return urlsplit("")


def site_hosts(archive: Archive) -> list[str]:
    """Return the hosts of the sites that an archive holds, as far as they are known."""
    return sorted({site.host for site in _metadata_sites(archive) | _page_sites(archive)})


def page_names(archive: Archive, url: str) -> Iterator[str]:
    """Yield the paths and titles under which an archive may have the page of a URL; none if it holds another site."""
    parts = split_url(url)
    hosts = _host_spellings(parts.hostname or "")
    for host in hosts:
        if archive.entries_by_prefix(f"{host}/"):
            yield from (f"{host}/{form}" for form in _path_forms(parts.path, parts.query) or [""])
    site = _fitting_site(archive, parts)
    if site is None:
        return
    title = parse_qs(parts.query).get("title")
    if title:
        yield title[0]
    paths = list(_site_paths(parts.path.lstrip("/"), site.folder))
    if "" in paths and archive.main_path:
        yield archive.main_path
    for path in paths:
        yield from _path_forms(path, parts.query)
    original = _paths_by_url(archive).get(_comparable(url))
    if original:
        yield original


def _host_spellings(host: str) -> list[str]:
    bare = _bare_host(host)
    with contextlib.suppress(UnicodeError):
        return list(dict.fromkeys([host, bare, f"www.{bare}", bare.encode().decode("idna")]))
    return [host, bare]


def _bare_host(host: str) -> str:
    return ".".join(label for label in host.lower().split(".") if label not in _IGNORED_LABELS)


def _path_forms(path: str, query: str) -> list[str]:
    """Return the spellings of a path: as it is and decoded, with and without query, extension and slash."""
    forms = []
    for text in (path.lstrip("/"), unquote(path.lstrip("/"))):
        bare = text.rstrip("/")
        stem = bare.removesuffix(".html").removesuffix(".htm")
        forms += [f"{text}?{query}", f"{text}?{unquote(query)}"] if query else []
        forms += [text, bare, f"{bare}/", stem, f"{stem}.html", f"{bare}/index.html"]
        forms += [stem.removesuffix("index")] if stem.endswith("/index") else []
    return [form for form in dict.fromkeys(forms) if form.strip("/")]


def _fitting_site(archive: Archive, url: SplitResult) -> _Site | None:
    host = _bare_host(url.hostname or "")
    for sites in (_metadata_sites, _page_sites):
        for site in sites(archive):
            is_folder = url.path.lstrip("/").startswith(site.folder)
            if site.host == host and (is_folder or host not in _SHARED_HOSTS):
                return site
    return None


def _site_paths(path: str, folder: str) -> Iterator[str]:
    """Yield the path of a page, without the folder of the site, and without folders that archives leave out."""
    path = path.removeprefix(folder).lstrip("/")
    for _ in range(_MAX_LEADING_FOLDERS):
        yield path
        leading = _LEADING_FOLDER.match(path)
        if leading is None:
            return
        path = path[leading.end() :]


def _metadata_sites(archive: Archive) -> frozenset[_Site]:
    if archive not in _sites_by_metadata:
        source = archive.metadata_text("Source").strip()
        urls = [source if "//" in source else f"https://{source}"] if re.search(_HOST, source) else []
        for name in (archive.metadata_text("Name").strip(), archive.name):
            hosts = (match.expand(site) for rule, site in _SITES_BY_NAME if (match := rule.match(name)))
            urls += [f"https://{host}" for host in itertools.islice(hosts, 1)]
        _sites_by_metadata[archive] = frozenset(map(_to_site, urls))
    return _sites_by_metadata[archive]


def _to_site(url: str) -> _Site:
    parts = split_url(url)
    return _Site(_bare_host(parts.hostname or ""), parts.path.strip("/"))


def _page_sites(archive: Archive) -> frozenset[_Site]:
    """Return the sites that the canonical links of a few pages name."""
    if archive not in _sites_by_pages:
        step = max(1, len(archive.content) // _MAX_SAMPLED_ENTRIES)
        numbers = archive.content[::step][:_MAX_SAMPLED_ENTRIES]
        urls = itertools.islice((url for _, url in _original_urls(archive, numbers)), _SAMPLED_PAGES)
        _sites_by_pages[archive] = frozenset(_to_site(url)._replace(folder="") for url in urls)
    return _sites_by_pages[archive]


def _paths_by_url(archive: Archive) -> dict[str, str]:
    """Return the paths of all pages that say which URL they are from, unless there are too many to read."""
    if archive not in _original_paths:
        numbers = archive.content if len(archive.content) <= _MAX_SCANNED_ENTRIES else range(0)
        _original_paths[archive] = {_comparable(url): path for path, url in _original_urls(archive, numbers)}
    return _original_paths[archive]


def _original_urls(archive: Archive, numbers: range) -> Iterator[tuple[str, str]]:
    """Yield the path and the original URL of each page that has one."""
    bytes_left = _MAX_SCANNED_BYTES
    for number in numbers:
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            row = archive.entry_by_id(number)
            if row.redirect_to or row.error or "html" not in (row.mime_type or ""):
                continue
            raw = archive.read_content(row.path)
            bytes_left -= len(raw)
            url = _original_url(raw)
            if url:
                yield row.path, url
        if bytes_left <= 0:
            return


def _original_url(raw: bytes) -> str:
    """Return the URL that a page names as its original, or an empty text."""
    for tag in (_LINK, _ATTRIBUTION):
        match = tag.search(raw)
        href = _HREF.search(match.group()) if match else None
        if href:
            return href[1].decode(errors="replace")
    return ""


def _comparable(url: str) -> str:
    """Return what all ways to write the URL of a page have in common."""
    parts = split_url(url)
    path = unquote(parts.path).strip("/").removesuffix(".html").removesuffix(".htm")
    return f"{_bare_host(parts.hostname or '')}/{path}"


def find_original_urls(archive: Archive, call: FindOriginalUrls) -> list[str]:
    """Return the URL of each entry on its site: as the page names it, by its path, or as the site addresses pages."""
    return [_find_original_url(archive, path) for path in call.paths]


def _find_original_url(archive: Archive, path: str) -> str:
    with contextlib.suppress(errors.OpenZimMcpError):
        item = archive.find_entry(path)
        is_page = item is not None and "html" in item.mime_type and item.size <= _MAX_PAGE_BYTES
        named = _original_url(archive.read_content(path)) if is_page else ""
        if named and len(named) <= _MAX_URL_CHARS and escape_invisible(named) == named:
            return named
    host, _, rest = path.partition("/")
    if rest and re.fullmatch(_HOST, host):
        return f"https://{quote(path, safe=_SAFE_IN_URL)}"
    for site in sorted(_metadata_sites(archive)):
        for pattern, template in _PAGE_URLS:
            if pattern.fullmatch(site.host):
                address = quote(path.removeprefix("A/"), safe=_SAFE_IN_URL.replace("?", ""))
                parts = {"path": address, "stem": address.removesuffix(".html")}
                return template.format(host=site.host, folder=site.folder, **parts)
    return ""
