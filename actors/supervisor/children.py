"""Children: the monitors of all children of one home, and the reactions to their state changes."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from actors.runtime.kinds import entry_named
from actors.runtime.launch import ActorLaunch
from actors.runtime.linux import adopt_orphans
from actors.supervisor.child_monitor import ChildMonitor, MonitorHooks
from actors.supervisor.hang_watch import HangWatch
from actors.supervisor.input_watch import InputWatch
from actors.supervisor.options import SERVICES, SPAWNER, SupervisorOptions
from actors.supervisor.orphan_processes import OrphanProcesses, boot_id, kill_leftovers, started_at
from actors.supervisor.processes.causes import fault_of
from actors.supervisor.processes.handle import LocalHandle, ProcessFiles, ProcessHandle
from actors.supervisor.processes.launcher import ExecLauncher, ForkLauncher, further_variables
from actors.supervisor.processes.reaper import Reaper
from actors.supervisor.processes.restarts import RestartPolicy
from actors.supervisor.supervisor_endpoint import SupervisorEndpoint
from agiraph.core.hosts import HOME_HOST
from agiraph.core.ids import (
    FILES,
    HOST_PREFIX,
    HUMAN,
    ROUTER,
    SUPERVISOR,
    Address,
    AgentId,
    agent_of,
)
from agiraph.messages.child import ChildFailed, ChildSpec, ChildState, ExitCause
from agiraph.readmodel.child_register import (
    ChildRegister,
    Desired,
    DesiredStateSet,
    ProcessStarted,
    lost_from,
)
from agiraph.settings.hosts import config_for_hosts
from agiraph.storage.files import is_file, is_folder
from agiraph.storage.home import Home
from agiraph.storage.home_folders import socket_url
from agiraph.storage.run_lease import is_left
from transport.mailbox_file import recorded_incarnations
from transport.tickets import KEY_BYTES, make_ticket

if TYPE_CHECKING:
    from actors.supervisor.hosts import Hosts
    from actors.supervisor.placement import NotPlaced

REPORTED = frozenset({"ready", "backing_off", "failed", "exited", "stopped"})
AT_WORK = frozenset({"starting", "ready", "backing_off", "parked"})
PATIENCE_WITH_HOSTS = 4.0
"""The factor by which a process on another machine may take longer to become ready."""
LEFT = "the command that watched it has ended"
Restarted = ChildMonitor | ForkLauncher


class Children:
    """The monitors of all children of one home; no file or process is touched before `open`.

    `on_failure` is called with the reason when the supervisor cannot continue.
    """

    def __init__(
        self, options: SupervisorOptions, log: Any, on_failure: Callable[[str], None]
    ) -> None:
        self.home = options.home
        self.options = options
        self.log = log
        self.monitors: dict[str, ChildMonitor] = {}
        self.consoles: dict[str, int] = {}
        self.reaper = Reaper(on_death=self.kill_orphans)
        self.fork: ForkLauncher | None = None
        self.is_stopping = False
        self.url = ""
        self.register: ChildRegister
        self.bus: SupervisorEndpoint
        self._on_failure = on_failure
        self._settings = options.config.supervisor
        self.hangs = HangWatch(
            self._settings,
            self.home,
            self.monitors,
            beat=lambda: self.bus.beat(),
            report=self.report,
            run=lambda work: self.bus.run_in_background(work),
            is_silent=lambda name: self.hosts is not None and self.hosts.is_silent(name),
            log=log,
        )
        self.hosts: Hosts | None = None
        """The other machines, if this home has or may have any."""
        self._inputs = InputWatch(
            Home(options.home),
            lambda agent, type, at, data: self.bus.report_event(agent, type, at, data),
        )
        self._hooks = MonitorHooks(
            policy=self._policy,
            place=self._place,
            allot=lambda address: self.register.allot(address),
            launch=self._launch,
            ask_to_stop=lambda address, after: self.bus.ask_to_stop(address, after_step=after),
            ended=self._inputs.after_end,
            changed=self._changed,
            crashed=self._crashed,
            broken=self._broken,
        )
        self._config = options.config.model_dump(mode="json")
        self._key = secrets.token_bytes(KEY_BYTES)
        self._boot = boot_id()
        self._exec = ExecLauncher(self.reaper, options.environ)
        self._orphans = OrphanProcesses(self.reaper)
        self._orphans.on_killed = lambda count: self.log.info(
            "killed processes whose actor has ended", count=count
        )
        self._backing_off: set[str] = set()
        self._leaving: set[AgentId] = set()

    def open(self, house: Home, bus: SupervisorEndpoint) -> None:
        """Read the register, kill leftovers of an earlier supervisor, and prepare the launchers."""
        self.bus = bus
        self.register = _open_register(house, self.log)
        if left := kill_leftovers(self.home, self.register.table.processes.values()):
            self.log.warning("killed leftovers of an earlier supervisor", pids=left)
        self.url = socket_url(house)
        is_subreaper = adopt_orphans()
        self.reaper.listen()
        prestarted = self.options.prestarted
        if prestarted:
            self._exec.adopt(ROUTER, prestarted.router)
        wanted = self._settings.launch
        if wanted in ("auto", "fork") and is_subreaper:
            self.fork = ForkLauncher(
                self.reaper,
                self.options.environ,
                self._exec,
                self.home,
                self.kill_orphans,
                self._endless_policy(),
                self.log,
            )
            self.fork.on_start = lambda pid: self._note_process(SPAWNER, pid)
            report = partial(self._service_changed, SPAWNER, incarnation=0, restarted=self.fork)
            self.fork.on_change = report
            if prestarted:
                self.fork.adopt(*prestarted.spawner)
        elif wanted == "fork":
            self.log.warning("fork needs Linux; starting fresh interpreters instead")
        self.reaper.reap()  # exits before the signal handler was installed
        if self.options.config.hosts.listen or is_file(house.system.hosts):
            self.hosts = self._open_hosts(house)

    # --- the table ------------------------------------------------------------------------------

    def monitor(self, spec: ChildSpec, desired: Desired = "running") -> ChildMonitor:
        """Return the monitor of a child, which uses this spec from the next start on."""
        monitor = self.monitors.get(spec.address)
        if monitor is None:
            monitor = self.monitors[spec.address] = ChildMonitor(spec, self._hooks, desired)
        monitor.spec = spec
        return monitor

    def service(
        self, address: Address, kind: str | None = None, desired: Desired = "running"
    ) -> ChildMonitor:
        """Return the monitor of a service, whose kind is by default its address."""
        settings = self._settings
        return self.monitor(
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
        """Forget a stopped child and its monitor; a later start makes a new monitor."""
        self.register.forget(address)
        if (monitor := self.monitors.pop(address, None)) is not None:
            monitor.is_forgotten = True
        self.announce()

    def ticket(self, address: str, incarnation: int, host: str = "") -> bytes:
        """Return the ticket of an incarnation for its hello to the router, from `host` only."""
        return make_ticket(self._key, address, incarnation, HOST_PREFIX + host if host else "")

    def incarnation(self, address: str) -> int:
        """Return the newest incarnation of an address, 0 if it never had one."""
        return self.register.table.incarnations.get(address, 0)

    def announce(self) -> None:
        """Report all existing addresses to the router, which drops messages to other addresses.

        While the supervisor is starting, the register has children without a monitor.
        """
        children = (*self.register.table.rows, *self.monitors, *self.register.unregistered)
        known = dict.fromkeys((*SERVICES, SUPERVISOR, *children, *self.consoles))
        self.bus.announce(tuple(known))

    # --- hooks of the monitors ------------------------------------------------------------------

    def _policy(self, monitor: ChildMonitor) -> RestartPolicy:
        """Return the restart policy of a child.

        A service may be given up only before it was ready for the first time: a person who starts
        it reads the reason.
        """
        spec = monitor.spec
        is_starting = spec.address in SERVICES and not monitor.was_ever_ready
        return replace(
            self._endless_policy(),
            restart=spec.restart,
            intensity=spec.intensity,
            period_seconds=spec.period_seconds,
            endless=agent_of(spec.address) is None and not is_starting,
        )

    def _endless_policy(self) -> RestartPolicy:
        """Return the policy of services, which are never given up."""
        settings = self._settings
        return RestartPolicy(
            restart="permanent",
            intensity=settings.intensity,
            period_seconds=settings.period_seconds,
            first_backoff_seconds=settings.first_backoff_seconds,
            max_backoff_seconds=settings.max_backoff_seconds,
            start_attempts=settings.start_attempts,
            endless=True,
        )

    def _place(self, spec: ChildSpec) -> "str | NotPlaced":
        """Return the host to start a child on, '' for this machine, or why it must wait."""
        if self.hosts is not None:
            return self.hosts.place(spec)
        if spec.host in (None, HOME_HOST) and not spec.labels:
            return ""
        from actors.supervisor.placement import place_at_home  # no other machine, rarely asked

        return place_at_home(spec.host, spec.labels)

    async def _launch(self, spec: ChildSpec, incarnation: int, host: str) -> ProcessHandle:
        """Start a child's process, whose time to become ready is then limited; return it."""
        handle = await self._spawn(spec, incarnation, host)
        limit = spec.ready_within_seconds * (PATIENCE_WITH_HOSTS if host else 1.0)
        self.hangs.heartbeats.started(spec.address, incarnation, limit)
        return handle

    async def _spawn(self, spec: ChildSpec, incarnation: int, host: str) -> ProcessHandle:
        """Return a new process of a child: on its host, by a fork, or a fresh interpreter.

        The router and all processes with secrets run in fresh interpreters: a secret that passes
        through the spawner would stay in the memory that all its children share.
        """
        launch = self._launch_of(spec, incarnation, host)
        if host and self.hosts is not None:
            self.log.info("started", child=spec.address, incarnation=incarnation, host=host)
            return self.hosts.launch(host, launch)
        has_secrets = bool(further_variables(launch, self.options.environ))
        is_fresh = spec.kind == ROUTER or has_secrets
        launcher: ExecLauncher | ForkLauncher = (
            self._exec if is_fresh or self.fork is None else self.fork
        )
        files = ProcessFiles(self.home, spec.address, incarnation)
        spawned = await launcher.spawn(launch)
        self.log.info("started", child=spec.address, incarnation=incarnation, pid=spawned.pid)
        self._note_process(spec.address, spawned.pid)
        return LocalHandle(spawned, files)

    def _changed(self, monitor: ChildMonitor, cause: str | None) -> None:
        """Log, store and report a new state of a child."""
        incarnation = self.incarnation(monitor.address)
        about = {"child": monitor.address, "incarnation": incarnation}
        if cause is not None:
            about["cause"] = cause
        if monitor.state in ("backing_off", "failed"):
            self.log.warning(monitor.state, **about)
        elif monitor.state != "starting":
            self.log.info(monitor.state, **about)
        if monitor.state == "ready":
            self.hangs.heartbeats.began(monitor.address, incarnation)
        else:
            self.hangs.heartbeats.ended(monitor.address)
        if monitor.state in REPORTED:
            data: dict[str, Any] = {} if cause is None else {"cause": cause}
            if monitor.state == "ready" and incarnation > 1 and not monitor.was_parked:
                data["was_restarted"] = True
            self.report(monitor, f"child.{monitor.state}", data)
        if agent_of(monitor.address) is None:
            self._service_changed(monitor.address, monitor.state, incarnation, monitor)
        if monitor.address == ROUTER and monitor.state != "ready":
            self.bus.router_ended()
        if monitor.state in ("failed", "exited", "parked") and not self.is_stopping:
            self.register.rest(
                DesiredStateSet(address=monitor.address, desired=monitor.desired, cause=cause)
            )
        if monitor.state == "failed":
            self._gave_up(monitor, incarnation, cause or "")

    def _crashed(self, monitor: ChildMonitor, why: ExitCause) -> None:
        """Log and report an exit that the supervisor did not order."""
        if why.kind != "ordered":
            self.log.warning("ended", child=monitor.address, cause=why.text)
        self.report(monitor, "child.crashed", {"cause": why.text, "why": why.model_dump()})

    def _broken(self, address: str, error: BaseException) -> None:
        """Stop the supervisor: a monitor failed, and its child is no longer watched."""
        self.log.error("monitor failed", child=address, exc_info=error)
        self._on_failure(f"the monitor of {address} failed: {error}")

    def _service_changed(
        self, address: str, state: ChildState, incarnation: int, restarted: Restarted
    ) -> None:
        """Report to every working agent that a service backs off, and its recovery."""
        if state == "backing_off":
            seconds = max(0.0, (restarted.next_start or 0.0) - time.time())
            data = {"incarnation": incarnation, "cause": restarted.cause}
            self._backing_off.add(address)
            self._report_to_agents(
                "service.backing_off", address, data | {"seconds": round(seconds, 1)}
            )
        elif state == "ready" and address in self._backing_off:
            self._backing_off.discard(address)
            self._report_to_agents("service.recovered", address, {"incarnation": incarnation})

    def _report_to_agents(self, type: str, service: str, data: dict[str, Any]) -> None:
        running = [at for at, monitor in self.monitors.items() if monitor.is_running]
        for agent in dict.fromkeys(filter(None, map(agent_of, running))):
            self.bus.report_event(agent, type, service, data)

    def _gave_up(self, monitor: ChildMonitor, incarnation: int, cause: str) -> None:
        if monitor.address == ROUTER:
            self._on_failure(f"the router cannot be kept alive: {cause}")
        owner = monitor.spec.owner
        if owner is not None and owner != monitor.address and not self.is_stopping:
            failed = ChildFailed(
                address=monitor.spec.address, incarnation=incarnation, cause=cause, why=monitor.why
            )
            self.bus.send(owner, failed)

    def report(self, monitor: ChildMonitor, type: str, data: dict[str, Any]) -> None:
        agent = agent_of(monitor.address)
        if agent is not None:
            incarnation = self.incarnation(monitor.address)
            data = {"kind": monitor.spec.kind, "incarnation": incarnation, **data}
            self.bus.report_event(agent, type, monitor.address, data)

    # --- agents without their command -----------------------------------------------------------

    def is_left(self, agent: AgentId | None) -> bool:
        """Whether an agent must be stopped because the command that attended it has ended.

        Always False if this supervisor does not end with its commands (`until_unused`).
        """
        return self.options.until_unused and agent is not None and is_left(self.home, agent)

    def stop_left(self) -> None:
        """Stop the agents whose commands have ended."""
        at_work = [at for at, monitor in self.monitors.items() if monitor.state in AT_WORK]
        for agent in dict.fromkeys(filter(None, map(agent_of, at_work))):
            if agent not in self._leaving and not self.is_stopping and self.is_left(agent):
                self._leaving.add(agent)
                self.bus.run_in_background(self._stop_team(agent))

    async def _stop_team(self, agent: AgentId) -> None:
        """Stop an agent; its coordinator first, which must not see its workers exit.

        The register stays unchanged: a supervisor that is not bound to commands continues the
        agent.
        """
        team = [
            monitor
            for at, monitor in self.monitors.items()
            if agent_of(at) == agent and monitor.state in AT_WORK
        ]
        self.log.warning("stops: its command has ended", agent=agent)
        try:
            for is_worker in (False, True):
                those = [one for one in team if (one.spec.kind != "coordinator") == is_worker]
                await asyncio.gather(*(one.stop() for one in those))
        finally:
            self._leaving.discard(agent)
        data = {"by": SUPERVISOR, "reason": LEFT, "entities": [one.address for one in team]}
        self.bus.report_event(agent, "agent.stopped", SUPERVISOR, data)

    # --- processes ------------------------------------------------------------------------------

    def kill_orphans(self) -> None:
        """Kill processes that outlived their actor, each after a moment to end by itself."""
        self._orphans.kill()

    def _note_process(self, address: str, pid: int) -> None:
        began = started_at(pid)
        self.register.note(
            ProcessStarted(address=address, pid=pid, started_at=began, boot=self._boot)
        )

    def _open_hosts(self, house: Home) -> "Hosts":
        from actors.supervisor.hosts import Hosts  # most homes have one machine

        return Hosts(
            house,
            self.options.config.hosts,
            self.bus,
            processes=lambda: self.register.table.processes,
            note=self.register.note,
            count_at_home=lambda: sum(
                one.process is not None and not one.process.handle.host
                for one in self.monitors.values()
            ),
            tell_all=self._report_to_agents,
            files=lambda: self.monitors.get(FILES),
            log=self.log,
        )

    def _router_args(self) -> dict[str, Any]:
        """Return the router's own arguments: the key of the tickets is never written to disk."""
        uplink = self.hosts.uplink() if self.hosts is not None else None
        return {"key": self._key} | ({"uplink": uplink} if uplink else {})

    def _launch_of(self, spec: ChildSpec, incarnation: int, host: str) -> ActorLaunch:
        args = self._router_args() if spec.kind == ROUTER else spec.args
        return ActorLaunch(
            address=spec.address,
            kind=spec.kind,
            incarnation=incarnation,
            ticket=self.ticket(spec.address, incarnation, host),
            router_url=self.url,
            home=self.home,
            args=args,
            config=config_for_hosts(self._config) if host else self._config,
            entry=entry_named(spec.kind, self.options.kinds),
            last_end=fault_of(self.monitors[spec.address].why),
            host=host,
        )


def _open_register(house: Home, log: Any) -> ChildRegister:
    """Return the register of a home; lost records are logged. Raises Corrupt, ValueError."""
    recorded = recorded_incarnations(house.system.mailboxes)
    register = ChildRegister(house.system.children, recorded)
    lost = lost_from(register.table, recorded)
    if SUPERVISOR in lost:
        log.warning(
            f"{house.system.children} has lost its end, or was removed or replaced by an older"
            " copy: incarnations continue above those that the router has recorded, and agents that"
            " it does not name stay stopped (`agiraph doctor` names them)",
            addresses=len(lost),
        )
    register.unregistered = tuple(
        address
        for address in lost
        if (agent := agent_of(address)) and is_folder(house.agent(agent).path)
    )
    return register
