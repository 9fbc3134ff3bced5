"""What the services of a home last wrote down, in answer to what the gateway asks them."""

import os
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from actors.broker.agent_budgets import AgentBudgets
from actors.broker.ledger import UsageLedger
from actors.broker.usage_reader import UsageReader
from actors.supervisor.child_register import Desired, RegisteredChildren, fold
from agiraph.core.clock import Clock
from agiraph.core.errors import InvalidInput
from agiraph.core.hosts import HostInfo
from agiraph.core.ids import SUPERVISOR, AgentId
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
from agiraph.readmodel.home_copy import CopiedHome
from agiraph.settings.config import Config
from agiraph.storage.files import read_bytes
from agiraph.storage.journal import read_journal
from agiraph.triggers.records import trigger_view
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

if TYPE_CHECKING:
    from actors.broker.provider_pool import ProviderPool

STATES: Final[dict[Desired, ChildState]] = {
    "running": "stopped",
    "stopped": "stopped",
    "exited": "exited",
    "failed": "failed",
    "parked": "parked",
}
"""The state of a child while no supervisor runs, by what is wanted of it."""

UNUSED: Final = FiringLimits(late_seconds=0, per_minute=1)


class StoredServices:
    """The register, the ledger and the triggers of a home that is a copy: they are opened."""

    def __init__(self, home: CopiedHome, config: Config, clock: Clock) -> None:
        self._home, self._config, self._clock = home, config, clock
        self._ledger: UsageLedger | None = None
        self._pool: ProviderPool | None = None

    def answer(self, asked: BaseModel) -> BaseModel | None:
        """Return what the service would, None if only a process can. Raises Corrupt, OSError."""
        match asked:
            case ListChildren():
                return self._children()
            case ListHosts():
                return self._hosts()
            case ListTriggers(agent=agent):
                return self._triggers(agent)
            case AskUsage():
                with self._home.opening():
                    return self._spending().usage(asked)
            case AskBudgets():
                with self._home.opening():
                    return self._spending().budgets(asked)
            case ListModels(asks_servers=False):
                default, why = self._models().default()
                return ModelCatalog(providers=self._models().catalog(), default=default, why=why)
            case CheckModel(model=model, characters=0, has_usd_budget=False):
                return self._check(model, asked.needs_tools)
            case _:
                return None

    def _children(self) -> ChildTable:
        table: RegisteredChildren = fold(read_journal(self._home.system.children))
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
        """Return the machines that have joined; none can reach a home at rest."""
        from actors.supervisor.host_registry import HostRegistry  # imports the bus

        registry = HostRegistry(self._home)
        rows = [
            HostInfo(
                name=host.name,
                state="away",
                is_cordoned=host.is_cordoned,
                labels=(*host.labels, *(host.facts.labels if host.facts else ())),
                facts=host.facts,
            )
            for host in registry.hosts.values()
        ]
        return HostTable(
            hosts=tuple(rows),
            listens_at=self._config.hosts.listen,
            invitations=len(registry.invitations()),
        )

    def _triggers(self, agent: AgentId) -> TriggerTable:
        path = self._home.agent(agent).triggers
        try:
            text = read_bytes(path).decode()
        except FileNotFoundError:
            return TriggerTable(triggers=())
        found = TriggerSet.read(agent, text, UNUSED, path) if text.strip() else None
        triggers = found.triggers.values() if found else ()
        return TriggerTable(triggers=tuple(trigger_view(trigger) for trigger in triggers))

    def _models(self) -> "ProviderPool":
        """Return the models as a broker would know them that is started with our environment."""
        if self._pool is None:
            from actors.broker.provider_pool import ProviderPool  # imports the clients of services

            table, prices = self._home.path / "providers.yaml", self._home.path / "prices.yaml"
            self._pool = ProviderPool(
                self._config, load_presets(table), load_prices(prices), dict(os.environ)
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
            self._ledger = UsageLedger(self._home.system.usage)
        limits = self._ledger.limits(self._config.budgets, self._clock)
        return UsageReader(self._ledger, limits, AgentBudgets(self._home))

    def close(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            self._ledger.close()
