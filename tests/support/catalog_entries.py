from __future__ import annotations

from openzim_mcp.catalog.catalog import CatalogEntry


def make_entry(name: str, flavour: str = "", date: str = "2026-01", **fields: object) -> CatalogEntry:
    """Return a catalog entry whose file name consists of name, flavour and date."""
    stem = "_".join(filter(None, (name, flavour, date)))
    defaults: dict[str, object] = {
        "id": stem,
        "title": name.title(),
        "summary": "",
        "languages": ("eng",),
        "category": "wikipedia",
        "size": 10**6,
        "articles": 1,
        "url": f"https://lb.example/{stem}.zim.meta4",
    }
    return CatalogEntry(name=name, flavour=flavour, date=f"{date}-01", **(defaults | fields))
