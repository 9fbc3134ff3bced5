"""Transcript: the fold of a conversation's records; pure.

It contains the turns shown to the model and the open calls. Two rules are invariants, because
providers refuse conversations that break them:

- the results of an answer's calls follow it directly: messages received meanwhile are held back;
- turns shown to the model never change, they are only added, so that provider caches serve them.
  (Exception: old pictures are dropped, several at once.)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from agiraph.agent.assignment_changes import is_update
from agiraph.agent.external_agent import ExternalAgentState
from agiraph.agent.loop_detection import RepeatedCalls
from agiraph.agent.old_pictures import drop_old_pictures
from agiraph.agent.records import (
    AnswerPublished,
    AssignmentTaken,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    ConversationEpochBegan,
    ConversationRecord,
    EndedNode,
    ExternalAgentEnded,
    ExternalAgentRecord,
    ExternalAgentStarted,
    ExternalMessageSent,
    ExternalPermissionDecided,
    InputReceived,
    LimitReached,
    LoopDetected,
    MemoryFlushStarted,
    ModelAnswered,
    NodeClosed,
    PlanMade,
    RunBegan,
    StateChanged,
    StepQuarantined,
)
from agiraph.agent.replies import NOBODY, ReplyReference, body_of, key_of, quote
from agiraph.agent.worktime import WorkTime, longest_absence, waits_for_others
from agiraph.core.ids import HUMAN_NAME, NodeId, RunId, step_place
from agiraph.core.models import Assignment
from agiraph.core.turns import (
    AssistantTurn,
    ToolCall,
    Turn,
    Usage,
    UserTurn,
    unique_calls,
)

PUBLISH = "publish"
RUNTIME_NAME = "runtime"
ASK_HUMAN = "ask_human"
SEND_MESSAGE = "send_message"
CREATES_NODES = ("create_work_node", "launch_roles")
FOLD = 13
"""Increased when the same records fold to a different state: older snapshots are then invalid."""


@dataclass(slots=True)
class OpenCall:
    """A call that has no result yet.

    `key` names this step permanently (epoch, record number and place in the answer): effects that
    are repeated after a crash have the same key. `why_not` is the reason why the call must not run,
    if it must not.
    """

    call: ToolCall
    key: str
    was_started: bool = False
    why_not: str = ""


@dataclass(slots=True)
class Progress:
    """Actions and usage of the current work: a worker's node, or a coordinator's run.

    `bound` is the limit of the node that was reached, `silences` the number of consecutive answers
    without a call. `has_sub_nodes`: nodes were created. `summary`, `learned`: from the result.
    """

    usage: Usage = field(default_factory=Usage)
    last_usage: Usage = field(default_factory=Usage)
    model_turns: int = 0
    silences: int = 0
    compactions: int = 0
    bound: str | None = None
    bound_why: str = ""
    is_last_turn_over: bool = False
    is_cut_off: bool = False
    has_sub_nodes: bool = False
    streak: RepeatedCalls = field(default_factory=RepeatedCalls)
    summary: str | None = None
    learned: str = ""


@dataclass(slots=True)
class WindowState:
    """Known facts about the model's context window, and about compactions.

    `size` is as reported, `learned` from a refusal; `tokens` is the provider's count of the first
    `turns` turns, 0 if there is none; `scale` the factor of estimates. `flush_from` is the turn of
    the request to save important information.
    """

    size: int | None = None
    learned: int | None = None
    tokens: int = 0
    turns: int = 0
    scale: float = 1.0
    flush_from: int | None = None
    flush_turns: int = 0
    compactions: int = 0
    last_summary: str = ""
    digest: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Correspondence:
    """Messages by their bus ids, and the senders that wait for an answer.

    `human` are the human's messages, as shown; `pending` the open questions to the human;
    `unanswered` each sender's last message without a reply; `spoke_to` the message that the last
    answer replied to. `unread` are the senders of messages since the model's last answer.
    """

    seen: set[str] = field(default_factory=set)
    human: list[str] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, ReplyReference] = field(default_factory=dict)
    spoke_to: ReplyReference = field(default_factory=ReplyReference)
    unread: set[str] = field(default_factory=set)

    def see(self, message: str | None) -> None:
        """Record that the conversation contains the effect of the message with this bus id."""
        if message is not None:
            self.seen.add(message)

    def note_sender(self, name: str, message: str, shown: str) -> None:
        """Record the last message of a sender: the next message to the sender answers it."""
        if key_of(name) not in NOBODY:
            self.unanswered[key_of(name)] = ReplyReference(message, quote(body_of(shown)))

    def add_result(self, call: ToolCall, record: CallFinished) -> None:
        """Record which messages and questions a call's result has shown, asked or sent."""
        self.seen.update(record.messages)
        self.human.extend(record.human)
        question = str(call.arguments.get("question", ""))
        if record.asked is not None:
            self.pending[record.asked] = question
        if record.is_error:
            return
        if record.name == SEND_MESSAGE:
            self.unanswered.pop(key_of(str(call.arguments.get("to", ""))), None)
        if record.name == ASK_HUMAN and record.asked is None:
            answer = f"[The human's answer]: {record.content}"
            self.human.append(f"[Your question]: {question}\n{answer}")


@dataclass(slots=True)
class PauseState:
    """Whether the entity is paused; `steps` are the single steps that it may do before it is.

    `stepped` is the bus id of the message that allowed the last finished step, '' if a pause or a
    resume came later.
    """

    is_on: bool = False
    steps: list[str] = field(default_factory=list)
    stepped: str = ""

    def note(self, what: str, message: str) -> None:
        """Apply `what`: paused, resumed, or stepped (if paused or stepping) by `message`."""
        if what == "stepped" and (self.is_on or self.steps):
            self.is_on = False
            self.steps.append(message)
        elif what in ("paused", "resumed"):
            self.is_on, self.stepped = what == "paused", ""
            self.steps.clear()

    def end_step(self) -> None:
        """Pause again if the step that has ended was the last allowed step."""
        if self.steps:
            self.stepped = self.steps.pop(0)
            self.is_on = not self.steps


@dataclass(slots=True)
class Transcript:
    """The state of one conversation. `said_message` is the message id of the model's last answer,
    `has_called` whether it had calls. `before` is the last ended node, if the turns show it.
    """

    turns: list[Turn] = field(default_factory=list)
    open_calls: list[OpenCall] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    window: WindowState = field(default_factory=WindowState)
    mail: Correspondence = field(default_factory=Correspondence)
    time: WorkTime = field(default_factory=WorkTime)
    outside: ExternalAgentState = field(default_factory=ExternalAgentState)
    assignment: Assignment | None = None
    before: EndedNode | None = None
    began: RunBegan | None = None
    planned: str | None = None
    run: RunId | None = None
    usage: Usage = field(default_factory=Usage)
    covered: set[NodeId] = field(default_factory=set)
    stand_in: str = ""
    board_seq: int = 0
    is_set_aside: bool = False
    woken_by: str = ""
    pause: PauseState = field(default_factory=PauseState)
    said_message: str = ""
    has_called: bool = False
    position: int = 0
    epoch: str = ""
    is_restored: bool = False
    _held_back: list[UserTurn] = field(default_factory=list)

    @classmethod
    def fold(cls, records: Iterable[ConversationRecord]) -> "Transcript":
        transcript = cls()
        for record in records:
            transcript.apply(record)
        return transcript

    @property
    def has_news(self) -> bool:
        """Whether the model has not yet answered the last turn."""
        return bool(self.turns) and not isinstance(self.turns[-1], AssistantTurn)

    @property
    def has_unread(self) -> bool:
        """Whether a message is shown only after the open calls' results."""
        return bool(self._held_back)

    @property
    def is_paused(self) -> bool:
        """Whether the entity is paused until a person lets it continue."""
        return self.pause.is_on

    @property
    def is_stepping(self) -> bool:
        """Whether a person lets the paused entity do single steps."""
        return bool(self.pause.steps)

    @property
    def is_waiting(self) -> bool:
        """Whether the node's time stops: in a pause, or in a wait for the person or for nodes."""
        others = bool(self.progress.has_sub_nodes or self.mail.pending)
        return self.is_paused or waits_for_others(self.running_calls, has_others=others)

    @property
    def running_calls(self) -> list[ToolCall]:
        return [one.call for one in self.open_calls if one.was_started]

    @property
    def is_flushing(self) -> bool:
        """Whether the model was asked to save information, and received nothing else since."""
        return self.window.flush_from is not None

    @property
    def is_published(self) -> bool:
        """Whether the result of the current node is published."""
        return self.progress.summary is not None

    @property
    def place(self) -> str:
        """The permanent name of the last step, in the ids of its effects; no other step has it."""
        return step_place(self.epoch, self.position)

    def has_seen(self, message: str) -> bool:
        return message in self.mail.seen

    def apply(self, record: ConversationRecord) -> None:
        if isinstance(record, ConversationEpochBegan):
            self.epoch, self.is_restored = record.epoch, False
            return
        if isinstance(record, StateChanged) and record.what == "restored":
            self.is_restored = True
            return
        is_away = isinstance(record, StateChanged) and record.what == "away"
        most = longest_absence(self.running_calls) if is_away else None
        self.time = self.time.at(record.ts, is_waiting=self.is_waiting, most=most)
        if not is_away:
            self.position += 1
            self._apply_step(record)
            if _ends_a_step(record):
                self.pause.end_step()

    def _apply_step(self, record: ConversationRecord) -> None:
        match record:
            case InputReceived():
                self._receive(record)
            case ModelAnswered():
                self._say(record)
            case CallStarted():
                self._open(record.call_id).was_started = True
                self.mail.see(record.message)
            case CallFinished():
                self._finish(record)
            case AssignmentTaken():
                self._take_node(record)
            case LimitReached():
                self.progress.bound, self.progress.bound_why = record.bound, record.why
                self._show(record.content)
            case LoopDetected():
                self.progress.streak = self.progress.streak.warned(record.count)
                self._show(record.content)
            case MemoryFlushStarted():
                self.window.flush_from, self.window.flush_turns = len(self.turns), 0
                self._show(record.content)
            case ConversationCompacted():
                self._compact(record)
            case RunBegan():
                self._begin_run(record)
            case AnswerPublished():
                self.progress.summary = record.summary
            case NodeClosed():
                ended = EndedNode(self.assignment, record) if self.assignment else None
                self.assignment, self.before = None, ended
                self.mail.pending.clear()
                self.mail.see(record.message)
            case PlanMade():
                self.planned = record.text
            case StepQuarantined():
                self.is_set_aside = True
            case StateChanged():
                self.mail.see(record.message)
                self.mail.pending.pop(record.answers, None)
                self.pause.note(record.what, record.message)
            case ConversationEpochBegan():
                pass  # not a step
            case _:
                self._apply_outside(record)

    def _receive(self, record: InputReceived) -> None:
        is_at_rest = not self.open_calls and not self.has_news
        self._show(record.content)
        self.mail.see(record.message)
        self.outside.add_message(record.content, warns_of=record.warns_of)
        if record.from_name == HUMAN_NAME:
            self.mail.human.append(record.content)
        if record.message is not None:
            self.woken_by = record.trigger or ""
            self.mail.unread.add(key_of(record.from_name))
            self.mail.note_sender(record.from_name, record.message, record.content)
        elif record.trigger and is_at_rest:  # a firing has caused the work that ended
            self.woken_by, self.has_called = record.trigger, False
        if record.answers is not None:
            self.mail.pending.pop(record.answers, None)
        self.board_seq = record.board_seq or self.board_seq
        self.covered.update(record.covers)
        if self.assignment and record.assignment and is_update(record.assignment, self.assignment):
            self.assignment = record.assignment
        self.is_set_aside = self.is_set_aside and record.message is None
        if record.from_name != RUNTIME_NAME:
            self.progress.streak = self.progress.streak.reset()

    def _take_node(self, record: AssignmentTaken) -> None:
        self.assignment, self.run = record.assignment, record.run
        self.time = self.time.begun(record.ts)
        self._begin_work(ExternalAgentState(is_here=record.outside))
        if record.assignment.node.mode == "single_inference":
            # a single answer needs, and pays for, none of the earlier nodes
            self.turns, self.before = [], None
            self.window.tokens = self.window.turns = 0
        self._show(record.content)
        self.mail.see(record.message)

    def _begin_run(self, record: RunBegan) -> None:
        self.began, self.run, self.planned = record, record.run, None
        self.woken_by, self.has_called = record.trigger, False
        self.board_seq = 0
        self.is_set_aside = False
        self._begin_work(ExternalAgentState())
        self._show(record.content)
        self.mail.see(record.message)

    def _begin_work(self, outside: ExternalAgentState) -> None:
        """Start the counters of a new work: a node, or a run, has its own limits."""
        self.progress = Progress()
        self.window.flush_from = None
        self.outside = outside

    def _apply_outside(self, record: ExternalAgentRecord) -> None:
        self.outside.apply(record)
        match record:
            case ExternalAgentStarted():
                self.outside.began_at = self.place if self.epoch else str(record.number)
            case ExternalMessageSent() if record.asked is not None:
                self.mail.pending[record.asked] = record.question
            case ExternalPermissionDecided():
                self.mail.see(record.message)
            case ExternalAgentEnded():
                self._add_usage(record.usage)
            case _:
                pass

    def _add_usage(self, usage: Usage) -> None:
        self.usage = self.usage + usage
        self.progress.usage = self.progress.usage + usage

    def _show(self, content: str) -> None:
        turn = UserTurn(content=content)
        (self._held_back if self.open_calls else self.turns).append(turn)

    def _say(self, record: ModelAnswered) -> None:
        calls, progress, window = unique_calls(record.tool_calls), self.progress, self.window
        self.said_message, self.has_called = record.message, bool(calls)
        self.turns.append(
            AssistantTurn(
                text=record.text,
                tool_calls=calls,
                provider_data=record.provider_data,
                interrupted=record.interrupted,
            )
        )
        self.open_calls = [
            OpenCall(call, f"{self.place}.{index}", why_not=record.why_no_call_runs)
            for index, call in enumerate(calls)
        ]
        self._add_usage(record.usage)
        window.size = record.window or window.size
        if not record.interrupted:
            self.mail.unread.clear()
            self.stand_in = record.model if record.instead_of else ""
        if record.usage.input_tokens:
            window.tokens, window.turns = record.usage.tokens, len(self.turns)
        if record.text and not calls and not record.interrupted:
            self.mail.spoke_to = self.mail.unanswered.pop(HUMAN_NAME, ReplyReference())
        self.outside.has_spoken = True
        if self.is_flushing:  # a turn that only saves information does not count for the node
            window.flush_turns += 1
            return
        progress.model_turns += 1
        progress.is_cut_off = record.stop_reason == "max_tokens"
        if not record.interrupted:
            progress.last_usage = record.usage
            progress.is_last_turn_over = progress.bound is not None
            progress.silences = 0 if calls else progress.silences + 1

    def _compact(self, record: ConversationCompacted) -> None:
        """Replace this conversation by a shorter one; keep the known facts about the window."""
        self.turns, self.before = list(record.turns), None
        known = self.window
        self.window = WindowState(
            size=known.size,
            learned=record.window or known.learned,
            scale=record.scale,
            compactions=known.compactions + 1,
            last_summary=record.summary or known.last_summary,
            digest=list(record.digest),
        )
        self.progress.compactions += 1
        self._add_usage(record.usage)

    def _open(self, call_id: str) -> OpenCall:
        return next(opened for opened in self.open_calls if opened.call.id == call_id)

    def _finish(self, record: CallFinished) -> None:
        opened, progress = self._open(record.call_id), self.progress
        self.open_calls.remove(opened)
        if record.name in CREATES_NODES and not record.is_error:
            progress.has_sub_nodes = True
        if record.name == PUBLISH and not record.is_error:
            progress.summary = str(opened.call.arguments.get("summary", ""))
            progress.learned = str(opened.call.arguments.get("learned") or "")
        self.turns.append(record.turn)
        if record.pictures:
            drop_old_pictures(self.turns)
        progress.streak = progress.streak.called(opened.call, record, is_last=not self.open_calls)
        self.covered.update(record.covers)
        self.mail.add_result(opened.call, record)
        if not self.open_calls:
            self.turns.extend(self._held_back)
            self._held_back.clear()


def _ends_a_step(record: ConversationRecord) -> bool:
    """Whether a record is the outcome of one step of the loop: an answer, a call's result."""
    if isinstance(record, NodeClosed):
        return record.status != "completed"  # else its publication was the step
    return isinstance(record, ModelAnswered | CallFinished | AnswerPublished | StepQuarantined)


TRANSCRIPT: TypeAdapter[Transcript] = TypeAdapter(Transcript)
