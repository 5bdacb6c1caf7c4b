"""Every setting: its name, default and range. Read once, at the start; never changed."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

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

from openzim_mcp.errors import OpenZimMcpConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic.fields import FieldInfo

PREFIX = "OPENZIM_MCP_"
_TOKEN_LENGTH = 16
_STORES = ("redis://", "rediss://", "valkey://", "valkeys://", "unix://")
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
    "default",
]
"""What a call is charged as."""


class CacheSettings(BaseModel):
    """Answers that are kept, in the server's memory."""

    model_config = _FROZEN

    enabled: bool = Field(True, description="keep answers; they are dropped when the archive's file changes")
    max_size: int = Field(100, ge=1, le=10_000, description="how many answers")
    ttl_seconds: int = Field(3600, ge=60, le=86_400, description="for how long")


class ContentSettings(BaseModel):
    """Sizes of what is returned when a call does not say."""

    model_config = _FROZEN

    max_content_length: int = Field(100_000, ge=100, description="characters of an article")
    snippet_length: int = Field(300, ge=100, description="characters of a search snippet")
    default_search_limit: int = Field(10, ge=1, le=100, description="search results")


class BucketSettings(BaseModel):
    """One token bucket."""

    model_config = _FROZEN

    requests_per_second: float = Field(10, ge=0.01, le=10_000, description="tokens that come back each second")
    burst_size: int = Field(20, ge=1, le=1000, description="tokens that can be spent at once")


class RateLimitSettings(BucketSettings):
    """The bucket that every call draws from, and further ones for single operations."""

    enabled: bool = Field(True, description="limit calls")
    per_operation_limits: dict[Operation, BucketSettings] = Field(
        default_factory=dict, description="further buckets by operation, as JSON"
    )


class LoggingSettings(BaseModel):
    """What is written to standard error."""

    model_config = _FROZEN

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = Field("INFO", description="least severity shown")
    format: Literal["text", "json"] = Field("text", description="lines for people, or an object a line for programs")

    @field_validator("level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value


class WorkerSettings(BaseModel):
    """The processes that read archives."""

    model_config = _FROZEN

    deadline_seconds: float = Field(30, ge=1, le=600, description="a call that takes longer is ended")
    memory_mib: int = Field(1024, ge=256, le=65_536, description="memory of one process, where the system can limit it")
    count: int | None = Field(None, ge=1, le=64, description="processes at most (stdio: 2; HTTP: one for each core)")


class OAuthSettings(BaseModel):
    """The identity provider whose access tokens are accepted (HTTP)."""

    model_config = _FROZEN

    issuer: str | None = Field(None, description="its address, as its tokens have it in `iss`")
    resource: str | None = Field(None, description="this server's public address, as tokens have it in `aud`")
    jwks_file: Path | None = Field(None, description="a file with its public keys")
    jwks_url: str | None = Field(None, description="where its public keys are; the server then asks there for them")
    scopes: tuple[str, ...] = Field((), description="scopes that a token must have, as JSON")

    @model_validator(mode="after")
    def _check(self) -> OAuthSettings:
        if not self.issuer:
            return self
        if not self.resource:
            raise ValueError("oauth.resource is needed with oauth.issuer: the address that clients know this server by")
        if (self.jwks_file is None) == (self.jwks_url is None):
            raise ValueError("give oauth.jwks_file or oauth.jwks_url, where the keys of oauth.issuer are")
        for url in filter(None, (self.issuer, self.resource, self.jwks_url)):
            if not url.startswith(("https://", "http://localhost", "http://127.0.0.1", "http://[::1]")):
                raise ValueError(f"{url[:100]!r} is no https:// address")
        if self.jwks_file and not self.jwks_file.is_file():
            raise ValueError("oauth.jwks_file is not there; give a file with a JSON Web Key Set")
        return self


def _split(value: object, separator: str) -> object:
    """Accept `a,b` where a list is wanted."""
    return [part.strip() for part in value.split(separator) if part.strip()] if isinstance(value, str) else value


class Settings(BaseSettings):
    """All settings: the command line wins over the environment, the environment over the default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", frozen=True, extra="ignore", env_ignore_empty=True
    )

    allowed_directories: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description=f"directories or .zim files to serve, separated by '{os.pathsep}'; the handbook if none"
    )
    tool_mode: Literal["simple", "advanced"] = Field("simple", description="which tools are offered")
    transport: Literal["stdio", "http"] = Field("stdio", description="how clients connect")
    host: str = Field("127.0.0.1", min_length=1, description="address to listen on (HTTP)")
    port: int = Field(8000, ge=0, le=65_535, description="port to listen on, 0 for any that is free (HTTP)")
    auth_token: SecretStr | None = Field(
        None, description=f"bearer tokens of {_TOKEN_LENGTH} characters or more, by comma; clients send one (HTTP)"
    )
    auth_token_file: Path | None = Field(
        None, description="a file with a bearer token a line; it is read again when it changes (HTTP)"
    )
    insecure_disable_auth: bool = Field(
        False, description="allow other addresses than this machine's without a token (HTTP)"
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="browser origins to allow, by comma (HTTP)"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="further names in the Host header to allow, by comma (HTTP)"
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="addresses or networks of proxies whose X-Forwarded-For counts, by comma (HTTP)"
    )
    processes: int = Field(1, ge=1, le=64, description="processes that serve; with several, stateless (HTTP)")
    stateless: bool | None = Field(
        None, description="no sessions for clients of the handshake revisions, so no affinity is needed (HTTP)"
    )
    replica: str | None = Field(
        None, pattern="^[A-Za-z0-9]{1,16}$", description="name in front of session ids, for a proxy to route by (HTTP)"
    )
    redis_url: SecretStr | None = Field(
        None, description="Redis or Valkey that keeps the rate limits of several processes or machines (HTTP)"
    )
    server_name: str = Field("openzim-mcp", min_length=1, max_length=100, description="name that clients see")
    subscriptions_enabled: bool = Field(True, description="notify clients of changes")
    watch_interval_seconds: int = Field(5, ge=1, le=60, description="how often directories are looked at")
    cache: CacheSettings = CacheSettings()
    content: ContentSettings = ContentSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    logging: LoggingSettings = LoggingSettings()
    worker: WorkerSettings = WorkerSettings()
    oauth: OAuthSettings = OAuthSettings()

    @field_validator("allowed_directories", mode="before")
    @classmethod
    def _split_directories(cls, value: object) -> object:
        return _split(value, os.pathsep)

    @field_validator("cors_origins", "allowed_hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        return _split(value, ",")

    @field_validator("allowed_directories")
    @classmethod
    def _check_directories(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in paths:
            try:
                if path.is_dir():
                    next(path.iterdir(), None)
                elif path.is_file() and path.name.lower().endswith((".zim", ".zimaa")):
                    path.open("rb").close()
                else:
                    what = "is no directory and no .zim file" if path.exists() else "does not exist"
                    raise ValueError(f"{str(path)!r} {what}; give a directory that holds .zim files, or one .zim file")
            except OSError as error:
                raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from error
        return paths

    @field_validator("auth_token")
    @classmethod
    def _check_token(cls, token: SecretStr | None) -> SecretStr | None:
        check_tokens(_tokens(token))
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
                raise ValueError(f"{proxy[:100]!r} is no address or network, such as 10.0.0.0/8") from None
        return proxies

    @field_validator("redis_url")
    @classmethod
    def _check_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_STORES):
            raise ValueError(f"give an address that begins with {' or '.join(_STORES)}")
        return url

    @field_validator("cors_origins", "allowed_hosts")
    @classmethod
    def _check_names(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "*" in names:
            raise ValueError(f"'*' would allow everyone; name each of the {str(info.field_name).replace('_', ' ')}")
        return names

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\\s*]+", origin):
                raise ValueError(f"{origin[:100]!r} is no origin; give its scheme and host, as in https://chat.example")
        return origins

    @model_validator(mode="after")
    def _check_exposure(self) -> Settings:
        if self.transport == "http" and not (self.is_local or self.is_guarded or self.insecure_disable_auth):
            raise ValueError(
                f"host {self.host!r} can be reached by others, so clients have to show a token: set {PREFIX}AUTH_TOKEN "
                f"or {PREFIX}AUTH_TOKEN_FILE, or listen on 127.0.0.1 "
                f"({PREFIX}INSECURE_DISABLE_AUTH=true serves everyone who can reach it)"
            )
        if self.processes > 1 and self.stateless is False:
            raise ValueError(f"{PREFIX}PROCESSES above 1 has no sessions; run replicas of one process behind a proxy")
        return self

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
    def is_guarded(self) -> bool:
        """Whether clients have to show a token."""
        return bool(self.auth_token or self.auth_token_file or self.oauth.issuer)

    @property
    def has_sessions(self) -> bool:
        """Whether clients of the handshake revisions have sessions."""
        return not (self.processes > 1 if self.stateless is None else self.stateless)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the environment."""
        return _tokens(self.auth_token)


def _tokens(secret: SecretStr | None) -> list[str]:
    return [token.strip() for token in secret.get_secret_value().split(",")] if secret else []


def check_tokens(tokens: Sequence[str]) -> None:
    """Refuse tokens that are easy to guess, or that no header can carry."""
    for token in tokens:
        if len(token) < _TOKEN_LENGTH:
            raise ValueError(f"a token is too short to be safe; give at least {_TOKEN_LENGTH} characters")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise ValueError("a token has blanks or other characters than letters, digits and signs of ASCII")


def read_tokens(file: Path) -> list[str]:
    """Return the tokens of a file: one a line; empty lines and those that begin with # are none."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise ValueError("the token file has no token; write one a line")
    check_tokens(tokens)
    return tokens


def load(**given: Any) -> Settings:
    """Read the settings; what is `given` wins over the environment.

    Raise `OpenZimMcpConfigurationError` with a line for each setting that is wrong.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        raise OpenZimMcpConfigurationError("\n".join(_line(e) for e in error.errors())) from None
    except SettingsError as error:
        raise OpenZimMcpConfigurationError(_json_line(error)) from None


def _line(error: Any) -> str:
    """Say which setting is wrong, what was given and what is accepted."""
    where = [str(part) for part in error["loc"]]
    if not where:
        return str(error["msg"]).removeprefix("Value error, ")
    name = f"{'.'.join(where)} ({PREFIX}{'__'.join(where).upper()})"
    if error["type"] == "value_error":
        return f"{name}: {error['msg'].removeprefix('Value error, ')}"
    field = variables().get(f"{PREFIX}{'__'.join(where).upper()}")
    accepted = accepts(field) if field else error["msg"].removeprefix("Input should be ")
    return f"{name}: {str(error['input'])[:100]!r} is not accepted; give {accepted}"


def _json_line(error: SettingsError) -> str:
    """Name the variable whose value should have been JSON; the library tells only the setting around it."""
    field = next(name for name in Settings.model_fields if f'"{name}"' in str(error))
    start = f"{PREFIX}{field}".upper()
    given = [f"{name}={value[:100]!r}" for name, value in os.environ.items() if name.upper().startswith(start)]
    return f"{field} ({', '.join(given)}): not valid JSON; give an object, as in docs/settings.md"


def accepts(field: FieldInfo) -> str:
    """Return in words what a setting accepts."""
    kinds = [kind for kind in (get_args(field.annotation) or [field.annotation]) if kind is not type(None)]
    if get_origin(field.annotation) is Literal:
        return " or ".join(map(str, kinds))
    words: dict[Any, str] = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        SecretStr: "a text",
        Path: "a path",
    }
    what = words.get(kinds[0], "a list or JSON")
    low = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in field.metadata if hasattr(bound, "le")), None)
    if low is None:
        return what
    return f"{what} from {low} " + ("up" if high is None else f"to {high}")


def variables(model: type[BaseModel] = Settings, prefix: str = PREFIX) -> dict[str, FieldInfo]:
    """Return the environment variable of every setting, with its field."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= variables(kind, f"{prefix}{name.upper()}__")
        else:
            found[f"{prefix}{name.upper()}"] = field
    return found


def unknown_variables() -> list[str]:
    """Return a sentence for each variable that looks like a setting and is none."""
    known = variables()
    groups = tuple(f"{name}__" for name in known) + tuple(known)
    sentences = []
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and not name.upper().startswith(groups):
            close = difflib.get_close_matches(name.upper(), known, n=1)
            sentences.append(f"{name} is not a setting" + (f"; did you mean {close[0]}?" if close else ""))
    return sentences
