"""Entity: the parts that coordinators and workers have in common, put together.

Each of their processes has one entity: its context (identity, conversation, inbox, reports), its
messenger, its model client, its approvals, its compactor, and its prompt.
"""

from collections.abc import Callable, Sequence

from actors.entity.approval_gate import ApprovalGate, BudgetApproval, FurtherActions
from actors.entity.args import billing
from actors.entity.compactor import Compactor
from actors.entity.context import EntityContext
from actors.entity.message_dispatcher import Handler, MessageDispatcher
from actors.entity.messenger import Messenger
from actors.entity.model_client import BrokerModelClient
from actors.entity.questions import ArrivedAnswers
from actors.entity.remote_tools import RemoteToolProcesses
from agiraph.agent.compaction import CompactionContext
from agiraph.agent.context_window import answer_tokens
from agiraph.core.turns import ModelRequest, pictures_in
from agiraph.models.limits import ModelLimits
from agiraph.settings.config import Config
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.ports import EntityKind, Team, ToolContext
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox


def config_for(limits: ModelLimits, config: Config) -> Config:
    """Return the settings with the outputs of tools limited to a quarter of a small window."""
    if not limits.is_small:
        return config
    most = limits.window  # in characters; a token has about four
    files = config.files.model_copy(update={"read_limit": min(config.files.read_limit, most)})
    shell = config.shell.model_copy(update={"output_limit": min(config.shell.output_limit, most)})
    return config.model_copy(update={"files": files, "shell": shell})


def toolbox_for(limits: ModelLimits, toolbox: Toolbox) -> Toolbox:
    """Return the tools for a model: shortened descriptions for a small window, or no tools."""
    if not limits.has_tools:
        return Toolbox(())
    return toolbox.shortened() if limits.is_small else toolbox


class Entity:
    """The parts of one entity. Call `set_prompt` first, and whenever its tools change."""

    def __init__(
        self,
        context: EntityContext,
        toolbox: Toolbox,
        *,
        who: Callable[[], ActingEntity],
        further: FurtherActions = lambda _opened: (),
        names: Callable[[str], Sequence[str]] = lambda _named: (),
        compaction_context: Callable[[], CompactionContext],
    ) -> None:
        self.context = context
        self.toolbox = toolbox
        self.system = ""
        self.conversation = context.conversation
        self.inbox = context.inbox
        self.pause_switch = context.pause_switch
        self.calls_per_answer = context.runtime.config.run.calls_per_answer
        self.now, self.report, self.show = context.now, context.report, context.show
        self.standing_still = context.standing_still
        self._answers = ArrivedAnswers()
        self.messenger = Messenger(context, self._answers)
        self.budget_approval = BudgetApproval(context, self.messenger)
        self.model_client = BrokerModelClient(context, self.budget_approval.has_raised)
        self.think = self.model_client.think
        gate = ApprovalGate(context, self.messenger, who, further, names)
        self.approval_for = gate.approval_for
        self.decision_now = gate.decision_now
        self.compactor = Compactor(
            context, self.model_client, toolbox, self.request, compaction_context
        )
        self._remote_tools = RemoteToolProcesses(context.runtime)
        self._tool_config = config_for(context.limits, context.runtime.config)

    def set_prompt(self, system: str, toolbox: Toolbox) -> None:
        """Use this system prompt and these tools for all further requests."""
        self.system, self.toolbox = system, toolbox
        self.compactor.prompt_changed()

    def request(self) -> ModelRequest:
        """Return the next request to the model, charged to the current node, if there is one."""
        context, transcript = self.context, self.context.transcript
        models, assignment = context.runtime.config.models, transcript.assignment
        node = assignment.node if assignment else None
        return ModelRequest(
            model=context.model,
            system=self.system,
            turns=tuple(transcript.turns),
            tools=self.toolbox.schemas(),
            max_tokens=answer_tokens(
                transcript,
                override=models.context_tokens,
                share=models.compact_at,
                most=models.max_tokens,
            ),
            temperature=models.temperature,
            entity=context.runtime.address,
            node_id=node.id if node else "",
            attempt=assignment.attempt if assignment else 0,
            pictures=context.pictures.load(pictures_in(transcript.turns)),
            **billing(context.run, context.spec, node.trigger if node else transcript.woken_by),
        )

    def tool_context(
        self, key: str, kind: EntityKind, scope: Scope, team: Team, cycle_began_at: float = 0.0
    ) -> ToolContext:
        context = self.context
        return ToolContext(
            kind=kind,
            call_id=key,
            scope=scope,
            config=self._tool_config,
            team=team,
            environment=context.environment | {"AGIRAPH_RUN": str(context.run_home.path)},
            calls=context.calls,
            keep_picture=context.pictures.add,
            remote_tools=self._remote_tools,
            report=context.report,
            skills=context.skills,
            prepare=context.prepare_call,
            cycle_began_at=cycle_began_at,
        )

    async def receive_messages(self, handler: Handler) -> None:
        """Receive messages until cancelled; `handler` handles the messages of the entity's kind."""
        dispatcher = MessageDispatcher(self.context, self.model_client, self._answers, handler)
        await dispatcher.run()
