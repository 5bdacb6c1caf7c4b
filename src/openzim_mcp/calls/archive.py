"""Calls about an archive as a whole: what it is, what it lists, whether it is intact."""

from __future__ import annotations

from typing import ClassVar, Literal

from openzim_mcp.calls import Call, Job, Struct

ArchiveKind = Literal["wikipedia", "dictionary", "qa", "documentation", "book", "video", "pdf", "map", "site", "other"]
"""What most of the content of an archive is."""


class Description(Struct, frozen=True):
    """The identity and metadata of an archive that opens; `icon` is a small PNG in base64, or empty."""

    title: str
    description: str
    language: str
    date: str
    icon: str
    uuid: str
    articles: int
    main_path: str | None
    has_checksum: bool
    checksum: str | None
    has_fulltext_index: bool
    has_title_index: bool
    is_multipart: bool
    kind: ArchiveKind


class Describe(Call[Description], frozen=True):
    """Open an archive, read its first and last entries, and describe it."""

    function = "archive.health:describe"
    describes_file = True


class Namespace(Struct, frozen=True):
    """A namespace: how many entries it has, what they are, and a few of them, spread evenly."""

    count: int
    description: str
    sample: list[str]


class ArchiveIdentity(Struct, frozen=True):
    """What distinguishes an archive from others."""

    uuid: str
    is_multipart: bool


class IndexCapabilities(Struct, frozen=True):
    """Which indexes an archive has."""

    has_fulltext_index: bool
    has_title_index: bool


class Metadata(Struct, frozen=True, kw_only=True):
    """Metadata, counts, namespaces and indexes of an archive."""

    archive: str
    kind: ArchiveKind
    metadata: dict[str, str]
    counts: dict[str, int]
    main_page: str | None
    namespaces: dict[str, Namespace] | None = None
    archive_identity: ArchiveIdentity
    index_capabilities: IndexCapabilities
    illustrations: list[str]
    counter_breakdown: dict[str, int] | None = None


class ReadMetadata(Call[Metadata], frozen=True):
    """Read the metadata of an archive, with its namespaces if requested."""

    function = "archive.metadata:read_metadata"
    cached = True
    with_namespaces: bool = True


class ListNamespaces(Call[dict[str, Namespace]], frozen=True):
    """List the namespaces of an archive."""

    function = "archive.metadata:list_namespaces"
    cached = True


class EntryRow(Struct, frozen=True):
    """An entry as a listing shows it; one that cannot be read says so in `error`."""

    path: str
    title: str
    mime_type: str | None
    redirect_to: str | None = None
    error: str | None = None


class EntryRows(Struct, frozen=True):
    """Some entries of a namespace or folder, in the order of their paths."""

    namespace: str
    entries: list[EntryRow]
    total: int


class ListEntries(Call[EntryRows], frozen=True):
    """List the entries of a namespace or folder."""

    function = "archive.browse:list_entries"
    namespace: str
    offset: int
    limit: int


class ArticleRows(Struct, frozen=True):
    """Some articles of a namespace or folder; `total` is None if they are too many to count.

    `stop` is the number, within the namespace or folder, of the entry after the last one that was read.
    """

    namespace: str
    entries: list[EntryRow]
    total: int | None
    stop: int
    done: bool


class ListArticles(Call[ArticleRows], frozen=True):
    """List the articles of a namespace or folder, without redirects and files; the content if it is not named.

    `offset` counts articles, from the entry with the number `start` on.
    """

    function = "archive.browse:list_articles"
    limit: int
    namespace: str | None = None
    offset: int = 0
    start: int = 0


class PathCompletions(Struct, frozen=True):
    """Paths that start with a prefix; `total` is None if not all of them were read."""

    paths: list[str]
    total: int | None


class CompletePath(Call[PathCompletions], frozen=True):
    """Complete a path while it is typed."""

    function = "archive.browse:complete_path"
    prefix: str
    limit: int
    pages_only: bool = False


class SampleEntries(Call[int], frozen=True):
    """Read entries from all over the archive, and return how many; a damaged one fails here."""

    function = "archive.health:sample_entries"


class ProbeIndexes(Call[bool], frozen=True):
    """Search the indexes for words from titles all over the archive; a damaged index fails here."""

    function = "archive.health:probe_indexes"
    uses_index = True


class ChecksumResult(Struct, frozen=True):
    """Whether a file has the checksum that it carries; None if it carries none, or cannot be read (`problem`)."""

    valid: bool | None
    problem: str | None = None


class Verify(Job[ChecksumResult], frozen=True):
    """Compare a whole file with the checksum that it carries."""

    function = "jobs.verify:verify"
    fact = "checksum"

    def is_final(self, result: object) -> bool:
        """Return whether there was a checksum to compare with, and all of the file could be read."""
        return isinstance(result, ChecksumResult) and result.valid is not None


class ImportanceResult(Struct, frozen=True):
    """How many entries and redirects were counted; `problem` says why the result could not be kept."""

    entries: int
    redirects: int
    problem: str | None = None


class MeasureImportance(Job[ImportanceResult], frozen=True):
    """Count the redirects that lead to each entry of a large archive, and keep a byte for each in the cache.

    For an archive with fewer than `min_entries` a worker computes them when they are needed, in up to 0.15 seconds.
    """

    function = "jobs.importance:measure_importance"
    fact = "importance"
    queue = "background"
    yields_to_calls = True
    min_entries: ClassVar[int] = 100_000

    def is_final(self, result: object) -> bool:
        """Return whether the bytes could be kept."""
        return isinstance(result, ImportanceResult) and result.problem is None


PassageIndexState = Literal["complete", "too_large"]


class PassageIndexCheck(Struct, frozen=True):
    """What the index of an archive's passages is for, and what is there; `state` is None if none is.

    `is_for_search` if a search needs it, as the archive's own index finds no words; else it is for questions.
    """

    is_for_search: bool
    state: PassageIndexState | None = None


class CheckPassageIndex(Call[PassageIndexCheck], frozen=True):
    """Say what the index of an archive's passages is for, and whether it is there."""

    function = "archive.health:check_passage_index"


class PassageIndexResult(Struct, frozen=True):
    """What building an index came to; `state` is None if another process is building it."""

    state: PassageIndexState | None
    passages: int = 0
    text_bytes: int = 0
    index_bytes: int = 0
    skipped: int = 0
    """How many entries could not be read."""


class BuildPassageIndex(Job[PassageIndexResult], frozen=True):
    """Build the index of an archive's passages in the cache; the file itself is what is kept."""

    function = "jobs.passage_index:build_passage_index"
    fact = "passage_index"
    queue = "background"

    def is_final(self, _result: object) -> bool:
        """Return False: what is on disk decides whether the job has to run again."""
        return False


class PageScanResult(Struct, frozen=True):
    """What scanning the pages of an archive came to: not complete if another process is doing it.

    `skipped` pages were left out, as they end the process that reads them.
    """

    is_complete: bool
    pages: int = 0
    bytes: int = 0
    skipped: int = 0


class ScanPages(Job[PageScanResult], frozen=True):
    """Read every page of an archive once, and index what is found on it; `page_index.py` describes the file."""

    function = "jobs.page_scan:scan_pages"
    fact = "page_scan"
    queue = "page scans"
    yields_to_calls = True
    max_mb: int = 1000
    """Lists of links are kept while they take less."""

    def is_final(self, _result: object) -> bool:
        """Return False: what is on disk decides whether the job has to run again."""
        return False
