"""StoredServices: answers the API's requests from the files of a home without processes."""

import os
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from agiraph.core.clock import SystemClock
from agiraph.core.errors import InvalidInput
from agiraph.core.hosts import HostInfo
from agiraph.core.ids import SUPERVISOR, AgentId
from agiraph.core.models import Event
from agiraph.http.errors import CONFLICT, UNAVAILABLE, ApiError
from agiraph.inbox.bus import ANSWER_SECONDS, Reply
from agiraph.logs.log import logger
from agiraph.messages.child import ChildInfo, ChildState, ChildTable, ListChildren
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.host import HostTable, ListHosts
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    CheckModel,
    ListModels,
    ModelCatalog,
)
from agiraph.messages.trigger import ListTriggers, TriggerTable
from agiraph.models.prices import load_prices
from agiraph.models.registry import load_presets
from agiraph.readmodel.child_register import Desired, RegisteredChildren, fold
from agiraph.readmodel.home_copy import CopiedHome
from agiraph.readmodel.host_records import RegistryFile, read_record
from agiraph.settings.config import Config
from agiraph.spending.agent_budgets import AgentBudgets
from agiraph.spending.ledger import UsageLedger
from agiraph.spending.usage_reader import UsageReader
from agiraph.storage.files import read_bytes
from agiraph.storage.journal import read_journal
from agiraph.triggers.records import trigger_view
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

if TYPE_CHECKING:
    from agiraph.llm.provider_pool import ProviderPool

STATES: Final[dict[Desired, ChildState]] = {
    "running": "stopped",
    "stopped": "stopped",
    "exited": "exited",
    "failed": "failed",
    "parked": "parked",
}
"""The state of a child while no supervisor runs, by its desired state."""

UNUSED: Final = FiringLimits(late_seconds=0, per_minute=1)


class StoredServices:
    """The `Bus` of the API for a copied home: reads the register, the ledger and the triggers."""

    def __init__(self, home: CopiedHome, config: Config) -> None:
        self.home, self.config = home, config
        self.clock, self.log = SystemClock(), logger()
        self._ledger: UsageLedger | None = None
        self._pool: ProviderPool | None = None

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Return the answer to `body` from the files of the home.

        Raises ApiError 503 for a request that only a process can answer, Corrupt, OSError.
        """
        answer = self._answer(body)
        if answer is None:
            raise _not_running(to)
        if isinstance(answer, RefusedReply):
            raise ApiError(refused, answer.reason)
        assert isinstance(answer, expect)
        return answer

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Raise ApiError 503: no process runs that could receive a message."""
        raise _not_running(to)

    def post(self, to: str, body: BaseModel) -> None:
        """Drop a transient message: its receiver does not run."""

    def report(self, *events: Event) -> None:
        """Drop events: reading a home causes none."""

    def _answer(self, asked: BaseModel) -> BaseModel | None:
        """Return the stored answer, None if only a process can answer. Raises Corrupt, OSError."""
        match asked:
            case ListChildren():
                return self._children()
            case ListHosts():
                return self._hosts()
            case ListTriggers(agent=agent):
                return self._triggers(agent)
            case AskUsage():
                with self.home.opening():
                    return self._spending().usage(asked)
            case AskBudgets():
                with self.home.opening():
                    return self._spending().budgets(asked)
            case ListModels(asks_servers=False):
                default, why = self._models().default()
                return ModelCatalog(providers=self._models().catalog(), default=default, why=why)
            case CheckModel(model=model, characters=0, has_usd_budget=False):
                return self._check(model, asked.needs_tools)
            case _:
                return None

    def _children(self) -> ChildTable:
        table: RegisteredChildren = fold(read_journal(self.home.system.children))
        rows = [
            ChildInfo(
                address=address,
                kind=row.spec.kind,
                state=STATES[row.desired],
                incarnation=table.incarnations.get(address, 0),
                cause=row.cause,
            )
            for address, row in table.rows.items()
        ]
        supervisor = ChildInfo(address=SUPERVISOR, kind="supervisor", state="stopped")
        return ChildTable(children=(supervisor, *rows))

    def _hosts(self) -> HostTable:
        """Return the joined hosts; none is connected while no supervisor runs."""
        path, now = self.home.system.hosts, self.clock.now()
        known = read_record(path, RegistryFile) or RegistryFile()
        rows = [
            HostInfo(
                name=host.name,
                state="away",
                is_cordoned=host.is_cordoned,
                labels=(*host.labels, *(host.facts.labels if host.facts else ())),
                facts=host.facts,
            )
            for host in known.hosts
        ]
        return HostTable(
            hosts=tuple(rows),
            listens_at=self.config.hosts.listen,
            invitations=sum(one.expires_at > now for one in known.invitations),
        )

    def _triggers(self, agent: AgentId) -> TriggerTable:
        path = self.home.agent(agent).triggers
        try:
            text = read_bytes(path).decode()
        except FileNotFoundError:
            return TriggerTable(triggers=())
        found = TriggerSet.read(agent, text, UNUSED, path) if text.strip() else None
        triggers = found.triggers.values() if found else ()
        return TriggerTable(triggers=tuple(trigger_view(trigger) for trigger in triggers))

    def _models(self) -> "ProviderPool":
        """Return the provider pool that a broker with this process's environment would have."""
        if self._pool is None:
            from agiraph.llm.provider_pool import ProviderPool  # imports the service clients

            table, prices = self.home.path / "providers.yaml", self.home.path / "prices.yaml"
            self._pool = ProviderPool(
                self.config, load_presets(table), load_prices(prices), dict(os.environ)
            )
        return self._pool

    def _check(self, model: str, needs_tools: str) -> Ok | RefusedReply:
        try:
            self._models().check(model, needs_tools)
        except InvalidInput as error:
            return RefusedReply(reason=str(error), kind=type(error).__name__)
        return Ok()

    def _spending(self) -> UsageReader:
        if self._ledger is None:
            self._ledger = UsageLedger(self.home.system.usage)
        limits = self._ledger.limits(self.config.budgets, self.clock)
        return UsageReader(self._ledger, limits, AgentBudgets(self.home))

    def close(self) -> None:
        """Close the ledger, if a request has opened it."""
        if self._ledger is not None:
            self._ledger.close()


def _not_running(address: str) -> ApiError:
    return ApiError(UNAVAILABLE, f"{address} does not run")
