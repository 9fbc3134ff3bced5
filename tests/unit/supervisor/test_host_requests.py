"""Refusals of hosts are reported to the human gateway, which audits them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.supervisor.host_requests import HostRequests
from actors.supervisor.hosts import check_version
from agiraph.core.errors import Refused
from agiraph.core.hosts import MachineFacts
from agiraph.logs.log import logger
from agiraph.messages.host import HostRefused, RenewLease


async def test_host_of_another_version_is_audited_once() -> None:
    told: list[tuple[str, HostRefused]] = []

    def renew(name: str, body: RenewLease) -> None:
        check_version(name, body.facts)

    bus = SimpleNamespace(send=lambda to, body: told.append((to, body)))
    children = SimpleNamespace(log=logger(), bus=bus)
    requests = HostRequests(cast(Any, children), cast(Any, SimpleNamespace(renew=renew)))
    body = RenewLease(sent_at=1.0, now=1.0, facts=MachineFacts(version="9.9.0"))
    for _ in range(3):
        with pytest.raises(Refused, match=r"host 'north' has Agiraph 9\.9\.0"):
            await requests.answer("host/north", body)
    [(to, refusal)] = told
    assert (to, refusal.peer) == ("human", "host/north")
    assert "has Agiraph 9.9.0, this home" in refusal.reason
