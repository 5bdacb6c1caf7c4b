"""Calls that read entries: articles, sections, links, files."""

from __future__ import annotations

from typing import Literal

from openzim_mcp.calls import Call, Result, Struct


class EntryResult(Struct, frozen=True):
    """The fields that identify the entry in a result."""

    path: str
    title: str
    archive: str


class EntryCall(Call[Result], frozen=True):
    """A call about the entry at a path; a title, a URI or a URL of the original site is accepted as well."""

    path: str

    @property
    def entry(self) -> str | None:
        """The entry that this call is about."""
        return self.path


class Elsewhere(Struct, frozen=True):
    """An entry about the same subject in another archive or language; two letters, or empty if that is not known."""

    archive: str
    path: str
    title: str
    language: str


class LocatedEntry(Struct, frozen=True):
    """The entry that a reference means."""

    path: str
    title: str
    size: int = 0
    mime_type: str = ""


class LocateEntry(EntryCall[LocatedEntry | None], frozen=True):
    """Find the entry that a reference means, if this archive has it."""

    function = "reading.resolve:locate_entry"


class FindOriginalUrls(Call[list[str]], frozen=True):
    """Find the URLs of entries on the site that the archive was made from; empty where that is not known."""

    function = "reading.sites:find_original_urls"
    paths: list[str]


class Article(Struct, frozen=True):
    """A page of an article as Markdown, where the next page starts, and the entry that was read."""

    markdown: str
    next_offset: int | None
    path: str
    title: str


class ReadArticle(EntryCall[Article], frozen=True):
    """Read a page of an article; `requested` is the path as the caller wrote it."""

    function = "reading.article:read_article"
    requested: str
    offset: int
    max_chars: int
    max_tokens: int | None = None
    compact: bool = False


class Summary(EntryResult, frozen=True):
    """The lead of an article, its key facts, and the meanings that a disambiguation page lists."""

    summary: str
    description: str | None = None
    facts: dict[str, str] | None = None
    meanings: list[str] | None = None
    truncated: bool = False
    coordinates: list[float] | None = None
    """Latitude and longitude of the subject, in degrees."""
    elsewhere: list[Elsewhere] | None = None


class ReadSummary(EntryCall[Summary], frozen=True):
    """Read the lead of an article."""

    function = "reading.article:read_summary"


class TocEntry(Struct, frozen=True):
    """A section in a table of contents."""

    id: str
    title: str
    level: int
    children: list[TocEntry]


class TableOfContents(EntryResult, frozen=True):
    """The sections of an article as a tree; `total_headings` is set if some did not fit."""

    toc: list[TocEntry]
    total_headings: int | None = None
    next_offset: int | None = None
    """How many headings precede those that did not fit."""
    elsewhere: list[Elsewhere] | None = None


class ReadTableOfContents(EntryCall[TableOfContents], frozen=True):
    """Read the sections of an article as a tree."""

    function = "reading.article:read_table_of_contents"
    offset: int = 0
    limit: int | None = None


class Heading(Struct, frozen=True):
    """A section in an outline, and the length of its own text."""

    id: str
    title: str
    level: int
    characters: int


class Structure(EntryResult, frozen=True):
    """The sections of an article as a list; `total_headings` is set if some did not fit."""

    lead_characters: int
    headings: list[Heading]
    total_headings: int | None = None
    next_offset: int | None = None
    """How many headings precede those that did not fit."""
    elsewhere: list[Elsewhere] | None = None


class ReadStructure(EntryCall[Structure], frozen=True):
    """Read the sections of an article as a list."""

    function = "reading.article:read_structure"
    offset: int = 0
    limit: int | None = None


class SectionName(Struct, frozen=True):
    """The id and title of a section."""

    id: str
    title: str


class SectionHead(SectionName, frozen=True):
    """The section that was read."""

    level: int


class Section(EntryResult, frozen=True):
    """One section with its subsections, from an offset to `next_offset`, and its neighbours."""

    section: SectionHead
    content: str
    truncated: bool
    characters: int
    previous: SectionName | None
    next: SectionName | None
    parent: SectionName | None
    children: list[SectionName]
    next_offset: int | None = None


class ReadSection(EntryCall[Section], frozen=True):
    """Read one section, one definition such as a function in a manual, or what stands at an anchor."""

    function = "reading.section:read_section"
    name: str
    max_chars: int
    offset: int = 0
    compact: bool = True


class EntryText(Struct, frozen=True):
    """The start of the text of one entry, or of the part that a fragment names; `note` says which part that is."""

    title: str
    actual_path: str
    mime_type: str
    content: str
    characters: int
    note: str | None = None
    lead: str | None = None
    """What the article is about, without what stands before and beside it."""
    place: str | None = None
    """How far a long document was read, such as `page 3 of 300`: `characters` are not all then."""


class ReadText(EntryCall[EntryText], frozen=True):
    """Read the text of an entry of any kind."""

    function = "reading.article:read_text"
    max_chars: int
    with_lead: bool = False
    offset: int = 0


class TextMatch(Struct, frozen=True):
    """A line that holds the words, or the part of it around them, and where to read on from there.

    `section` is the heading above it, and the page or time in a document that has such; empty for the lead.
    """

    section: str
    text: str
    content_offset: int

    @property
    def line(self) -> str:
        """The text after its section, as a line of a list."""
        return f"- {f'{self.section}: ' if self.section else ''}{self.text.removeprefix('- ')}"


class TextMatches(EntryResult, frozen=True):
    """Some of the lines of an entry that hold all words; `total` is how many lines do."""

    find: str
    matches: list[TextMatch]
    total: int
    next_offset: int | None = None
    """How many matches precede those that did not fit."""
    note: str | None = None
    """How much was searched, if it is not all that was asked for."""


class FindText(EntryCall[TextMatches], frozen=True):
    """Find the lines of an entry that hold all words: first those with the words as written, then other forms.

    The offsets of matches are those of the text that is read with the same `compact`.
    """

    function = "reading.matches:find_text"
    find: str
    offset: int
    limit: int
    max_chars: int
    compact: bool = False


class BinaryEntry(Struct, frozen=True):
    """The bytes of an entry, in base64."""

    path: str
    title: str
    mime_type: str
    size: int
    encoding: Literal["base64"]
    data: str


class ReadBinary(EntryCall[BinaryEntry], frozen=True):
    """Read the bytes of an entry."""

    function = "reading.entry:read_binary"


class EntryBytes(Struct, frozen=True):
    """Bytes of an entry from `start` on; `stop` is where the range ends that was asked for."""

    path: str
    mime_type: str
    size: int
    start: int
    stop: int
    data: bytes


class ReadBytes(EntryCall[EntryBytes], frozen=True):
    """Read a range of the bytes at a path, at most `max_bytes` of it; a negative `start` counts from the end."""

    function = "reading.entry:read_bytes"
    max_bytes: int
    start: int = 0
    stop: int | None = None


class RawEntry(Struct, frozen=True):
    """An entry in its own type: `text`, or `blob` in base64."""

    path: str
    title: str
    mime_type: str
    size: int
    text: str | None = None
    blob: str | None = None


class ReadRawEntry(Call[RawEntry], frozen=True):
    """Read the entry at the first of some paths that exists, in its own type."""

    function = "reading.entry:read_raw_entry"
    paths: list[str]

    @property
    def entry(self) -> str | None:
        """The entry that this call is about."""
        return self.paths[0]


class ClosestTitle(Struct, frozen=True):
    """The path of the entry with the closest title, if it is close enough, and the closest ones."""

    path: str | None
    did_you_mean: list[LocatedEntry]


class FindClosestTitle(Call[ClosestTitle], frozen=True):
    """Find the entry whose title comes closest to a path or title that no entry has."""

    function = "search.titles:find_closest_title"
    uses_index = True
    cached = True
    requested: str


class PickRandomPath(Call[str], frozen=True):
    """Pick the path of a random article."""

    function = "reading.article:pick_random_path"


class PreviewMainPage(Call[str | None], frozen=True):
    """Read the start of the main page, if there is one."""

    function = "reading.article:preview_main_page"
    cached = True
    max_chars: int


class LinkRow(Struct, frozen=True, kw_only=True):
    """A link: `path` inside the archive or `url` outside; `missing` if the archive does not have its target."""

    kind: str
    path: str | None = None
    url: str | None = None
    title: str | None = None
    text: str
    section: str
    missing: bool = False


class OutboundLinks(EntryResult, frozen=True):
    """Some links of an article, and how many of each kind it has."""

    links: list[LinkRow]
    internal_count: int
    external_count: int
    media_count: int
    total: int
    left_out: int = 0
    """Of a list for reading: links to pictures, repeats and links to nothing in the archive."""


class ReadLinks(EntryCall[OutboundLinks], frozen=True):
    """Read the links of an article; `for_reading` each target once, those of the text first, and no pictures."""

    function = "reading.links:read_links"
    offset: int
    limit: int
    for_reading: bool = False


class RelatedArticle(Struct, frozen=True):
    """A related article, and how often the given one links to it."""

    path: str
    title: str
    mentions: int


class RelatedArticles(EntryResult, frozen=True):
    """Some of the articles related to one."""

    related: list[RelatedArticle]
    total: int


class FindRelated(EntryCall[RelatedArticles], frozen=True):
    """Find the articles related to one."""

    function = "reading.links:find_related"
    offset: int
    limit: int


class FindSimilar(EntryCall[RelatedArticles], frozen=True):
    """Find the articles that have the same words as one."""

    function = "search.similar:find_similar"
    uses_index = True
    cached = True
    offset: int
    limit: int
    scan_seconds: float


class LeadImage(EntryResult, frozen=True):
    """The path of the lead image of an article, if it has one."""

    image_path: str | None


class FindLeadImage(EntryCall[LeadImage], frozen=True):
    """Find the lead image of an article."""

    function = "reading.links:find_lead_image"
