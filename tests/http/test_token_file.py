from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from openzim_mcp.http import token_file
from openzim_mcp.http.auth import VerifierUnavailable
from openzim_mcp.http.token_file import TokenFile
from support.stdio_server import wait_until

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.anyio

TOKEN, OTHER_TOKEN = "correct-horse-battery", "another-horse-battery"


def lease(file: Path) -> int:
    """Make every attempt to open a file block, as a network mount does that no longer responds."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # tells the holder of the lease that somebody waits
    descriptor = os.open(file, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        os.close(descriptor)
        pytest.skip(f"this file system has no leases: {error}")
    return descriptor


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="file leases are a feature of Linux")
async def test_unresponsive_file_does_not_hold_up_known_tokens(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKEN)
    verifier = TokenFile([], file)
    file.write_text(f"{TOKEN}\n{OTHER_TOKEN}")
    descriptor = lease(file)
    try:
        wait_until(lambda: bool(verifier._reading_since))
        start = time.monotonic()
        accepted = await verifier.verify_token(TOKEN)
        seconds = time.monotonic() - start
    finally:
        os.close(descriptor)

    assert accepted is not None
    assert seconds < token_file._CHECK_SECONDS


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="file leases are a feature of Linux")
async def test_tokens_are_unknown_until_the_file_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_file, "_FIRST_READ_SECONDS", 0.1)
    file = tmp_path / "tokens"
    file.write_text(TOKEN)
    descriptor = lease(file)
    try:
        verifier = TokenFile([OTHER_TOKEN], file)
        of_settings = await verifier.verify_token(OTHER_TOKEN)
        with pytest.raises(VerifierUnavailable):
            await verifier.verify_token(TOKEN)
    finally:
        os.close(descriptor)

    assert of_settings is not None
    wait_until(verifier._was_read.is_set)
    assert await verifier.verify_token(TOKEN) is not None
