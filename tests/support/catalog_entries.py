from __future__ import annotations

from openzim_mcp.catalog.catalog import Entry


def entry(name: str, flavour: str = "", date: str = "2026-01", **more: object) -> Entry:
    file = "_".join(filter(None, (name, flavour, date)))
    known: dict[str, object] = {
        "id": file,
        "title": name.title(),
        "summary": "",
        "languages": ("eng",),
        "category": "wikipedia",
        "size": 10**6,
        "articles": 1,
        "url": f"https://lb.example/{file}.zim.meta4",
    }
    return Entry(name=name, flavour=flavour, date=f"{date}-01", **(known | more))
