from __future__ import annotations

import os
from pathlib import Path

import pytest

from openzim_mcp import config
from openzim_mcp.errors import OpenZimMcpConfigurationError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(config.PREFIX):
            monkeypatch.delenv(name)


def test_overrides_win_over_environment_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.load_settings().tool_mode == "simple"
    monkeypatch.setenv("OPENZIM_MCP_TOOL_MODE", "advanced")
    assert config.load_settings().tool_mode == "advanced"
    assert config.load_settings(tool_mode="simple").tool_mode == "simple"


def test_nested_settings_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENZIM_MCP_RATE_LIMIT__BURST_SIZE", "7")
    monkeypatch.setenv("OPENZIM_MCP_RATE_LIMIT__PER_OPERATION_LIMITS", '{"search": {"burst_size": 3}}')
    monkeypatch.setenv("OPENZIM_MCP_LOGGING__LEVEL", "error")

    settings = config.load_settings(logging={"level": "debug"})

    assert settings.rate_limit.burst_size == 7
    assert settings.rate_limit.per_operation_limits["search"].burst_size == 3
    assert settings.rate_limit.requests_per_second == 10
    assert settings.logging.level == "DEBUG"


def test_lists_are_split_at_their_separators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENZIM_MCP_CORS_ORIGINS", "https://a.example, https://b.example")
    monkeypatch.setenv("OPENZIM_MCP_ALLOWED_DIRECTORIES", f"{tmp_path}{os.pathsep}{tmp_path}")

    settings = config.load_settings()

    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert settings.allowed_directories == (tmp_path, tmp_path)


def test_home_directory_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("OPENZIM_MCP_LIBRARY", "~/mine")
    (tmp_path / "zims").mkdir()

    assert config.load_settings(allowed_directories=["~/zims"]).served_directories == (tmp_path / "zims",)
    monkeypatch.setenv("OPENZIM_MCP_ALLOWED_DIRECTORIES", "~/zims")
    assert config.load_settings().served_directories == (tmp_path / "zims",)
    assert config.load_settings().library_directory == tmp_path / "mine"


def test_library_is_served_unless_directories_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path))
    assert config.load_settings().served_directories == (tmp_path / "openzim-mcp" / "library",)

    monkeypatch.setenv("OPENZIM_MCP_LIBRARY", str(tmp_path / "mine"))
    assert config.load_settings().served_directories == (tmp_path / "mine",)
    assert config.load_settings(allowed_directories=[tmp_path]).served_directories == (tmp_path,)


def test_one_missing_directory_is_accepted_beside_others(tmp_path: Path) -> None:
    missing = tmp_path / "disk"

    assert config.load_settings(allowed_directories=[missing, tmp_path]).allowed_directories == (missing, tmp_path)
    with pytest.raises(OpenZimMcpConfigurationError, match="does not exist"):
        config.load_settings(allowed_directories=[missing, missing / "too"])


def test_name_of_the_protocol_is_accepted_for_the_transport() -> None:
    assert config.load_settings(transport="streamable-http").transport == "http"


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("PORT", "-1", "port (OPENZIM_MCP_PORT): '-1' is not accepted; use a whole number from 0 to 65535"),
        ("TOOL_MODE", "both", "tool_mode (OPENZIM_MCP_TOOL_MODE): 'both' is not accepted; use simple or advanced"),
        (
            "WATCH_INTERVAL_SECONDS",
            "61",
            (
                "watch_interval_seconds (OPENZIM_MCP_WATCH_INTERVAL_SECONDS): '61' is not accepted; "
                "use a whole number from 1 to 60"
            ),
        ),
        (
            "CACHE__TTL_SECONDS",
            "59",
            (
                "cache.ttl_seconds (OPENZIM_MCP_CACHE__TTL_SECONDS): '59' is not accepted; "
                "use a whole number from 60 to 86400"
            ),
        ),
        (
            "CONTENT__MAX_CONTENT_LENGTH",
            "99",
            (
                "content.max_content_length (OPENZIM_MCP_CONTENT__MAX_CONTENT_LENGTH): '99' is not accepted; "
                "use a whole number from 100 up"
            ),
        ),
        (
            "SUBSCRIPTIONS_ENABLED",
            "maybe",
            "subscriptions_enabled (OPENZIM_MCP_SUBSCRIPTIONS_ENABLED): 'maybe' is not accepted; use true or false",
        ),
        (
            "CORS_ORIGINS",
            "*",
            "cors_origins (OPENZIM_MCP_CORS_ORIGINS): '*' would allow everyone; list the cors origins",
        ),
        (
            "CACHE",
            "{bad",
            "cache (OPENZIM_MCP_CACHE='{bad'): not valid JSON; use an object, as in docs/settings.md",
        ),
        ("TRANSPORT", "pigeon", "transport (OPENZIM_MCP_TRANSPORT): 'pigeon' is not accepted; use stdio or http"),
        (
            "CORS_ORIGINS",
            "chat.example",
            "cors_origins (OPENZIM_MCP_CORS_ORIGINS): 'chat.example' is not an origin; use scheme and host, as in "
            "https://chat.example",
        ),
        (
            "TRUSTED_PROXIES",
            "proxy.example",
            "trusted_proxies (OPENZIM_MCP_TRUSTED_PROXIES): 'proxy.example' is not an IP address or network "
            "(example: 10.0.0.0/8)",
        ),
        (
            "REDIS_URL",
            "cache.example:6379",
            "redis_url (OPENZIM_MCP_REDIS_URL): use a URL that begins with redis:// or rediss:// or valkey:// or "
            "valkeys:// or unix://",
        ),
        (
            "REPLICA",
            "a b",
            "replica (OPENZIM_MCP_REPLICA): 'a b' is not a name for a replica; use 1 to 16 letters or digits",
        ),
    ],
)
def test_bad_value_is_explained_in_one_line(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, line: str
) -> None:
    monkeypatch.setenv(f"OPENZIM_MCP_{variable}", value)

    with pytest.raises(OpenZimMcpConfigurationError) as caught:
        config.load_settings()

    assert caught.value.message == line


def test_tokens_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENZIM_MCP_AUTH_TOKEN", "hunter2")

    with pytest.raises(OpenZimMcpConfigurationError) as caught:
        config.load_settings()

    assert "hunter2" not in caught.value.message
    monkeypatch.setenv("OPENZIM_MCP_AUTH_TOKEN", "a-token-that-is-long-enough")
    assert "a-token" not in repr(config.load_settings())
    assert "a-token" not in config.load_settings().model_dump_json()


def test_unknown_variables_get_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENZIM_MCP_TOOLMODE", "advanced")
    monkeypatch.setenv("OPENZIM_MCP_CACHE__SIZE", "1")
    monkeypatch.setenv("OPENZIM_MCP_RATE_LIMIT__PER_OPERATION_LIMITS", "{}")
    monkeypatch.setenv("OPENZIM_MCP_CACHE__MAX_SIZE", "1")

    assert config.unknown_variables() == [
        "OPENZIM_MCP_CACHE__SIZE is not a setting; did you mean OPENZIM_MCP_CACHE__MAX_SIZE?",
        "OPENZIM_MCP_TOOLMODE is not a setting; did you mean OPENZIM_MCP_TOOL_MODE?",
    ]


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "https://docs.openwebui.com",
        "https://chat.example",
        "https://CHAT.example",
        "http://192.0.2.1:8080",
        "http://[2001:db8::1]:8080",
        "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai",
        "vscode-webview://1s2s3s",
    ],
)
def test_origins_are_accepted(origin: str) -> None:
    assert config.load_settings(cors_origins=origin).cors_origins == (origin,)


@pytest.mark.parametrize(
    "origin",
    [
        "https://a b",
        "https://a\tb",
        "https://chat.example/",
        "https://chat.example/path",
        "https://chat.example?query",
        "https://chat.example#part",
        "https://user@chat.example",
        "https://*.example",
        "https://chat\\example",
        "https://chat.example:port",
        "https://",
        "://chat.example",
        "null",
    ],
)
def test_other_texts_are_not_origins(origin: str) -> None:
    with pytest.raises(OpenZimMcpConfigurationError, match="is not an origin"):
        config.load_settings(cors_origins=origin)


@pytest.mark.parametrize("host", ["zim.example", "zim.example:8443", "ZIM.example", "192.0.2.1", "[2001:db8::1]:8000"])
def test_hosts_are_accepted(host: str) -> None:
    assert config.load_settings(allowed_hosts=host).allowed_hosts == (host,)


@pytest.mark.parametrize("host", ["https://zim.example", "zim.example/", "*.example", "a b", "2001:db8::1", "user@zim"])
def test_other_texts_are_not_hosts(host: str) -> None:
    with pytest.raises(OpenZimMcpConfigurationError, match="is not a host"):
        config.load_settings(allowed_hosts=host)


@pytest.mark.parametrize(
    "url", ["http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://login.example"]
)
def test_identity_provider_without_tls_has_to_be_local(url: str) -> None:
    settings = {"issuer": url, "resource": "https://zim.example/mcp", "jwks_url": "https://login.example/keys"}

    with pytest.raises(OpenZimMcpConfigurationError, match="is not an https:// URL"):
        config.load_settings(oauth=settings)


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/realm", "http://127.0.0.1", "http://[::1]:80/x", "https://login.example"]
)
def test_identity_provider_is_accepted(url: str) -> None:
    settings = {"issuer": url, "resource": "https://zim.example/mcp", "jwks_url": "https://login.example/keys"}

    assert config.load_settings(oauth=settings).oauth.issuer == url


def test_rate_limit_is_off_over_stdio_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not config.load_settings().rate_limit.enabled
    assert config.load_settings(transport="http").rate_limit.enabled
    assert not config.load_settings(transport="http", rate_limit={"enabled": False}).rate_limit.enabled
    monkeypatch.setenv("OPENZIM_MCP_RATE_LIMIT__BURST_SIZE", "7")
    assert config.load_settings().rate_limit.enabled
    monkeypatch.setenv("OPENZIM_MCP_RATE_LIMIT__ENABLED", "false")
    assert not config.load_settings().rate_limit.enabled
