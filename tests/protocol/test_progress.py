from __future__ import annotations

import anyio
import pytest

from openzim_mcp import errors
from openzim_mcp.protocol import progress
from openzim_mcp.protocol.progress import ProgressReporter

pytestmark = pytest.mark.anyio


class Client:
    """Receives progress, and says when there were so many notifications."""

    def __init__(self, count: int) -> None:
        self.numbers: list[float] = []
        self.has_enough = anyio.Event()
        self._count = count

    async def receive(self, number: float, _total: float | None) -> None:
        self.numbers.append(number)
        if len(self.numbers) == self._count:
            self.has_enough.set()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SIGN_OF_LIFE_SECONDS", 0.001)


async def test_work_that_reports_nothing_shows_that_it_goes_on() -> None:
    client = Client(3)

    await ProgressReporter(client.receive).run(client.has_enough.wait())

    assert 0 < client.numbers[0] < client.numbers[1] < client.numbers[2] < 1


async def test_numbers_rise_when_work_starts_to_report() -> None:
    client = Client(2)
    reporter = ProgressReporter(client.receive)

    async def work() -> str:
        await client.has_enough.wait()
        await reporter.report(1, 3)
        await anyio.sleep(0.02)  # signs of life, if there were any, would come now
        await reporter.report(2, 3)
        return "result"

    assert await reporter.run(work()) == "result"
    assert client.numbers == sorted(client.numbers)
    assert client.numbers[-2:] == [1, 2]


async def test_error_of_the_work_is_passed_on_as_it_is() -> None:
    async def work() -> None:
        raise errors.EntryNotFound("No entry.")

    with pytest.raises(errors.EntryNotFound):
        await ProgressReporter(Client(1).receive).run(work())
