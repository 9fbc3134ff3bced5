"""WorkerProcesses: requests the start and end of workers' processes from the supervisor."""

import asyncio
from collections.abc import Callable

from actors.coordinator.context import CoordinatorContext
from actors.coordinator.worktrees import RunWorktrees
from actors.entity.args import WorkerArgs
from actors.entity.sandbox_report import programs_in_words
from actors.runtime.ask_again import ask_until_answered
from agiraph.board import commands as c
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.hosts import HOME_HOST
from agiraph.core.ids import SUPERVISOR, WorkerId, coordinator_address, worker_address
from agiraph.core.models import Worker
from agiraph.core.specs import WorkerType, WorkMode
from agiraph.messages.child import ChildSpec, StartChild, StopChild


class WorkerProcesses:
    """The processes of one run's workers.

    `has_managers` returns whether a worker of the run may lead others. `starting` are the workers
    whose requested process does not exist yet: the process may wait for a machine.
    """

    def __init__(
        self,
        context: CoordinatorContext,
        worktrees: RunWorktrees,
        has_managers: Callable[[], bool],
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._agent = context.args.agent
        self._worktrees = worktrees
        self._has_managers = has_managers
        self.starting: set[WorkerId] = set()

    def check(self, command: c.Command) -> None:
        """Raise InvalidInput if a worker that needs the home's machine is to run elsewhere."""
        for spec in c.workers_asked_for(command):
            if spec.host in (None, HOME_HOST) and not spec.host_labels:
                continue
            mode, type_ = spec.mode or "multi_turn", spec.type or "harnessed"
            if (why := self._why_at_home(type_, mode)) is not None:
                raise InvalidInput(
                    f"worker '{spec.name}' {why}, so it runs on the home's own machine: leave host"
                    " and host_labels out"
                )

    async def start(self, worker: Worker) -> None:
        """Ask the supervisor to run a worker's process; harmless if it is already running.

        Returns once the process exists: it may wait for a machine. Raises Refused.
        """
        self.starting.add(worker.id)
        try:
            body = StartChild(spec=await self._spec_of(worker))
            self._runtime.done(await ask_until_answered(self._runtime, SUPERVISOR, body))
        finally:
            self.starting.discard(worker.id)

    async def _spec_of(self, worker: Worker) -> ChildSpec:
        stays = None
        if self._runtime.config.hosts.listen:
            stays = self._why_at_home(worker.type, worker.mode)
        host, labels = self._where(worker) if stays is None else (HOME_HOST, ())
        is_at_home = not self._runtime.config.hosts.listen or host == HOME_HOST
        has_tools = worker.type == "harnessed" and worker.mode == "multi_turn"
        args = WorkerArgs(
            agent=self._agent.id,
            agent_name=self._agent.name,
            run=self._context.run,
            worker=worker,
            model=self._agent.worker_model,
            today=self._context.record.today,
            spec=self._agent.spec.model_copy(update={"plan": None}),
            has_leader=self._agent.leader == "model" or self._has_managers(),
            programs=await self._programs() if is_at_home and has_tools else (),
        )
        return ChildSpec(
            address=worker_address(self._agent.id, worker.id),
            kind="worker",
            args=args.model_dump(mode="json"),
            restart="transient",
            owner=coordinator_address(self._agent.id),
            intensity=self._runtime.config.supervisor.intensity,
            period_seconds=self._runtime.config.supervisor.period_seconds,
            ready_within_seconds=self._runtime.config.supervisor.ready_within_seconds,
            host=host,
            labels=labels,
            stays=stays or "",
        )

    async def _programs(self) -> tuple[str, ...]:
        """Return the lines about this machine's programs, which cost each worker 12 ms."""
        context, config = self._context, self._runtime.config
        home = self._runtime.home.path.resolve()
        return await asyncio.to_thread(
            programs_in_words,
            config.sandbox,
            context.command_path,
            context.scope.input_dir,
            home,
        )

    def _where(self, worker: Worker) -> tuple[str | None, tuple[str, ...]]:
        """Return a worker's host and host labels; without either, the defaults of the settings."""
        if worker.host is not None or worker.host_labels:
            return worker.host, worker.host_labels
        hosts = self._runtime.config.hosts
        return hosts.default_host or None, hosts.default_labels

    def _why_at_home(self, type: WorkerType, mode: WorkMode) -> str | None:
        """Return why a worker of this type and mode must run on the home's machine, else None."""
        if type == "autonomous":
            return "is an external agent, whose folder and way to models are there"
        if self._agent.input and self._runtime.config.sandbox.input != "read":
            return "may change the input folder"
        is_in_worktree = self._worktrees.may_order_for(type, mode)
        return "works in a git worktree" if is_in_worktree else None

    async def dismiss(self, worker: WorkerId) -> None:
        """Ask the supervisor to stop a worker's process and to forget its address."""
        body = StopChild(
            address=worker_address(self._agent.id, worker), how="forget", reason="its work is over"
        )
        try:
            self._runtime.done(await ask_until_answered(self._runtime, SUPERVISOR, body))
        except Refused as error:
            self._runtime.log.debug("nothing to dismiss", worker=worker, reason=str(error))
