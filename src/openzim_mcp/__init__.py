"""OpenZIM MCP: offline knowledge in ZIM archives for language models.

`from openzim_mcp import Library` is the Python API; it is imported when it is first asked for.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"
__all__ = ["AsyncLibrary", "Library", "__version__"]


def __getattr__(name: str) -> object:
    if name in {"AsyncLibrary", "Library"}:
        return getattr(_import_module("openzim_mcp.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
