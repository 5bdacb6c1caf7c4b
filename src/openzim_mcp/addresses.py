"""The addresses that this server has over HTTP: of the MCP endpoint, the page and the API; made here only.

Each is a path. With the address of the server in front, as `Caller.base_url` has it, it is a URL that a browser opens.
"""

from __future__ import annotations

from urllib.parse import quote, unquote, urlencode, urlsplit

from openzim_mcp.uris import parse_uri, unambiguous_name

MCP = "/mcp"
API = "/api/v1"
OPENAPI = "/openapi.json"
LLMS_TXT = "/llms.txt"
HOME = "/"
ASK = "/ask"
SEARCH = "/search"
ARCHIVES = "/archives"
CONNECT = "/connect"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
STATIC = "/static"
FAVICON = "/favicon.ico"
CONTENT = "/content"
ARCHIVE_ROUTE = "/archives/{name}"
ICON_ROUTE = "/archives/{name}/icon"
RANDOM_ROUTE = "/archives/{name}/random"
READER_ROUTE = "/read/{name}/{path:path}"
RELATED_ROUTE = "/related/{name}/{path:path}"
ORIGINAL_ROUTE = "/original/{name}/{path:path}"
CONTENT_ROUTE = f"{CONTENT}/{{capability}}/{{path:path}}"
STATIC_ROUTE = f"{STATIC}/{{file}}"
RAW_ROUTE = f"{API}/raw/{{name}}/{{path:path}}"
_SAFE_IN_NAME = "!$&'()*+,;=@~"
_SAFE_IN_PATH = "!$&'()*+,;=@~:/"


def parse_reader_url(url: str) -> tuple[str, str, str] | None:
    """Return the archive's name, the entry's path and the fragment in a URL of the reader; None for other URLs."""
    parts = urlsplit(url.strip())
    _, start, place = parts.path.partition("/read/")
    name, slash, path = place.partition("/")
    return (unquote(name), unquote(path), unquote(parts.fragment)) if start and slash and path else None


def is_api(path: str) -> bool:
    """Whether the path of a request belongs to the API."""
    return path == API or path.startswith(f"{API}/")


def ask_address(question: str, archive: str | None = None) -> str:
    """Return the address of the answer to a question."""
    return "/ask?" + urlencode({"q": question} | ({"archive": archive} if archive else {}))


def archive_address(name: str) -> str:
    """Return the address of the page about an archive."""
    return f"/archives/{_quote_name(name)}"


def reader_address(name: str, path: str, section: str = "") -> str:
    """Return the address where an entry, or a section of it, is read."""
    fragment = f"#{quote(section, safe=_SAFE_IN_PATH)}" if section else ""
    return f"/read/{_quote_name(name)}/{_quote_path(path)}{fragment}"


def uri_address(uri: str) -> str:
    """Return the address where the entry or archive of a `zim://` URI is shown."""
    parsed = parse_uri(uri)
    if parsed is None or parsed.name is None:
        return ARCHIVES
    if parsed.path is None:
        return archive_address(parsed.name_candidates[0])
    return reader_address(parsed.name_candidates[0], parsed.path_candidates[0])


def related_address(name: str, path: str) -> str:
    """Return the address of the articles that belong with an entry."""
    return f"/related/{_quote_name(name)}/{_quote_path(path)}"


def original_address(name: str, path: str) -> str:
    """Return the address where an entry is shown as in the archive."""
    return f"/original/{_quote_name(name)}/{_quote_path(path)}"


def content_root(capability: str) -> str:
    """Return where the paths of an archive start for a browser that has a capability for it."""
    return f"{CONTENT}/{capability}/"


def content_address(capability: str, path: str) -> str:
    """Return the address of an entry for a browser that has a capability for its archive."""
    return content_root(capability) + _quote_path(path)


def raw_address(name: str, path: str) -> str:
    """Return the address of the bytes of an entry."""
    return f"{API}/raw/{_quote_name(name)}/{_quote_path(path)}"


def _quote_name(name: str) -> str:
    return quote(unambiguous_name(name), safe=_SAFE_IN_NAME)


def _quote_path(path: str) -> str:
    """Return an entry path for a URL; a client or proxy would change `..` and empty segments if slashes stayed."""
    changes_on_the_way = any(segment in {"", ".", ".."} for segment in path.split("/"))
    return quote(path, safe=_SAFE_IN_PATH.replace("/", "") if changes_on_the_way else _SAFE_IN_PATH, errors="replace")
