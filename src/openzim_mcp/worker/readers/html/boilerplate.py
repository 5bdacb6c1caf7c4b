"""Boilerplate: which elements are not part of the article, by tag, class and id."""

from __future__ import annotations

from functools import lru_cache

SKIPPED_TAGS = frozenset(
    "script style head link meta template noscript iframe object embed canvas svg select option datalist input "
    "textarea button nav footer dialog map area param source track progress meter title base colgroup col rp "
    "devdocs-navbar".split()
)
SKIPPED_IDS = frozenset(
    "toc catlinks siteSub contentSub jump-to-nav footer mw-navigation mw-head mw-panel p-lang-btn vector-toc "
    "siteNotice coordinates mw-data-after-content zimfooter".split()
)
_LAYOUT_IDS = frozenset(
    "mw-content-text mw-content bodyContent bodycontent content content-wrapper contents contentwrapper mainContent "
    "main main-content main_content maincontent page page-content wrapper container body article app root pcs "
    "firstHeading globalWrapper column-content documentwrapper bodywrapper".split()
)
_SKIPPED_CLASSES = frozenset(
    # MediaWiki
    "navbox navbox-styles vertical-navbox sidebar persondata editsection mw-editsection mw-editsection-like toc "
    "mw-jump-link noprint metadata sisterproject "
    "ambox mbox-small mw-empty-elt catlinks printfooter mw-indicators mw-collapsible-toggle mw-cite-backlink "
    "authority-control stub sistersitebox portalbox geo-nondefault geo-multi-punct mw-kartographer-map error-message "
    "pcs-edit-section-link-container pcs-collapse-table-collapsed-container pcs-collapse-table-collapsed-bottom "
    "pcs-fold-hr mw-references-columns-toggle zim-footer navbar navbar-mini nv-view nv-talk nv-edit "
    # Sphinx, rustdoc, doxygen, MkDocs
    "headerlink sphinxsidebar related footer linenos lineno src-line-numbers line-numbers srclink source-link "
    "notable-traits tooltip copy-path anchor-icon permalink hash-link viewcode-link search-form test-arrow hideme "
    "out-of-band since rightside collapse-toggle sub-logo-container mobile-topbar dynheader md-sidebar md-footer "
    "md-header breadcrumb breadcrumbs navheader navfooter docnav "
    "d-none hide-when-compact skip-link skiplink headermenu "
    # second copies of formulas
    "MathJax_Preview MathJax MathJax_CHTML MathJax_SVG MJX_Assistive_MathML mjx-chtml katex-html "
    # Stack Exchange
    "js-vote-count vote-count-post reputation votecell post-signature s-topbar post-taglist s-user-card user-info "
    "user-details user-action-time comments-link js-add-link js-show-link post-menu js-post-menu js-share-link "
    "js-follow-post js-suggest-edit-post comment-user comment-date comment-score comment-actions comment-copyright "
    "js-license".split()
)
_SCREEN_READER_CLASSES = frozenset(
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only".split()
)
_REFERENCE_LISTS = frozenset(["reflist", "references", "mw-references-wrap", "references-column-count", "refsection"])
_HATNOTES = frozenset({"hatnote", "dablink", "rellink"})
_FIGURES = frozenset({"thumb", "gallery", "gallerybox", "thumbinner"})
_INFOBOXES = ("infobox", "sinottico", "taxobox", "infotaula")
_SEPARATOR_SIGNS = frozenset("+ - − – ± × x / ⁄ ∕ : . , ~".split())  # noqa: RUF001
_SEPARATOR_WORDS = frozenset("to or and by through plus minus over bis oder und à ou et a o y до или и".split())


class ElementRole:
    """What an element is by its class attribute: bits, as plain numbers because every element is checked."""

    SKIPPED = 1
    FORMULA = 2
    CITATION = 4
    REFERENCES = 8
    DESCRIPTION = 16
    HATNOTE = 32
    FIGURE = 64
    INFOBOX = 128
    SCREEN_READER = 256
    """Only for screen readers; such elements are skipped too."""


def number_separator(hidden_text: str, *, is_in_fraction: bool) -> list[str]:
    """Return what to write for hidden text between two numbers: a sign, a word such as "to", or nothing."""
    text = hidden_text.strip()
    if text == "+" and is_in_fraction:
        # A range of two mixed numbers would be read as a sum.
        return [" "]
    if text in _SEPARATOR_SIGNS:
        return [text]
    return [f" {text} "] if text.lower() in _SEPARATOR_WORDS else []


def is_sign(text: str) -> bool:
    """Return whether a text is one sign, such as a minus."""
    return text.strip() in _SEPARATOR_SIGNS


def is_generated_id(name: str) -> bool:
    """Return whether an id says nothing of the content: of the layout, or MediaWiki's of any element, such as mwAb."""
    return (name.startswith("mw") and len(name) <= 6) or name in _LAYOUT_IDS  # noqa: PLR2004


@lru_cache(maxsize=20_000)
def element_roles(classes: str) -> int:
    """Return the roles of a class attribute; cached, as pages repeat the same few strings."""
    names = frozenset(classes.split())
    roles = 0
    if names & _SKIPPED_CLASSES and "rt-commentedText" not in names:
        roles |= ElementRole.SKIPPED
    if names & _SCREEN_READER_CLASSES:
        roles |= ElementRole.SKIPPED | ElementRole.SCREEN_READER
    if "mwe-math" in classes or "katex" in names:
        roles |= ElementRole.FORMULA
    if names & {"reference", "mw-ref"} and "reference-text" not in names:
        roles |= ElementRole.CITATION
    if names & _REFERENCE_LISTS:
        roles |= ElementRole.REFERENCES
    if "shortdescription" in names:
        roles |= ElementRole.DESCRIPTION
    if names & _HATNOTES:
        roles |= ElementRole.HATNOTE
    if names & _FIGURES:
        roles |= ElementRole.FIGURE
    if any(name in classes for name in _INFOBOXES):
        roles |= ElementRole.INFOBOX
    return roles
