"""The nursery: all keepers of one house, what they need, and what becomes of what they report."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, assert_never

from actors.kinds import entry_named
from actors.launch import Launch
from actors.linux import adopt_orphans
from actors.supervisor.bus_side import BusSide
from actors.supervisor.causes import Trouble, own_fault
from actors.supervisor.groups import GroupKey, affected, group_of, members_of
from actors.supervisor.house import socket_url
from actors.supervisor.keeper import Budget, Keeper, Process
from actors.supervisor.launcher import ExecLauncher, ForkLauncher, Spawned, further_variables
from actors.supervisor.options import SERVICES, SPAWNER, Options
from actors.supervisor.pulses import Bounds, Hung, Pulses, Suspect
from actors.supervisor.reaper import Reaper
from actors.supervisor.register import Register
from actors.supervisor.restarts import Policy
from actors.supervisor.stopping import dump_stack
from actors.supervisor.sweep import Strays, boot_id, started_at, sweep_leftovers
from actors.supervisor.table import Desired, DesiredSet, ProcessBegan
from agiraph.ids import HUMAN, ROUTER, SUPERVISOR, Address, agent_of
from agiraph.messages import Cause, ChildFailed, ChildSpec, ChildState
from agiraph.storage.home import Home
from agiraph.storage.room import WAITS, has_room
from transport.tickets import KEY_BYTES, make_ticket

SWEEP_AGAIN_SECONDS = 0.25
REPORTED = frozenset({"ready", "backing_off", "failed", "exited", "stopped"})
Restarted = Keeper | ForkLauncher


class Nursery:
    """Holds the keepers and is their household. Nothing is touched before `open`."""

    def __init__(self, options: Options, log: Any, on_failure: Callable[[str], None]) -> None:
        """`on_failure` is called with the reason when the house cannot go on."""
        self.home = options.home
        self.options = options
        self.log = log
        self.keepers: dict[str, Keeper] = {}
        self.consoles: dict[str, int] = {}
        self.reaper = Reaper(on_death=self.sweep)
        self.fork: ForkLauncher | None = None
        self.is_stopping = False
        self.url = ""
        self.register: Register
        self.bus: BusSide
        self._on_failure = on_failure
        self._settings = options.config.supervisor
        self.pulses = Pulses(
            Bounds(
                beat_seconds=self._settings.beat_seconds,
                suspect_seconds=self._settings.suspect_seconds,
                hung_seconds=self._settings.hung_seconds,
            )
        )
        self._config = options.config.model_dump(mode="json")
        self._key = secrets.token_bytes(KEY_BYTES)
        self._boot = boot_id()
        self._exec = ExecLauncher(self.reaper, options.environ)
        self._strays = Strays(self.reaper)
        self._sweeping: asyncio.TimerHandle | None = None
        self._budgets: dict[GroupKey, Budget] = {}
        self._regrouping: set[GroupKey] = set()
        self._backing_off: set[str] = set()

    def open(self, house: Home, bus: BusSide) -> None:
        """Read the register, sweep what an earlier supervisor left, and get the launchers ready."""
        self.bus = bus
        self.register = Register(house.system.children)
        left = sweep_leftovers(self.home, self.register.table.processes.values())
        if left:
            self.log.warning("swept leftovers of an earlier supervisor", pids=left)
        self.url = socket_url(house)
        is_subreaper = adopt_orphans()
        self.reaper.listen()
        ahead = self.options.ahead
        self._exec.adopt(ahead.actors)
        wanted = self._settings.launch
        if wanted in ("auto", "fork") and is_subreaper:
            self.fork = ForkLauncher(
                self.reaper,
                self.options.environ,
                self._exec,
                self.home,
                self.sweep,
                self._endless_policy(),
                self.log,
            )
            self.fork.on_start = lambda pid: self._note_process(SPAWNER, pid)
            self.fork.on_change = partial(self._spawner_changed, self.fork)
            if ahead.spawner is not None:
                self.fork.adopt(ahead.spawner)
        elif wanted == "fork":
            self.log.warning("fork needs Linux; starting fresh interpreters instead")
        if self.fork is None and ahead.spawner is not None:
            ahead.spawner.link.close()
        self.reaper.reap()  # those who ended before anybody listened

    # --- who is here ----------------------------------------------------------------------------

    def keeper(self, spec: ChildSpec, desired: Desired = "running") -> Keeper:
        """Return the keeper of a child, with this spec from its next start on."""
        keeper = self.keepers.get(spec.address)
        if keeper is None:
            keeper = self.keepers[spec.address] = Keeper(spec, self, desired)
        keeper.spec = spec
        keeper.budget = self._budget_of(spec, keeper.budget)
        return keeper

    def service(
        self, address: Address, kind: str | None = None, desired: Desired = "running"
    ) -> Keeper:
        """Return the keeper of a service, whose kind is by default its address."""
        settings = self._settings
        return self.keeper(
            ChildSpec(
                address=address,
                kind=kind or address,
                restart="permanent",
                owner=HUMAN,
                intensity=settings.intensity,
                period_seconds=settings.period_seconds,
                ready_within_seconds=settings.ready_within_seconds,
                shutdown_seconds=settings.shutdown_seconds,
            ),
            desired,
        )

    def forget(self, address: str) -> None:
        """Drop a child that is down."""
        self.register.forget(address)
        self.keepers.pop(address, None)
        self.announce()

    def ticket(self, address: str, incarnation: int) -> bytes:
        """Return what admits an incarnation at the router."""
        return make_ticket(self._key, address, incarnation)

    def announce(self) -> None:
        """Tell the router which addresses exist, all of them: it drops the mail of any other.

        The register knows children that have no keeper yet while the house is starting.
        """
        children = (*self.register.table.rows, *self.keepers)
        known = dict.fromkeys((*SERVICES, SUPERVISOR, *children, *self.consoles))
        self.bus.announce(tuple(known))

    # --- what a keeper needs --------------------------------------------------------------------

    def policy(self, keeper: Keeper) -> Policy:
        """Return how often this child may be restarted.

        A service may be given up only while the house starts: then somebody is there to be told.
        """
        spec = keeper.spec
        is_starting = spec.address in SERVICES and not keeper.was_ever_ready
        return replace(
            self._endless_policy(),
            restart=spec.restart,
            intensity=spec.intensity,
            period_seconds=spec.period_seconds,
            endless=agent_of(spec.address) is None and not is_starting,
        )

    def _endless_policy(self) -> Policy:
        """Return the policy of what is never given up."""
        settings = self._settings
        return Policy(
            restart="permanent",
            intensity=settings.intensity,
            period_seconds=settings.period_seconds,
            first_backoff_seconds=settings.first_backoff_seconds,
            max_backoff_seconds=settings.max_backoff_seconds,
            start_attempts=settings.start_attempts,
            endless=True,
        )

    def allot(self, address: str) -> int:
        """Return the next incarnation of an address, written down."""
        return self.register.allot(address)

    async def launch(self, spec: ChildSpec, incarnation: int) -> Spawned:
        """Start the process of a child; the router always gets a fresh interpreter of its own.

        So does whoever has one that waits for its launch already, and whoever is given a secret:
        what passes through the spawner would stay in the memory that all its children share.
        """
        launch = self._launch_of(spec, incarnation)
        has_secrets = bool(further_variables(launch, self.options.environ))
        is_fresh = spec.kind == ROUTER or self._exec.is_ahead(spec.kind) or has_secrets
        launcher = self._exec if is_fresh or self.fork is None else self.fork
        spawned = await launcher.spawn(launch)
        self.log.info("started", child=spec.address, incarnation=incarnation, pid=spawned.pid)
        self._note_process(spec.address, spawned.pid)
        return spawned

    def ask_to_stop(self, address: str) -> bool:
        """Send `control.stop` if the bus stands; return whether it does."""
        return self.bus.ask_to_stop(address)

    # --- what a keeper reports ------------------------------------------------------------------

    def changed(self, keeper: Keeper, cause: str | None) -> None:
        """Log, remember and report a new state of a child."""
        incarnation = self.register.table.incarnations.get(keeper.address, 0)
        about = {"child": keeper.address, "incarnation": incarnation}
        if cause is not None:
            about["cause"] = cause
        if keeper.state in ("backing_off", "failed"):
            self.log.warning(keeper.state, **about)
        elif keeper.state != "starting":
            self.log.info(keeper.state, **about)
        if keeper.state == "ready":
            self.pulses.began(keeper.address, incarnation)
        else:
            self.pulses.ended(keeper.address)
        if keeper.state in REPORTED:
            told = {} if cause is None else {"cause": cause}
            self._report(keeper, f"child.{keeper.state}", told)
        if agent_of(keeper.address) is None:
            self._service_changed(keeper.address, keeper.state, incarnation, keeper)
        if keeper.address == ROUTER and keeper.state != "ready":
            self.bus.router_ended()
        if keeper.state in ("failed", "exited", "parked") and not self.is_stopping:
            self.register.rest(
                DesiredSet(address=keeper.address, desired=keeper.desired, cause=cause)
            )
        if keeper.state == "failed":
            self._gave_up(keeper, incarnation, cause or "")

    def crashed(self, keeper: Keeper, why: Cause) -> None:
        """Log and report an end that nobody ordered."""
        if why.kind != "ordered":
            self.log.warning("ended", child=keeper.address, cause=why.text)
        self._report(keeper, "child.crashed", {"cause": why.text, "why": why.model_dump()})

    def broken(self, address: str, error: BaseException) -> None:
        """Stop: a keeper met what it cannot handle, and nobody watches its child any more."""
        self.log.error("keeper broke", child=address, exc_info=error)
        self._on_failure(f"the keeper of {address} broke: {error}")

    def _spawner_changed(self, fork: ForkLauncher, state: ChildState) -> None:
        self._service_changed(SPAWNER, state, 0, fork)

    def _service_changed(
        self, address: str, state: ChildState, incarnation: int, restarted: Restarted
    ) -> None:
        """Report to every agent at work that a service backs off, and that it is back."""
        if state == "backing_off":
            seconds = max(0.0, (restarted.next_start or 0.0) - time.time())
            told = {"cause": restarted.cause, "seconds": round(seconds, 1)}
            self._backing_off.add(address)
            self._tell_agents("service.backing_off", address, {"incarnation": incarnation, **told})
        elif state == "ready" and address in self._backing_off:
            self._backing_off.discard(address)
            self._tell_agents("service.recovered", address, {"incarnation": incarnation})

    def _tell_agents(self, type: str, service: str, data: dict[str, Any]) -> None:
        living = [at for at, keeper in self.keepers.items() if keeper.is_living]
        for agent in dict.fromkeys(filter(None, map(agent_of, living))):
            self.bus.report(agent, type, service, data)

    def _gave_up(self, keeper: Keeper, incarnation: int, cause: str) -> None:
        if keeper.address == ROUTER:
            self._on_failure(f"the router cannot be kept alive: {cause}")
        owner = keeper.spec.owner
        if owner is not None and owner != keeper.address and not self.is_stopping:
            failed = ChildFailed(
                address=keeper.spec.address, incarnation=incarnation, cause=cause, why=keeper.why
            )
            self.bus.tell(owner, failed)
        for other in self._others_of(keeper):
            if other.is_living:
                self.bus.do(other.give_up(f"{keeper.address} of its group was given up: {cause}"))

    def _report(self, keeper: Keeper, type: str, data: dict[str, Any]) -> None:
        agent = agent_of(keeper.address)
        if agent is not None:
            incarnation = self.register.table.incarnations.get(keeper.address, 0)
            data = {"kind": keeper.spec.kind, "incarnation": incarnation, **data}
            self.bus.report(agent, type, keeper.address, data)

    # --- those that hang ------------------------------------------------------------------------

    def look_for_hung(self, now: float) -> None:
        """Act on whose event loop does not turn; `now` is of a clock that only goes forward."""
        self.bus.beat()
        for finding in self.pulses.look(now):
            keeper = self.keepers.get(finding.address)
            process = keeper.process if keeper is not None else None
            if keeper is None or process is None or process.incarnation != finding.incarnation:
                continue
            if self._waits_for_room(keeper, process):
                self.pulses.forgive(finding.address)
                continue
            match finding:
                case Suspect(seconds=seconds):
                    self._suspect(keeper, process, seconds)
                case Hung(seconds=seconds):
                    text = f"hung: its event loop had not turned for {seconds:.0f} s"
                    self.bus.do(keeper.kill_for(Trouble("hung", text)))
                case _:
                    assert_never(finding)

    def _waits_for_room(self, keeper: Keeper, process: Process) -> bool:
        """Whether a process is silent because the disk is full; people are told of it."""
        if keeper.last_step(process) != WAITS and has_room(self.home):
            return False
        process.note_step(WAITS, time.time())
        self.log.warning(f"the disk is full: it {WAITS}", child=keeper.address)
        return True

    def note_who_waits_for_room(self) -> None:
        """Note of every process that stands still on a full disk that it does: it cannot tell."""
        for keeper in self.keepers.values():
            process = keeper.process
            if process is not None and keeper.last_step(process) == WAITS:
                process.note_step(WAITS, time.time())

    def recovered(self, address: str) -> None:
        """Log and report that a suspect turns its loop again."""
        self.log.info("turns again", child=address)
        self._report(self.keepers[address], "entity.recovered", {})

    def _suspect(self, keeper: Keeper, process: Process, seconds: float) -> None:
        """Have a process write its stack into its log; the handler needs no turn of the loop."""
        step = keeper.last_step(process)
        self.log.warning("suspect", child=keeper.address, seconds=seconds, step=step)
        told = {"seconds": round(seconds, 1), "step": step}
        self._report(keeper, "entity.suspect", told)
        dump_stack(process.spawned.pid)

    # --- groups ---------------------------------------------------------------------------------

    async def step_down(self, keeper: Keeper) -> None:
        """Stop those that must begin again after `keeper`, last first; they follow it up.

        Another end in the same group meanwhile belongs to this round.
        """
        key = group_of(keeper.spec)
        if key is None or key in self._regrouping:
            return
        members = members_of(key, self._specs())
        others = [
            self.keepers[at] for at in affected(members, keeper.spec.strategy, keeper.address)
        ]
        living = [other for other in others if other.is_living]
        self._regrouping.add(key)
        for other in reversed(living):
            await other.stop()
        self.bus.do(self._follow(key, keeper, living))

    async def _follow(self, key: GroupKey, first: Keeper, others: list[Keeper]) -> None:
        """Start the others in order, each once the one before it is ready."""
        try:
            is_ready = await first.wait_ready()
            for other in others:
                row = self.register.table.rows.get(other.address)
                if not is_ready or row is None or row.desired != "running":
                    continue  # given up, or stopped by order meanwhile
                await other.resume()
                is_ready = await other.wait_ready()
        finally:
            self._regrouping.discard(key)

    def _others_of(self, keeper: Keeper) -> list[Keeper]:
        key = group_of(keeper.spec)
        if key is None:
            return []
        members = members_of(key, self._specs())
        return [self.keepers[member] for member in members if member != keeper.address]

    def _budget_of(self, spec: ChildSpec, own: Budget) -> Budget:
        key = group_of(spec)
        if key is None:
            return Budget() if own.is_shared else own
        return self._budgets.setdefault(key, Budget(is_shared=True))

    def _specs(self) -> dict[str, ChildSpec]:
        return {address: keeper.spec for address, keeper in self.keepers.items()}

    # --- processes ------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Kill what descends from us and belongs to nobody, each after its moment to end."""
        loop = asyncio.get_running_loop()
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        killed, is_more = self._strays.sweep(loop.time())
        if killed:
            self.log.info("swept processes whose actor is gone", count=killed)
        if is_more:
            self._sweeping = loop.call_later(SWEEP_AGAIN_SECONDS, self.sweep)

    def _note_process(self, address: str, pid: int) -> None:
        began = started_at(pid)
        self.register.note(
            ProcessBegan(address=address, pid=pid, started_at=began, boot=self._boot)
        )

    def _launch_of(self, spec: ChildSpec, incarnation: int) -> Launch:
        # The key of the tickets is the router's alone, and is never written anywhere.
        args = {"key": self._key} if spec.kind == ROUTER else spec.args
        return Launch(
            address=spec.address,
            kind=spec.kind,
            incarnation=incarnation,
            ticket=self.ticket(spec.address, incarnation),
            router_url=self.url,
            home=self.home,
            args=args,
            config=self._config,
            entry=entry_named(spec.kind, self.options.kinds),
            last_end=own_fault(self.keepers[spec.address].why),
        )
