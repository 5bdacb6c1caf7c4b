"""HTTP client for downloads: timeouts, proxies, safe URLs and file names, readable errors.

Proxies are taken from the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY).
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import re
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Self, TypeVar, cast
from urllib.parse import unquote, urljoin, urlsplit

import httpcore2
import httpx2

from openzim_mcp import __version__, errors
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Value = TypeVar("_Value")
_WATCH_SECONDS = 0.2
# Some mirrors refuse clients without a name.
USER_AGENT = f"openzim-mcp/{__version__} (offline ZIM archives)"
METALINK_SUFFIX = ".meta4"
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_MAX_REDIRECTS = 10
_MAX_URL_CHARS = 2000
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@,()=~-]{0,190}\.zim")
_RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\.", re.IGNORECASE)

# Reading 64 KiB at a time, as the library does, costs several times the work of the transfer itself.
httpcore2.HTTP11Connection.READ_NUM_BYTES = 1 << 19


@dataclass(frozen=True)
class Timeouts:
    """How long a server may take; a mirror below `min_bytes_per_second` for `slow_seconds` is replaced by another."""

    connect_seconds: float = 15
    read_seconds: float = 30
    min_bytes_per_second: float = 20_000
    slow_seconds: float = 20
    retry_seconds: float = 1
    response_seconds: float = 60
    """Until the headers of a response are complete, redirects included."""
    min_document_bytes_per_second: float = 500
    """Of a catalog or a list of mirrors, after `slow_seconds`: a satellite link is slow, too."""
    document_seconds: float = 1800


@dataclass(frozen=True)
class Response:
    """The response to a request, after redirects; the body is read from `chunks`."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    count_received: Callable[[], int]
    """Returns how many bytes of the body have arrived."""

    def header(self, name: str) -> str:
        """Return a header that is safe to show, or an empty string."""
        return safe_line(self.headers.get(name, ""), 300)


class Client:
    """An HTTP client for many requests, which may come from several threads."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self.timeouts = timeouts or Timeouts()
        timeout = httpx2.Timeout(self.timeouts.read_seconds, connect=self.timeouts.connect_seconds)
        try:
            self._client = httpx2.Client(
                headers={"User-Agent": USER_AGENT},
                timeout=timeout,
                follow_redirects=True,
                max_redirects=_MAX_REDIRECTS,
                event_hooks={"response": [_refuse_insecure_redirect]},
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            raise errors.NetworkError(
                f"The proxy in the environment cannot be used: {_without_credentials(str(error))}.",
                hint=f"Correct or unset {_proxy_variable() or 'HTTPS_PROXY'}.",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @contextlib.contextmanager
    def get(self, url: str, **headers: str) -> Iterator[Response]:
        """Send a GET request; raise `NetworkError` if there is no response or it is incomplete."""
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            request = self._client.build_request("GET", url, headers=request_headers)
            is_late = _after(self.timeouts.response_seconds)
            with contextlib.closing(_run_unless(is_late, lambda: self._client.send(request, stream=True))) as response:
                raw = request_headers.get("Accept-Encoding") == "identity"
                chunks = response.iter_raw() if raw else response.iter_bytes()
                yield Response(response.status_code, response.headers, chunks, lambda: response.num_bytes_downloaded)
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError) as error:
            raise errors.NetworkError(_error_message(error, url), hint=_error_hint(error)) from None

    def get_document(self, url: str, max_bytes: int) -> bytes | None:
        """Return a whole document of at most `max_bytes`, or None if the server does not have it."""
        with self.get(url) as response:
            if response.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                return None
            if response.status != HTTPStatus.OK:
                raise errors.NetworkError(f"{display_host(url)} responded {describe_status(response.status)}.")
            return _run_unless(self._document_watch(response), lambda: _read_document(response, url, max_bytes))

    def _document_watch(self, response: Response) -> Callable[[], bool]:
        """Return a function that tells whether a document takes too long, as a whole or by its rate."""
        timeouts, started = self.timeouts, time.monotonic()

        def is_too_slow() -> bool:
            seconds = time.monotonic() - started
            is_slow = response.count_received() < seconds * timeouts.min_document_bytes_per_second
            return seconds > timeouts.document_seconds or (seconds > timeouts.slow_seconds and is_slow)

        return is_too_slow


class _TooSlow(httpx2.TransportError):
    """A server sends, but so little that it would never end; a time-out for each read does not notice that."""


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _run_unless(is_over: Callable[[], bool], function: Callable[[], _Value]) -> _Value:
    """Return the result of a function that waits for a server, or raise `_TooSlow`; its thread is abandoned then."""
    outcomes: queue.SimpleQueue[tuple[_Value | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcomes.put((function(), None))
        except BaseException as error:  # noqa: BLE001  it is raised in the thread that waits
            outcomes.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    while True:
        with contextlib.suppress(queue.Empty):
            value, error = outcomes.get(timeout=_WATCH_SECONDS)
            if error is not None:
                raise error
            return cast("_Value", value)
        if is_over():
            raise _TooSlow("too slow")


def _read_document(response: Response, url: str, max_bytes: int) -> bytes:
    content = bytearray()
    for chunk in response.chunks:
        content += chunk
        if len(content) > max_bytes:
            raise errors.NetworkError(f"The response of {display_host(url)} is larger than {max_bytes >> 20} MiB.")
    return bytes(content)


def safe_url(url: str, base: str = "") -> str | None:
    """Return an absolute HTTP or HTTPS URL, resolved against `base`; None for any other URL."""
    url = url.strip()
    try:
        absolute = urljoin(base, url) if base else url
        parts = urlsplit(absolute)
        is_web_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    printable = absolute.isprintable() and " " not in absolute and len(absolute) <= _MAX_URL_CHARS
    return absolute if is_web_url and printable else None


def file_name_from_url(url: str) -> str | None:
    """Return the name for a file that is downloaded from a URL; None if the URL has no safe one."""
    name = unquote(urlsplit(url).path.rpartition("/")[2]).removesuffix(METALINK_SUFFIX)
    return name if is_safe_file_name(name) else None


def is_safe_file_name(name: str) -> bool:
    """Return whether a name has no directory, ends in `.zim`, and is allowed on every system."""
    return bool(_FILE_NAME.fullmatch(name)) and not _RESERVED_ON_WINDOWS.match(name) and ".." not in name


def display_host(url: str) -> str:
    """Return the host of a URL, without credentials, safe to show."""
    try:
        return safe_line(urlsplit(url).netloc.rpartition("@")[2], 100) or "the server"
    except ValueError:
        return "the server"


def describe_status(status: int) -> str:
    """Return a status code with its reason phrase: `404 Not Found`."""
    return f"{status} {httpx2.codes.get_reason_phrase(status)}".strip()


def _refuse_insecure_redirect(response: httpx2.Response) -> None:
    if not response.has_redirect_location:
        return
    before, after = response.request.url.scheme, response.request.url.join(response.headers["location"]).scheme
    if after not in ("http", "https") or (before, after) == ("https", "http"):
        raise httpx2.UnsupportedProtocol(f"it redirects from {before} to {after}", request=response.request)


def _proxy_variable() -> str | None:
    return next((name for name in _PROXY_VARIABLES if os.environ.get(name)), None)


def _without_credentials(text: str) -> str:
    return safe_line(_CREDENTIALS.sub("//", text), 200).rstrip(".")


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _has_errno(*numbers: int) -> Callable[[BaseException], bool]:
    return lambda cause: isinstance(cause, OSError) and cause.errno in numbers


def _is_instance(*types: type[BaseException]) -> Callable[[BaseException], bool]:
    return lambda cause: isinstance(cause, types)


# The first row that matches one of an error's causes gives the message.
_ERROR_MESSAGES: tuple[tuple[Callable[[BaseException], bool], str], ...] = (
    (_is_instance(httpx2.ProxyError), "The proxy cannot reach {host}: {reason}."),
    (_is_instance(httpx2.TooManyRedirects), "{host} redirects in a loop."),
    (_is_instance(httpx2.UnsupportedProtocol, httpx2.InvalidURL), "{host} cannot be used: {reason}."),
    (_is_instance(socket.gaierror), "The host name {host} cannot be resolved; this machine seems to be offline."),
    (_is_instance(ssl.SSLCertVerificationError), "The certificate of {host} is not trusted: {reason}."),
    (_is_instance(ssl.SSLError), "There is no secure connection to {host}: {reason}."),
    (_is_instance(ConnectionRefusedError), "{host} refuses the connection."),
    (
        _has_errno(errno.ENETUNREACH, errno.EHOSTUNREACH),
        "There is no route to {host}; this machine seems to be offline.",
    ),
    (_is_instance(_TooSlow), "{host} sends too slowly."),
    (_is_instance(httpx2.ConnectTimeout, httpx2.PoolTimeout), "{host} does not respond."),
    (_is_instance(httpx2.TimeoutException), "{host} has stopped sending."),
    (_is_instance(httpx2.RemoteProtocolError, httpx2.ReadError), "The connection to {host} was lost."),
    (_is_instance(BaseException), "{host} cannot be reached: {reason}."),
)


def _error_message(error: Exception, url: str) -> str:
    causes = list(_cause_chain(error))
    message = next(text for matches, text in _ERROR_MESSAGES if any(map(matches, causes)))
    reason = _without_credentials(str(error)) or type(error).__name__
    return message.format(host=display_host(url), reason=reason)


def _error_hint(error: Exception) -> str:
    proxy = _proxy_variable()
    if isinstance(error, httpx2.ProxyError) or (proxy and isinstance(error, httpx2.ConnectError)):
        return f"Requests go through a proxy ({proxy}); check that it is correct and running."
    return "Check the connection; behind a proxy, set HTTPS_PROXY. Name another library with --library."
