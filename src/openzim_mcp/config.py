"""Every setting: name, default and range. Settings are read once, at startup, and never change."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from openzim_mcp import config_errors, files
from openzim_mcp.errors import OpenZimMcpConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic.fields import FieldInfo

PREFIX = "OPENZIM_MCP_"
_MIN_TOKEN_CHARS = 16
MAX_TOKEN_CHARS = 8192
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?P<port>:\d{1,5})?", re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(rf"[a-z][a-z0-9+.-]*://{HOST.pattern}", re.ASCII | re.IGNORECASE)
_LOCAL_URL = re.compile(rf"http://({'|'.join(map(re.escape, LOOPBACK_HOSTS))})(:\d+)?(/.*)?")
_REDIS_SCHEMES = ("redis://", "rediss://", "valkey://", "valkeys://", "unix://")
_NAMES_OF_HTTP = {"streamable-http", "streamable_http"}
ARCHIVE_SUFFIXES = (".zim", ".zimaa")
_USE_DIRECTORY = "use a directory with .zim files, or one .zim file"
_FROZEN = ConfigDict(frozen=True, extra="ignore")


Operation = Literal[
    "search",
    "find_entry_by_title",
    "suggestions",
    "get_entry",
    "get_zim_entries",
    "get_binary_entry",
    "get_structure",
    "browse_namespace",
    "get_metadata",
    "get_related_articles",
    "get_inbound_links",
    "default",
]
"""What the rate limit charges for."""


class CacheSettings(BaseModel):
    """The cache of results, in the server's memory."""

    model_config = _FROZEN

    enabled: bool = Field(True, description="cache results; a result is dropped when its archive changes")
    max_size: int = Field(100, ge=1, le=10_000, description="how many results to cache")
    ttl_seconds: int = Field(3600, ge=60, le=86_400, description="how long to cache a result")


class ContentSettings(BaseModel):
    """Default sizes of results."""

    model_config = _FROZEN

    max_content_length: int = Field(100_000, ge=100, description="characters of an article, unless a call says")
    snippet_length: int = Field(300, ge=100, description="characters of a search snippet")
    default_search_limit: int = Field(10, ge=1, le=100, description="search results, unless a call says")
    answers: Literal["lenient", "normal", "strict"] = Field(
        "normal", description='how sure an answer must be: below that, "Not found here" and the nearest sources'
    )
    structured_answers: Literal["auto", "always", "never"] = Field(
        "auto",
        description="whether zim_query also returns its answer as JSON, with links to the sources; auto: to clients "
        "with app views, as some others then hide the text from the model or show it twice",
    )


class BucketSettings(BaseModel):
    """One token bucket."""

    model_config = _FROZEN

    requests_per_second: float = Field(10, ge=0.01, le=10_000, description="tokens added per second")
    burst_size: int = Field(20, ge=1, le=1000, description="capacity: tokens that can be spent at once")


class RateLimitSettings(BucketSettings):
    """The bucket that pays for every call, and additional ones for single operations."""

    enabled: bool = Field(
        True, description="limit the rate of calls; over stdio the default is false, unless a limit is set"
    )
    per_operation_limits: dict[Operation, BucketSettings] = Field(
        default_factory=dict, description="additional buckets by operation, as JSON"
    )


class LoggingSettings(BaseModel):
    """The log, on standard error."""

    model_config = _FROZEN

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = Field("INFO", description="lowest level logged")
    format: Literal["text", "json"] = Field("text", description="lines of text, or one JSON object per line")

    @field_validator("level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value


class WorkerSettings(BaseModel):
    """The worker processes, which read archives."""

    model_config = _FROZEN

    deadline_seconds: float = Field(30, ge=1, le=600, description="time limit of a call")
    memory_mib: int = Field(
        1024, ge=256, le=65_536, description="memory limit of one worker process, where the system supports it"
    )
    count: int | None = Field(
        None, ge=1, le=64, description="maximum number of worker processes (stdio: 2; HTTP: one per core)"
    )


class IndexSettings(BaseModel):
    """The indexes that a server makes in the background, in the cache directory."""

    model_config = _FROZEN

    enabled: bool = Field(True, description="make indexes in the background: of links, of passages, of importance")
    max_mb: int = Field(
        1000, ge=0, le=1_000_000, description="MB for the lists of who links where, per archive; beyond it, only counts"
    )


class OAuthSettings(BaseModel):
    """The identity provider whose access tokens are accepted (HTTP)."""

    model_config = _FROZEN

    issuer: str | None = Field(None, description="URL of the identity provider, as in the claim `iss` (HTTP)")
    resource: str | None = Field(None, description="public URL of this server, as in the claim `aud` (HTTP)")
    jwks_file: Path | None = Field(None, description="file with the provider's public keys (HTTP)")
    jwks_url: str | None = Field(None, description="URL of the provider's public keys, which the server fetches (HTTP)")
    scopes: tuple[str, ...] = Field((), description="scopes that a token must have, as JSON (HTTP)")

    @model_validator(mode="after")
    def _check(self) -> OAuthSettings:
        if not self.issuer:
            return self
        if not self.resource:
            raise ValueError("oauth.issuer requires oauth.resource, the URL by which clients know this server")
        if (self.jwks_file is None) == (self.jwks_url is None):
            raise ValueError("oauth.issuer requires either oauth.jwks_file or oauth.jwks_url, the provider's keys")
        for url in filter(None, (self.issuer, self.resource, self.jwks_url)):
            if not (url.startswith("https://") or _LOCAL_URL.fullmatch(url)):
                raise ValueError(f"{url[:100]!r} is not an https:// URL")
        if self.jwks_file and not self.jwks_file.is_file():
            raise ValueError("oauth.jwks_file does not exist; it is a file with a JSON Web Key Set")
        return self


def _split(value: object, separator: str) -> object:
    """Accept `a,b` for a list."""
    return [part.strip() for part in value.split(separator) if part.strip()] if isinstance(value, str) else value


class Settings(BaseSettings):
    """All settings; the command line overrides the environment, which overrides the default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", frozen=True, extra="ignore", env_ignore_empty=True
    )

    allowed_directories: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description=f"directories or .zim files to serve, separated by '{os.pathsep}'; if empty, the library"
    )
    library: Path | None = Field(
        None,
        description="directory for downloads, served if no other is named (by default in the user's data directory); "
        "while it has no archive, the handbook is served",
    )
    follow_links: bool = Field(
        False, description="serve archives outside the directories if a symbolic link directly in one leads to them"
    )
    tool_mode: Literal["simple", "advanced"] = Field("simple", description="which tools are offered")
    connector_tools: bool = Field(
        False, description="also offer `search` and `fetch`, as ChatGPT and deep-research clients expect them"
    )
    transport: Literal["stdio", "http"] = Field("stdio", description="how clients connect")
    host: str = Field("127.0.0.1", min_length=1, description="address to listen on (HTTP)")
    port: int = Field(8000, ge=0, le=65_535, description="port to listen on; 0 for any free port (HTTP)")
    auth_token: SecretStr | None = Field(
        None,
        description=f"bearer tokens that clients may send, comma-separated, at least {_MIN_TOKEN_CHARS} characters "
        "each (HTTP)",
    )
    auth_token_file: Path | None = Field(
        None, description="file with one bearer token per line, read again when it changes (HTTP)"
    )
    insecure_disable_auth: bool = Field(
        False, description="allow an address that other machines can reach without a token (HTTP)"
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="browser origins to allow, comma-separated (HTTP)"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="additional Host headers to allow, comma-separated (HTTP)"
    )
    public_url: str | None = Field(
        None,
        description="address of this server for browsers, as in https://zim.example: links to sources begin with it "
        "(by default the address that a client uses) (HTTP)",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="IP addresses or networks of proxies whose X-Forwarded-For is used, comma-separated (HTTP)"
    )
    processes: int = Field(1, ge=1, le=64, description="server processes; more than one implies stateless (HTTP)")
    stateless: bool | None = Field(
        None, description="no sessions for clients that send `initialize`, so no affinity is needed (HTTP)"
    )
    replica: str | None = Field(None, description="prefix of session ids, for a proxy to route by (HTTP)")
    redis_url: SecretStr | None = Field(
        None, description="Redis or Valkey for rate limits shared by several processes or machines (HTTP)"
    )
    server_name: str = Field("openzim-mcp", min_length=1, max_length=100, description="server name shown to clients")
    subscriptions_enabled: bool = Field(True, description="notify clients of changes")
    passage_index_enabled: bool = Field(
        True,
        description="index the passages of archives with up to 50 MB of text when they are first asked a question: in "
        "the background, in the cache directory; answers are better with it, and take less of the processor",
    )
    records_enabled: bool = Field(
        True,
        description="keep what is known of each archive, its description and its words, in the cache directory: a "
        "restarted server lists archives without opening them, and asks only those of many that have the words",
    )
    watch_interval_seconds: int = Field(5, ge=1, le=60, description="how often directories are scanned for changes")
    cache: CacheSettings = CacheSettings()
    content: ContentSettings = ContentSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    logging: LoggingSettings = LoggingSettings()
    worker: WorkerSettings = WorkerSettings()
    index: IndexSettings = IndexSettings()
    oauth: OAuthSettings = OAuthSettings()

    @model_validator(mode="before")
    @classmethod
    def _set_rate_limit(cls, values: dict[str, Any]) -> dict[str, Any]:
        # The limit protects a shared server; over stdio there is one client, which started the server.
        if values.get("transport", "stdio") == "stdio" and not values.get("rate_limit"):
            return {**values, "rate_limit": {"enabled": False}}
        return values

    @field_validator("allowed_directories", mode="before")
    @classmethod
    def _split_directories(cls, value: object) -> object:
        return _split(value, os.pathsep)

    @field_validator("transport", mode="before")
    @classmethod
    def _accept_protocol_name(cls, value: object) -> object:
        return "http" if value in _NAMES_OF_HTTP else value

    @field_validator("cors_origins", "allowed_hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return _split(value, ",")

    @field_validator("allowed_directories")
    @classmethod
    def _check_directories(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        expanded = tuple(path.expanduser() for path in paths)
        problems = [problem for path in expanded if (problem := unavailable_reason(path))]
        # A disk that is not there now must not end the server for the other directories.
        if problems and len(problems) == len(expanded):
            raise ValueError("; ".join(problems))
        return expanded

    @field_validator("library", "auth_token_file")
    @classmethod
    def _expand_home(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None

    @field_validator("auth_token")
    @classmethod
    def _check_token(cls, token: SecretStr | None) -> SecretStr | None:
        check_tokens(_split_tokens(token))
        return token

    @field_validator("auth_token_file")
    @classmethod
    def _check_token_file(cls, file: Path | None) -> Path | None:
        try:
            if file is not None:
                read_tokens(file)
        except OSError as error:
            raise ValueError(f"{str(file)!r} cannot be read: {error.strerror}") from error
        return file

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise ValueError(f"{proxy[:100]!r} is not an IP address or network (example: 10.0.0.0/8)") from None
        return proxies

    @field_validator("replica")
    @classmethod
    def _check_replica(cls, replica: str | None) -> str | None:
        if replica is not None and not re.fullmatch(r"[A-Za-z0-9]{1,16}", replica):
            raise ValueError(f"{replica[:100]!r} is not a name for a replica; use 1 to 16 letters or digits")
        return replica

    @field_validator("redis_url")
    @classmethod
    def _check_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_REDIS_SCHEMES):
            raise ValueError(f"use a URL that begins with {' or '.join(_REDIS_SCHEMES)}")
        return url

    @field_validator("cors_origins", "allowed_hosts")
    @classmethod
    def _refuse_wildcard(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "*" in names:
            raise ValueError(f"'*' would allow everyone; list the {str(info.field_name).replace('_', ' ')}")
        return names

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin[:100]!r} is not an origin; use scheme and host, as in https://chat.example")
        return origins

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        url = url.rstrip("/")
        if not _ORIGIN.fullmatch(url) or not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"{url[:100]!r} is not an address; use scheme and host, as in https://zim.example")
        return url

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not HOST.fullmatch(host):
                raise ValueError(f"{host[:100]!r} is not a host; use a name, or a name and a port, as in zim.example")
        return hosts

    @model_validator(mode="after")
    def _check_exposure(self) -> Settings:
        if self.transport == "http" and not (self.is_local or self.requires_token or self.insecure_disable_auth):
            raise ValueError(
                f"other machines can reach host {self.host!r}, so a token is required: set {PREFIX}AUTH_TOKEN "
                f"or {PREFIX}AUTH_TOKEN_FILE, or listen on 127.0.0.1 "
                f"({PREFIX}INSECURE_DISABLE_AUTH=true serves everyone who can reach it)"
            )
        if self.processes > 1 and self.stateless is False:
            raise ValueError(
                f"{PREFIX}PROCESSES above 1 does not support sessions; run replicas of one process behind a proxy"
            )
        return self

    @property
    def library_directory(self) -> Path:
        """The directory for downloads; it may not exist yet."""
        return self.library or Path(files.library_directory())

    @property
    def served_directories(self) -> tuple[Path, ...]:
        """The directories to serve: those that were named, or else the library."""
        return self.allowed_directories or (self.library_directory,)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def requires_token(self) -> bool:
        """Whether clients have to send a bearer token."""
        return bool(self.auth_token or self.auth_token_file or self.oauth.issuer)

    @property
    def has_sessions(self) -> bool:
        """Whether clients that send `initialize` get a session."""
        return not (self.processes > 1 if self.stateless is None else self.stateless)

    @property
    def tokens(self) -> list[str]:
        """The bearer tokens of `auth_token`."""
        return _split_tokens(self.auth_token)


def unavailable_reason(path: Path) -> str | None:
    """Return why a directory or a .zim file cannot be served now; raise `ValueError` if it is something else."""
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        elif path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES):
            path.open("rb").close()
        elif path.exists():
            raise ValueError(f"{str(path)!r} is neither a directory nor a .zim file; {_USE_DIRECTORY}")
        else:
            return f"{str(path)!r} does not exist; {_USE_DIRECTORY}"
    except OSError as error:
        return f"{str(path)!r} cannot be read: {error.strerror}"
    return None


def _split_tokens(secret: SecretStr | None) -> list[str]:
    return [token.strip() for token in secret.get_secret_value().split(",")] if secret else []


def check_tokens(tokens: Sequence[str]) -> None:
    """Refuse tokens that are easy to guess, or that a header cannot carry."""
    for token in tokens:
        if len(token) < _MIN_TOKEN_CHARS:
            raise ValueError(f"a token is too short to be safe; use at least {_MIN_TOKEN_CHARS} characters")
        if len(token) > MAX_TOKEN_CHARS:
            raise ValueError(f"a token is too long for a header; use at most {MAX_TOKEN_CHARS} characters")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise ValueError("a token may contain printable ASCII characters only, without spaces")


def read_tokens(file: Path) -> list[str]:
    """Return the tokens of a file, one per line; empty lines and lines that begin with # are ignored."""
    tokens = list(read_token_lines(file).values())
    if not tokens:
        raise ValueError("the token file contains no token; write one per line")
    check_tokens(tokens)
    return tokens


def read_token_lines(file: Path) -> dict[int, str]:
    """Return the lines of a token file that should be tokens, by their numbers."""
    if not stat.S_ISREG(file.stat().st_mode):
        # A pipe would block, and could be read only once.
        raise ValueError("the token file is not a regular file")
    lines = enumerate(file.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1)
    return {number: line.strip() for number, line in lines if line.strip() and not line.strip().startswith("#")}


def load_settings(options: Mapping[str, str] | None = None, /, **overrides: Any) -> Settings:
    """Read the settings from the environment; `overrides` win, and errors name them as `options` does (`--mode`).

    Raise `OpenZimMcpConfigurationError` with a line for each setting that is wrong.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        names = {setting: name for setting, name in (options or {}).items() if setting in overrides}
        message = config_errors.describe_validation_error(error, environment_variables(), PREFIX, names)
    except SettingsError as error:
        message = config_errors.describe_json_error(str(error), Settings.model_fields, PREFIX)
    raise OpenZimMcpConfigurationError(message)


def load_local_settings(directories: Sequence[str]) -> Settings:
    """Read the settings for a program that opens archives itself: those of the server, without a rate limit."""
    overrides = {"allowed_directories": list(directories)} if directories else {}
    names = {"allowed_directories": ""}
    return load_settings(names, **overrides, transport="stdio", rate_limit={"enabled": False})


def environment_variables(model: type[BaseModel] = Settings, prefix: str = PREFIX) -> dict[str, FieldInfo]:
    """Return the environment variable of every setting, with its field."""
    variables: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            variables |= environment_variables(kind, f"{prefix}{name.upper()}__")
        else:
            variables[f"{prefix}{name.upper()}"] = field
    return variables


def unknown_variables() -> list[str]:
    """Return a sentence for each environment variable that looks like a setting but is not one."""
    return config_errors.describe_unknown_variables(environment_variables(), PREFIX)
