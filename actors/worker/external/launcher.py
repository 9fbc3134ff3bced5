"""AgentLauncher: prepares each start of an external agent: files, model access, command line."""

import os
from dataclasses import dataclass
from pathlib import Path

from actors.entity.args import billing
from actors.runtime.ask_again import ask_for, ask_until_answered
from actors.worker.context import NodeLimitReached, WorkerContext
from actors.worker.reflection import known_before
from agiraph.agent.node_limits import at_door
from agiraph.core.errors import Refused
from agiraph.core.ids import BROKER, derived_message_id, split_model
from agiraph.core.models import Assignment
from agiraph.core.turns import Usage
from agiraph.external.agent_prompts import context_of, prompt_again, prompt_for, task_text
from agiraph.external.exchange_files import CHECKPOINT, TASK, ExchangeFolder
from agiraph.external.launching import (
    TEMPORARY,
    AgentLaunch,
    ProxyEndpoint,
    argv_of,
    files_of,
    sandbox_readable,
    sandbox_writable,
)
from agiraph.external.preflight import require_sandbox
from agiraph.external.preset import ExternalAgent
from agiraph.messages.llm_proxy import (
    CloseProxy,
    OpenProxy,
    ProxyCostsSettled,
    ProxyOpened,
    SettleProxyCosts,
)
from agiraph.storage.files import entries, is_folder, make_folder, remove_tree, replace_file
from agiraph.storage.walk import UnsafeFile
from agiraph.tools.sandbox.sandbox import find_sandbox

WORKER_DIED = "your worker's process was ended"


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """The command line of an agent, and its PATH.

    `standins` are paths at which an empty folder must exist while the agent runs in the sandbox.
    """

    words: tuple[str, ...]
    path: str
    standins: tuple[str, ...] = ()


class AgentLauncher:
    """Prepares the starts of one agent on one node; opens the LLM proxy for each."""

    def __init__(
        self,
        worker: WorkerContext,
        assignment: Assignment,
        agent: ExternalAgent,
        exchange: ExchangeFolder,
    ) -> None:
        self._worker = worker
        self._assignment = assignment
        self._agent = agent
        self._exchange = exchange
        self._state = worker.transcript.outside
        self._proxy: ProxyEndpoint | None = None
        self.sandbox = find_sandbox(worker.runtime.config.sandbox)

    async def prepare(self) -> AgentLaunch:
        """Write the agent's files, open the LLM proxy, and return the launch.

        Raises NodeLimitReached if the agent cannot get access to models.
        """
        state, agent, home = self._state, self._agent, self._worker.files.home
        task = self._write_exchange_files()
        resumes = bool(state.session and agent.preset.resume)
        if agent.preset.account == "door" and agent.preset.wire != "none":
            self._proxy = await self._open_proxy()
        for name in ("", *agent.preset.folders):
            make_folder(home.outside / name, 0o700)
        for name in (TEMPORARY, *agent.preset.removed):
            remove_tree(home.outside / name)
        make_folder(home.outside / TEMPORARY, 0o700)
        prompt = prompt_for(task)
        if state.starts or state.undelivered:
            prompt = self._prompt_again("" if resumes else task)
        model = self._worker.args.worker.model or self._worker.args.model
        input_dir, nodes = self._worker.args.spec.input, self._worker.run_home.nodes
        inputs = [input_dir] if input_dir else []
        published = (nodes / one.name / "published" for one in entries(nodes))
        return AgentLaunch(
            agent=agent,
            prompt=prompt,
            folder=self._exchange.folder,
            home=home.outside,
            model=split_model(model)[1] if self._proxy else "",
            session=state.session if resumes else "",
            prompt_if_lost=self._prompt_again(task),
            proxy=self._proxy,
            is_sandboxed=self.sandbox.is_up,
            readable=(*map(Path, inputs), *filter(is_folder, published)),
            spent=state.usage if resumes else Usage(),
            readable_patterns=(*inputs, f"{nodes}/*/published"),
        )

    def command(self, launch: AgentLaunch) -> AgentCommand:
        """Return the command line, in the sandbox if there is one; write the files of its HOME.

        Blocks as `Sandbox.enclose` and `require_sandbox`. Raises NodeLimitReached if the agent
        cannot work here.
        """
        path = os.environ.get("PATH", os.defpath)
        try:
            require_sandbox(launch.agent, self.sandbox, os.environ)
            for file, text in files_of(launch).items():
                replace_file(file, text)
            argv = argv_of(launch)
            enclosure = self.sandbox.enclose(
                self._worker.scope,
                path=path,
                writable=sandbox_writable(launch),
                readable=sandbox_readable(launch.agent, path),
                has_network=True if launch.proxy else None,
                cwd=launch.folder,
            )
            return AgentCommand((*enclosure.words, *argv), enclosure.path, enclosure.standins)
        except (Refused, UnsafeFile) as error:
            raise NodeLimitReached(str(error)) from None

    def _write_exchange_files(self) -> str:
        """Write the files for the agent; return its task."""
        worker, assignment, args = self._worker, self._assignment, self._worker.args
        run, input_dir = worker.run_home.path, args.spec.input
        if self._state.starts == 0:
            self._exchange.reset()
        known = known_before(worker.files, worker.runtime.config.memory.worker_limit)
        task = task_text(assignment, args.worker, run=run, known=known, input_dir=input_dir)
        self._exchange.write(TASK, f"{task}\n")
        self._exchange.write_context(
            context_of(assignment, args.worker, run=run, agent=args.agent_name, input_dir=input_dir)
        )
        self._exchange.write_inbox(self._state.messages)
        return task

    def _prompt_again(self, task: str) -> str:
        return prompt_again(
            task,
            why=WORKER_DIED if self._state.is_running else self._state.problem,
            messages=self._state.undelivered,
            checkpoint=bool(self._exchange.text(CHECKPOINT)),
        )

    # --- the LLM proxy ---------------------------------------------------------------------------

    async def _open_proxy(self) -> ProxyEndpoint:
        """Open the LLM proxy; return its endpoint, the same for a repeated call.

        Raises NodeLimitReached if the broker refuses.
        """
        args, node = self._worker.args, self._assignment.node
        body = OpenProxy(
            node_id=node.id,
            model=args.worker.model or args.model,
            attempt=self._assignment.attempt,
            bounds=at_door(self._assignment.contract),
            **billing(args.run, args.spec, node.trigger),
        )
        try:
            received = await ask_until_answered(self._worker.runtime, BROKER, body)
        except Refused as error:
            raise NodeLimitReached(f"{self._agent.name} can ask no model: {error}") from None
        assert isinstance(received.body, ProxyOpened), received.header.type
        self._worker.runtime.done(received)
        return ProxyEndpoint(received.body.url, received.body.token)

    async def settle_costs(self) -> ProxyCostsSettled | None:
        """Close the LLM proxy; return the metered costs, None if it was not open."""
        proxy, self._proxy = self._proxy, None
        if proxy is None:
            return None
        body = SettleProxyCosts(token=proxy.token)
        return await ask_for(self._worker.runtime, BROKER, body, ProxyCostsSettled)

    async def close_proxy(self) -> None:
        """Close the LLM proxy if it is still open, without waiting."""
        if self._proxy is not None:
            token, runtime = self._proxy.token, self._worker.runtime
            message = derived_message_id(runtime.address, f"door.{token}")
            await runtime.send(BROKER, CloseProxy(token=token), id=message)
