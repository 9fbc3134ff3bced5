"""FilesActor: which requests are answered, when a worker has another process by now."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.files.service import FilesActor
from agiraph.messages.body import MessageBody
from agiraph.messages.files import ChangeFiles, FilesChanged, ListFiles, WriteFile
from tests.fakes.fake_runtime import FakeRuntime, arrived
from tests.unit.files.files_home import FilesHome


class FilesServiceHarness:
    """The service `files` of a home, and the requests of `ada`."""

    def __init__(self, folder: Path) -> None:
        self.desk = FilesHome(folder)
        self.runtime = FakeRuntime(self.desk.home.path)
        self.endpoint: Any = SimpleNamespace(on_down=None)
        cast(Any, self.runtime).endpoint = self.endpoint
        self.actor = FilesActor(cast(Any, self.runtime))
        self.ada = self.desk.address("ada")

    def write(self, name: str, incarnation: int = 1) -> bytes:
        """Request that a file is written; return the id of the request."""
        file = WriteFile(path=f"{self.desk.own('ada')}/{name}", data=b"x")
        return self.request(ChangeFiles(changes=(file,)), incarnation)

    def request(self, body: MessageBody, incarnation: int = 1) -> bytes:
        received = arrived(body, self.ada, to="files", incarnation=incarnation)
        self.runtime.put(received)
        return received.header.id

    async def answered(self, id: bytes) -> MessageBody:
        await self.runtime.until(lambda: any(one.reply_to == id for one in self.runtime.sent))
        return next(cast(MessageBody, one.body) for one in self.runtime.sent if one.reply_to == id)

    def is_written(self, name: str) -> bool:
        return (self.desk.agent.path / self.desk.own("ada") / name).exists()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[FilesServiceHarness]:
    service = FilesServiceHarness(tmp_path)
    serving = asyncio.ensure_future(service.actor.serve())
    yield service
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_an_older_process_of_a_worker_changes_nothing(service: FilesServiceHarness) -> None:
    assert await service.answered(service.write("new", 2)) == FilesChanged(made=1)
    older = service.write("old", 1)
    await service.answered(service.request(ListFiles(), 2))
    assert not service.is_written("old")
    assert all(one.reply_to != older for one in service.runtime.sent)


async def test_requests_of_a_process_that_has_ended_are_dropped(
    service: FilesServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its successor may run at home, where it asks nothing of this service."""
    has_begun, may_go_on = threading.Event(), threading.Event()
    answer = service.actor._requests.answer

    def slowly(sender: str, body: MessageBody) -> MessageBody:
        has_begun.set()
        may_go_on.wait(10)
        return answer(sender, body)

    monkeypatch.setattr(service.actor._requests, "answer", slowly)
    first = service.write("first")
    assert await asyncio.to_thread(has_begun.wait, 10)
    second = service.write("second")
    await service.runtime.until(lambda: second in service.runtime.finished)
    service.endpoint.on_down(service.ada, 1)
    may_go_on.set()
    assert await service.answered(first) == FilesChanged(made=1)
    await service.answered(service.request(ListFiles()))
    assert not service.is_written("second")
