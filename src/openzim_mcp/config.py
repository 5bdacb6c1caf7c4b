"""Every setting: its name, default and range. Read once, at the start; never changed."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from openzim_mcp.errors import OpenZimMcpConfigurationError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PREFIX = "OPENZIM_MCP_"
_TOKEN_LENGTH = 16
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
    port: int = Field(8000, ge=1, le=65_535, description="port to listen on (HTTP)")
    auth_token: SecretStr | None = Field(
        None, description=f"bearer token of {_TOKEN_LENGTH} characters or more that clients must send (HTTP)"
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
    server_name: str = Field("openzim-mcp", min_length=1, max_length=100, description="name that clients see")
    subscriptions_enabled: bool = Field(True, description="notify clients of changes")
    watch_interval_seconds: int = Field(5, ge=1, le=60, description="how often directories are looked at")
    cache: CacheSettings = CacheSettings()
    content: ContentSettings = ContentSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    logging: LoggingSettings = LoggingSettings()
    worker: WorkerSettings = WorkerSettings()

    @field_validator("allowed_directories", mode="before")
    @classmethod
    def _split_directories(cls, value: object) -> object:
        return _split(value, os.pathsep)

    @field_validator("cors_origins", "allowed_hosts", mode="before")
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

    @field_validator("transport")
    @classmethod
    def _check_transport(cls, transport: str) -> str:
        if transport == "http":
            raise ValueError("http is not served by this version; use stdio")
        return transport

    @field_validator("auth_token")
    @classmethod
    def _check_token(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and len(token.get_secret_value()) < _TOKEN_LENGTH:
            raise ValueError(f"too short to be safe; give at least {_TOKEN_LENGTH} characters")
        return token

    @field_validator("cors_origins", "allowed_hosts")
    @classmethod
    def _check_names(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "*" in names:
            raise ValueError(f"'*' would allow everyone; name each of the {str(info.field_name).replace('_', ' ')}")
        return names


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
    words: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
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
