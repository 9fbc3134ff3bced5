"""StatusReader: the statuses of entities, workers and agents, for every listing.

One is made for each request: it reads each file only once.

The status is decided in this order: a process that is down or about to start has that status; a
reason that stops an entity (it is paused, it has asked the human) is read from its own file, after
any restart; a coordinator whose run stands still has that status, and an entity that waits for a
failing service has that status; a live process has its last reported activity, here or else with
its heartbeat. Without a supervisor no agent works.
"""

from collections.abc import Container, Iterable
from typing import Final

from agiraph.agent.hold import HELD, load_hold
from agiraph.board.progress import shown_standstill
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import (
    CLOCK,
    COORDINATOR_NAME,
    SUPERVISOR,
    WorkerId,
    agent_of,
    coordinator_address,
    worker_address,
)
from agiraph.core.models import (
    ENDED_AGENT,
    Agent,
    EntityState,
    ServiceOutage,
    Standstill,
    WaitingEntity,
    Worker,
)
from agiraph.messages.child import ChildInfo
from agiraph.readmodel.activities import EntityActivities
from agiraph.readmodel.agents import AgentDirectory
from agiraph.readmodel.boards import BoardReader
from agiraph.readmodel.outages import outage_of_run, outages_of
from agiraph.storage.home import AgentHome, RunHome

WAITING = ("waiting_for_nodes", "waiting_for_message")
STANDS: Final = "standing_still"
IDLE: Final = EntityState(state="idle")
AT_REST = (None, "idle", "ready", "waiting_for_nodes", "waiting_for_human", "parked")


class StatusReader:
    """Decides statuses from records, questions, the supervisor's table and reports.

    `table` is empty if the supervisor did not answer; `asking` are the addresses of all entities
    with an open question. A service that fails more than `most_faults` times in a row suspends the
    runs that need it.
    """

    def __init__(
        self,
        agents: AgentDirectory,
        boards: BoardReader,
        activities: EntityActivities,
        asking: Container[str],
        table: Iterable[ChildInfo],
        most_faults: int = 5,
    ) -> None:
        self._agents, self._boards = agents, boards
        self._activities, self._asking = activities, asking
        self._children: dict[str, ChildInfo] = {child.address: child for child in table}
        self._outages = outages_of(self._children.values(), most_faults)
        self._holds: dict[str, EntityState] = {}
        self._runs: dict[str, tuple[AgentHome, RunHome | None] | None] = {}

    def child(self, address: str) -> ChildInfo | None:
        """Return an entity's row of the supervisor's table, None if it has none."""
        return self._children.get(address)

    def activity(self, address: str) -> EntityState | None:
        """Return the activity or wait of an entity; None if only its process's state is known."""
        child = self._children.get(address)
        if child is not None and child.state not in ("starting", "ready", "parked"):
            return None
        if child is not None and child.doing.state == "waiting_for_room":  # observed from outside
            return child.doing
        if (held := self._hold_of(address)).state:
            return held
        if (stands := self._standstill_of(address)) is not None:
            return EntityState(state=STANDS, step=shown_standstill(stands), since=stands.since)
        if child is not None and (outage := self._awaited_outage(child)) is not None:
            since = child.doing.since
            return EntityState(state="waiting_for_service", step=outage.awaited, since=since)
        if child is None:
            return self._activities.get(address) or self._question_of(address)
        if child.state != "ready":
            return None
        rest = IDLE if agent_of(address) else None
        return self._reported(child) or self._question_of(address) or rest

    def worker(self, agent: Agent, worker: Worker) -> str:
        """Return a worker's status: that on the board, unless its process is stopped or held."""
        if worker.status == "stopped":
            return worker.status
        address = worker_address(agent.id, worker.id)
        child = self._children.get(address)
        if child is not None and child.state in ("stopped", "failed"):
            return "stopped"
        activity = self.activity(address)
        state = activity.state if activity else ""
        return state if state in HELD else worker.status

    def agent(self, agent: Agent) -> str:
        """Return an agent's status: that in its record, unless its processes do not run."""
        if agent.status in ENDED_AGENT:
            return agent.status
        address = coordinator_address(agent.id)
        child = self._children.get(address)
        state = child.state if child is not None else "stopped" if self._children else None
        if state in ("stopped", "failed"):
            return state
        activity = self.activity(address)
        if activity is not None and activity.state in HELD:
            return activity.state
        if self.outage(agent) is not None:
            return STANDS
        if agent.status == "idle":
            return agent.status
        if agent.standstill is not None:
            return "waiting_for_human" if agent.standstill.for_human else STANDS
        is_at_rest = (activity.state if activity else state) in AT_REST
        if is_at_rest and self._team_waits(agent):
            return "waiting_for_human"
        supervisor = self._children.get(SUPERVISOR)
        return "stopped" if supervisor and supervisor.state == "stopped" else "working"

    def outage(self, agent: Agent) -> ServiceOutage | None:
        """Return the service whose repeated failure suspends an agent's run, None if there is none.

        A run between two cycles needs the scheduler, which begins the next one.
        """
        if not self._outages or agent.status in ENDED_AGENT:
            return None
        if agent.next_cycle_at is not None:
            return self._outages.get(CLOCK)
        return outage_of_run(self._team_of(agent), self._outages)

    def standstill(self, agent: Agent) -> Standstill | None:
        """Return each waiting entity of an agent's run if the run cannot continue by itself."""
        if (found := self.outage(agent)) is None:
            return agent.standstill
        waiting = []
        for child in self._team_of(agent):
            if (outage := self._awaited_outage(child)) is not None:
                entity, node = self._names_of(agent, child.address)
                since = child.doing.since or child.started_at or 0.0
                waits = WaitingEntity(entity=entity, node=node, waits=outage.awaited, since=since)
                waiting.append(waits)
        if not waiting:
            since = agent.updated_at
            waits = WaitingEntity(
                entity=COORDINATOR_NAME, node="", waits=found.awaited, since=since
            )
            waiting = [waits]
        return Standstill(since=max(one.since for one in waiting), waiting=tuple(waiting))

    def wait_of(self, address: str) -> tuple[str, float] | None:
        """Return the wait of a worker without a process, and since when, as on the board."""
        agent = self._agents.get(agent_of(address) or "")
        if agent is None:
            return None
        try:
            board = self._boards.get(self._agents.run_of(agent))
        except (AgiraphError, OSError):
            return None
        worker = board.workers.get(WorkerId(address.partition("/")[2]))
        wait = board.waits.get(worker.node) if worker and worker.node else None
        if wait is None:
            return None
        names = ", ".join(board.nodes[one].name for one in wait.waits_for)
        return f"waits for {names or 'a message'}", wait.ts

    def _team_waits(self, agent: Agent) -> bool:
        """Whether all workers with nodes wait only for the human's answers."""
        try:
            board = self._boards.get(self._agents.run_of(agent))
        except (AgiraphError, OSError):
            return False  # a damaged board must not hide the agent
        holders = [worker for worker in board.workers.values() if worker.node is not None]
        statuses = {self.worker(agent, worker) for worker in holders}
        return "waiting_for_human" in statuses and statuses <= {*HELD, *WAITING}

    def _reported(self, child: ChildInfo) -> EntityState | None:
        """Return the last reported state of a live process, None if unknown.

        A gateway that was restarted has no report yet of a process that is busy for a while, and
        the heartbeat of an idle entity contains none.
        """
        known = self._activities.get(child.address, child.incarnation)
        if known is not None or child.doing.state in ("", "idle"):
            return known
        return child.doing

    def _question_of(self, address: str) -> EntityState | None:
        """Return the wait of an entity with an open question that has reported no state."""
        if address not in self._asking:
            return None
        return EntityState(state="waiting_for_human")

    def _awaited_outage(self, child: ChildInfo | None) -> ServiceOutage | None:
        """Return the failing service that the process of an entity waits for."""
        is_entity = child is not None and child.state == "ready" and agent_of(child.address)
        awaited = child.awaits if child is not None and is_entity else ()
        return next((self._outages[one] for one in awaited if one in self._outages), None)

    def _team_of(self, agent: Agent) -> list[ChildInfo]:
        """Return the processes of an agent's entities."""
        return [child for at, child in self._children.items() if agent_of(at) == agent.id]

    def _names_of(self, agent: Agent, address: str) -> tuple[str, str]:
        """Return the names of an entity and of its node, '' without a node."""
        inner = address.partition("/")[2]
        try:
            board = self._boards.get(self._agents.run_of(agent))
        except (AgiraphError, OSError):
            return inner, ""
        worker = board.workers.get(WorkerId(inner))
        if worker is None:
            return inner, ""
        return worker.name, board.nodes[worker.node].name if worker.node else ""

    def _standstill_of(self, address: str) -> Standstill | None:
        """Return the standstill of a coordinator's run if only the coordinator itself can act."""
        id = agent_of(address)
        if (
            id is None
            or address != coordinator_address(id)
            or (agent := self._agents.get(id)) is None
        ):
            return None
        found = self.standstill(agent) if agent.status not in ENDED_AGENT else None
        return found if found is not None and not found.for_human else None

    def _hold_of(self, address: str) -> EntityState:
        if address not in self._holds:
            self._holds[address] = self._read_hold(address)
        return self._holds[address]

    def _read_hold(self, address: str) -> EntityState:
        id = agent_of(address)
        if id is None:
            return EntityState()
        inner = address.partition("/")[2]
        if id not in self._runs:
            agent = self._agents.get(id)
            homes = (self._agents.home_of(agent), self._agents.run_of(agent)) if agent else None
            self._runs[id] = homes
        known = self._runs[id]
        if known is None:
            return EntityState()
        home, run = known
        if inner == COORDINATOR_NAME:
            return load_hold(home.hold)
        return load_hold(run.worker(inner).hold) if run is not None else EntityState()
