"""Which results a caller wants, by namespace and by type of content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp.worker.archive import browse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.zim import Archive


@dataclass(frozen=True)
class Filter:
    """Accepts entries whose path and type begin as asked for."""

    archive: Archive
    prefix: str
    content_type: str

    def __call__(self, path: str, mime_type: str) -> bool:
        """Return whether an entry is wanted."""
        return path.startswith(self.prefix) and mime_type.startswith(self.content_type)

    def all(self, paths: Sequence[str]) -> list[str]:
        """Return the paths that are wanted."""
        chosen = [path for path in paths if path.startswith(self.prefix)]
        return [path for path in chosen if self(path, self.archive.mime_type_of(path))] if self.content_type else chosen


def of(archive: Archive, namespace: str | None, content_type: str | None) -> Filter:
    """Return the filter for what a call asks for; a namespace that is not there is an error."""
    prefix = ""
    if namespace:
        found, _ = browse.find_namespace(archive, namespace)
        letter, _, folder = found.partition("/")
        prefix = f"{folder}/" if folder else ""
        prefix = prefix if archive.has_new_scheme else f"{letter}/{prefix}"
        prefix = prefix if letter in {"A", "C"} or not archive.has_new_scheme else "\0"  # nothing else is indexed
    return Filter(archive, prefix, (content_type or "").strip().lower().removesuffix("*"))
