"""One open archive: the only code that uses libzim."""

from openzim_mcp.worker.zim.archive import Archive, ClosedArchive, OtherTexts
from openzim_mcp.worker.zim.cluster_cache import enlarge_cluster_cache, reduce_cluster_cache
from openzim_mcp.worker.zim.entry import MAX_REDIRECTS, Item, Page, TitleMatch
from openzim_mcp.worker.zim.libzim_errors import out_of_memory

__all__ = [
    "MAX_REDIRECTS",
    "Archive",
    "ClosedArchive",
    "Item",
    "OtherTexts",
    "Page",
    "TitleMatch",
    "enlarge_cluster_cache",
    "out_of_memory",
    "reduce_cluster_cache",
]
