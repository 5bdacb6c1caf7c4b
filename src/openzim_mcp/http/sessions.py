"""Which client has which sessions, and which of them are in use: the oldest unused one makes room for a new one."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SESSIONS = 2000
MAX_SESSIONS_PER_CLIENT = 1000
SESSION_IDLE_SECONDS = 1800


@dataclass
class Session:
    """A session: the client that started it, with its credentials, and the requests that use it now."""

    client: str
    user: object = None
    requests: int = 0
    used_at: float = field(default_factory=time.monotonic)


class SessionTable:
    """The sessions of all clients, those first that were not used for the longest time.

    The SDK ends a session that is not used for `SESSION_IDLE_SECONDS`, and says so to nobody.
    """

    def __init__(self, per_client: int = MAX_SESSIONS_PER_CLIENT, total: int = MAX_SESSIONS) -> None:
        self._per_client = per_client
        self._total = total
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def add(self, session_id: bytes, session: Session) -> None:
        """Add a new session."""
        self._remove_expired()
        self._sessions[session_id] = session
        self._counts[session.client] += 1

    def remove(self, session_id: bytes) -> Session | None:
        """Remove a session that has ended, and return it."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._counts[session.client] -= 1
            if not self._counts[session.client]:
                del self._counts[session.client]
        return session

    @contextlib.contextmanager
    def using(self, session_id: bytes | None) -> Iterator[None]:
        """Serve a request of a session in this block."""
        session = self._sessions.get(session_id) if session_id is not None else None
        if session_id is None or session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used_at = time.monotonic()
            if session_id in self._sessions:
                self._sessions.move_to_end(session_id)

    def surplus(self, client: str) -> bytes | None:
        """Return a session that should end because there are too many, of this client or in total."""
        if self._counts[client] > self._per_client:
            return self._oldest_unused(client)
        if len(self._sessions) > self._total:
            return self._oldest_unused(self._counts.most_common(1)[0][0])
        return None

    def _oldest_unused(self, client: str) -> bytes | None:
        newest = next(reversed(self._sessions))
        unused = (id_ for id_, row in self._sessions.items() if row.client == client and not row.requests)
        return next((session_id for session_id in unused if session_id != newest), None)

    def _remove_expired(self) -> None:
        limit = time.monotonic() - SESSION_IDLE_SECONDS
        for session_id, session in list(self._sessions.items()):
            if session.requests:
                continue
            if session.used_at > limit:
                return
            self.remove(session_id)
