"""The way to the network: one client, its manners, and what goes wrong as a sentence.

Proxies are taken from the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urljoin, urlsplit

import httpcore2
import httpx2

from openzim_mcp import __version__, errors
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Some mirrors refuse clients that do not say who they are.
USER_AGENT = f"openzim-mcp/{__version__} (offline ZIM archives; +https://pypi.org/project/openzim-mcp/)"
OK, PARTIAL, NOT_FOUND, GONE, TOO_MANY, BEYOND_THE_END, FAULTY = 200, 206, 404, 410, 429, 416, 500
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_FOLLOWED = 10
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@,()=~-]{0,190}\.zim")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\.", re.IGNORECASE)
_LONGEST = 2000
METALINK = ".meta4"

# Reading 64 KiB at a time, as the library does, costs several times the work of the transfer itself.
httpcore2.HTTP11Connection.READ_NUM_BYTES = 1 << 19


@dataclass(frozen=True)
class Patience:
    """How long a server may take, in seconds, and the bytes a second below which another one is tried."""

    connect: float = 15
    silence: float = 30
    slow_rate: float = 20_000
    slow_seconds: float = 20
    pause: float = 1


@dataclass(frozen=True)
class Answer:
    """What a server answers: its last status and headers, and the body as it comes."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]

    def header(self, name: str) -> str:
        """Return a header without what must not reach a terminal, or nothing."""
        return safe_line(self.headers.get(name, ""), 300)


class Network:
    """A client for many requests, from many threads."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        timeout = httpx2.Timeout(self.patience.silence, connect=self.patience.connect)
        try:
            self._client = httpx2.Client(
                headers={"User-Agent": USER_AGENT},
                timeout=timeout,
                follow_redirects=True,
                max_redirects=_FOLLOWED,
                event_hooks={"response": [_refuse_downgrade]},
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            raise errors.NetworkError(
                f"The proxy of the environment cannot be used: {_discreet(str(error))}.",
                hint=f"Correct or unset {_proxy_variable() or 'HTTPS_PROXY'}.",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @contextlib.contextmanager
    def get(self, url: str, **headers: str) -> Iterator[Answer]:
        """Ask for an address; raise `NetworkError` with a sentence when there is no answer or it breaks off."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with self._client.stream("GET", url, headers=sent) as response:
                raw = sent.get("Accept-Encoding") == "identity"
                chunks = response.iter_raw() if raw else response.iter_bytes()
                yield Answer(response.status_code, response.headers, chunks)
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError) as error:
            raise errors.NetworkError(_sentence(error, url), hint=_hint(error)) from None

    def read(self, url: str, limit: int) -> bytes | None:
        """Return a whole document of at most `limit` bytes, or None when the server has none there."""
        with self.get(url) as answer:
            if answer.status in (NOT_FOUND, GONE):
                return None
            if answer.status != OK:
                raise errors.NetworkError(f"{host(url)} answers {status_words(answer.status)}.")
            found = bytearray()
            for chunk in answer.chunks:
                found += chunk
                if len(found) > limit:
                    raise errors.NetworkError(f"{host(url)} sends more than {limit >> 20} MiB, which cannot be right.")
            return bytes(found)


def checked(url: str, base: str = "") -> str | None:
    """Return an address if it is one of the web, made absolute; None for any other."""
    url = url.strip()
    try:
        absolute = urljoin(base, url) if base else url
        parts = urlsplit(absolute)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    printable = absolute.isprintable() and " " not in absolute and len(absolute) <= _LONGEST
    return absolute if sound and printable else None


def file_name(url: str) -> str | None:
    """Return the name that a file of this address gets; None where the address has no safe one."""
    name = unquote(urlsplit(url).path.rpartition("/")[2]).removesuffix(METALINK)
    return name if is_file_name(name) else None


def is_file_name(name: str) -> bool:
    """Return whether a file may be called so: a bare name that ends in `.zim`, on every system."""
    return bool(_FILE.fullmatch(name)) and not _RESERVED.match(name) and ".." not in name


def host(url: str) -> str:
    """Return the host of an address, as it can be shown."""
    try:
        return safe_line(urlsplit(url).netloc.rpartition("@")[2], 100) or "the server"
    except ValueError:
        return "the server"


def status_words(status: int) -> str:
    """Return a status with what it means."""
    return f"{status} {httpx2.codes.get_reason_phrase(status)}".strip()


def _refuse_downgrade(response: httpx2.Response) -> None:
    if not response.has_redirect_location:
        return
    before, after = response.request.url.scheme, response.request.url.join(response.headers["location"]).scheme
    if after not in ("http", "https") or (before, after) == ("https", "http"):
        raise httpx2.UnsupportedProtocol(f"it redirects from {before} to {after}", request=response.request)


def _proxy_variable() -> str | None:
    return next((name for name in _PROXY_VARIABLES if os.environ.get(name)), None)


def _discreet(text: str) -> str:
    """Return a message of a library without passwords, controls or a full stop."""
    return safe_line(_CREDENTIALS.sub("//", text), 200).rstrip(".")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _has_number(*numbers: int) -> Callable[[BaseException], bool]:
    return lambda cause: isinstance(cause, OSError) and cause.errno in numbers


def _is(*kinds: type[BaseException]) -> Callable[[BaseException], bool]:
    return lambda cause: isinstance(cause, kinds)


# The first row that fits one of the causes of an error gives the sentence.
_SENTENCES: tuple[tuple[Callable[[BaseException], bool], str], ...] = (
    (_is(httpx2.ProxyError), "The proxy does not let {host} be reached: {reason}."),
    (_is(httpx2.TooManyRedirects), "{host} redirects in circles."),
    (_is(httpx2.UnsupportedProtocol, httpx2.InvalidURL), "{host} cannot be used: {reason}."),
    (_is(socket.gaierror), "The name {host} cannot be looked up; this machine seems to be offline."),
    (_is(ssl.SSLCertVerificationError), "{host} has a certificate that is not trusted: {reason}."),
    (_is(ssl.SSLError), "{host} cannot be spoken to safely: {reason}."),
    (_is(ConnectionRefusedError), "{host} refuses the connection."),
    (
        _has_number(errno.ENETUNREACH, errno.EHOSTUNREACH),
        "There is no way to {host}; this machine seems to be offline.",
    ),
    (_is(httpx2.ConnectTimeout, httpx2.PoolTimeout), "{host} does not answer."),
    (_is(httpx2.TimeoutException), "{host} has stopped sending."),
    (_is(httpx2.RemoteProtocolError, httpx2.ReadError), "The connection to {host} broke off."),
    (_is(BaseException), "{host} cannot be reached: {reason}."),
)


def _sentence(error: Exception, url: str) -> str:
    causes = list(_causes(error))
    sentence = next(text for fits, text in _SENTENCES if any(map(fits, causes)))
    return sentence.format(host=host(url), reason=_discreet(str(error)) or type(error).__name__)


def _hint(error: Exception) -> str:
    proxy = _proxy_variable()
    if isinstance(error, httpx2.ProxyError) or (proxy and isinstance(error, httpx2.ConnectError)):
        return f"The environment sends requests through a proxy ({proxy}); check that it is right and running."
    return "Check the connection; behind a proxy, set HTTPS_PROXY. A mirror can be named with --library."
