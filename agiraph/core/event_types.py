"""The table of event types: their occasion, the reporting process, their fields and their sentence.

`agiraph.logs.event_text` renders the sentences and explains the templates. docs/events.md shows
this table, the API sends the rendered sentences, and the terminal, the web UI and notifications
show them. Tests compare the table with docs/events.md and with the types that the code reports. A
new type needs a line here and there, the code that reports it, and its German sentence in
frontend/src/text/de/events.ts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agiraph.core.errors import InvalidInput

Tone = Literal["plain", "quiet", "good", "bad", "voice", "ask"]
"""The style of a line: `voice` is a text of an entity or the human, `ask` waits for the human."""

Audience = Literal["log", "entity", "team", "everyone"]
"""The readers of an event. Each audience also reads the events of the later ones: the whole event
log; the steps and messages of an entity; the news of a team; the goals and ends of its runs."""


@dataclass(frozen=True, slots=True)
class EventType:
    """One event type: `by` is the process that reports it, `fields` are the keys of its `data`.

    `text` is the template of its sentence. `detail` are the fields that may contain a longer text;
    the first non-empty one is used. `who` is the field with the name of the acting entity, if
    `entity` does not contain it. If the field `notable[0]` is true, the tone and the audience are
    the other two items of `notable`.
    """

    name: str
    when: str
    by: str
    fields: tuple[str, ...]
    text: str
    tone: Tone = "plain"
    audience: Audience = "team"
    detail: tuple[str, ...] = ()
    who: str = ""
    notable: tuple[str, Tone, Audience] | None = None


RUN_ENDS: Final = ("agent.completed", "agent.failed", "agent.stopped")
"""The types that end a run."""

_COORDINATOR = "coordinator"
_ENTITY = "coordinator, worker"
_NODE = ("name", "worker")

EVENT_TYPES: tuple[EventType, ...] = (
    EventType("agent.created", "an agent was created, or began another run", _COORDINATOR,
              ("goal", "model", "mode"),
              "new goal", "quiet", "everyone", detail=("goal",)),
    EventType("agent.started", "a run began", _COORDINATOR, ("goal", "model"),
              "started: {model}"),
    EventType("agent.paused", "the coordinator was paused", _COORDINATOR, (),
              "paused", "ask"),
    EventType("agent.stepped", "the paused coordinator does one step", _COORDINATOR, (),
              "does one step"),
    EventType("agent.resumed", "the coordinator was resumed", _COORDINATOR, (),
              "resumed"),
    EventType("agent.completed",
              "a run met its goal; `incomplete` names the nodes of its plan that were not "
              "completed, if there are any",
              _COORDINATOR, ("result", "incomplete"),
              "the goal is met", "good", "everyone", detail=("result",)),
    EventType("agent.quarantined",
              "a service excluded the agent: a program other than Agiraph changed one of its files",
              "recorder, clock", ("service", "reason", "lost"),
              "the agent is excluded", "bad", detail=("reason",)),
    EventType("agent.failed", "a run failed, or its coordinator was given up",
              "coordinator, human", ("reason", "failure_class", "address", "incarnation"),
              "failed", "bad", "everyone", detail=("reason",)),
    EventType("agent.reopened", "a failed run continues: a node is repeated",
              _COORDINATOR, (),
              "the run continues"),
    EventType("agent.standstill",
              "a run cannot continue by itself: its coordinator or the human is notified",
              _COORDINATOR, ("text", "since", "waiting", "notices", "for_human"),
              "the run stands still", "bad", detail=("text",)),
    EventType("agent.stopped", "a run or the whole agent was stopped",
              "coordinator, human, supervisor", ("reason", "by", "entities"),
              "stopped", "bad", "everyone", detail=("reason",)),
    EventType("agent.cycle_ended", "a cycle of an infinite run ended; the run sleeps",
              _COORDINATOR, ("cycle", "notes", "next_at"),
              "cycle {cycle} ended[, the next begins in {next_at:apart}]", detail=("notes",)),
    EventType("agent.cycle_started", "the next cycle of an infinite run began", _COORDINATOR,
              ("cycle",),
              "cycle {cycle} began"),
    EventType("stage.started", "a stage opened", _COORDINATOR, ("stage", "contract"),
              "stage opened: {stage}"),
    EventType("stage.met", "a stage ended early: enough nodes are completed, or its time is up",
              _COORDINATOR, ("stage", "why", "completed", "of", "without"),
              "stage {stage} ends early: {completed} of {of} nodes are completed"),
    EventType("stage.reconvened", "the coordinator closed a stage and assessed it", _COORDINATOR,
              ("stage", "assessment", "decided", "without"),
              "the team reconvenes[ after {stage}]", detail=("assessment",)),
    EventType("stage.completed", "a stage ended", _COORDINATOR, ("stage",),
              "stage completed: {stage}", "good", "log"),
    EventType("node.created", "a node was added to the board", _COORDINATOR,
              ("name", "role", "task", "parent_node", "lineage"),
              "new node {name}", detail=("task",)),
    EventType("node.assigned", "a node was assigned to a worker", _COORDINATOR,
              (*_NODE, "attempt"),
              "node {name} is assigned[ to {worker}]", "quiet", "log"),
    EventType("node.started", "its worker began", _COORDINATOR, _NODE,
              "works on {name}", who="worker"),
    EventType("node.blocked", "a node waits for others", _COORDINATOR, (*_NODE, "on"),
              "waits with {name}[ for {on}]", "quiet", "log", who="worker"),
    EventType("node.unblocked", "a node that waited continues", _COORDINATOR, _NODE,
              "continues with {name}", "quiet", "log", who="worker"),
    EventType("role.turn", "a role of an Agentic Team has taken its turn", _COORDINATOR,
              ("turn", "action", "from_role", "to_role", "from_agent", "to_agent", "message",
               "communication_type", "success"),
              "to {to_role}", "voice", detail=("message",), who="from_role"),
    EventType("node.deadlock", "nodes wait for each other in a cycle", _COORDINATOR,
              ("cycle", "text", "is_refused"),
              "nodes wait for each other", "bad", detail=("text",)),
    EventType("node.checkpoint", "a worker reported a milestone", _COORDINATOR,
              (*_NODE, "summary"),
              "reports on {name}", detail=("summary",), who="worker"),
    EventType("node.suggested", "a worker suggested a next step", _COORDINATOR,
              (*_NODE, "suggestion"),
              "suggests", detail=("suggestion",), who="worker"),
    EventType("node.checked", "the checks of a node were run before its result is published",
              "worker", ("has_passed", "checks", "failed"),
              "[{failed:count} of ]{checks:count check} {has_passed:passed|failed}[: {failed}]",
              "good", notable=("failed", "bad", "team")),
    EventType("node.completed", "a node was published", _COORDINATOR,
              (*_NODE, "summary", "files", "missing", "bound", "checks_passed", "digest"),
              "completed {name}", "good", detail=("summary",), who="worker"),
    EventType("node.failed", "a node failed", _COORDINATOR, (*_NODE, "reason", "failure_class"),
              "failed {name}", "bad", detail=("reason",), who="worker"),
    EventType("node.retried", "a node is tried again", _COORDINATOR,
              (*_NODE, "reason", "because", "not_before"),
              "{name} is tried again", detail=("because", "reason")),
    EventType("node.decided", "it was decided which dependencies of a node count", _COORDINATOR,
              (*_NODE, "conditions"),
              "the conditions of {name} are decided", "quiet"),
    EventType("node.skipped", "a node is not done: none of its dependencies counts", _COORDINATOR,
              (*_NODE, "reason"),
              "node {name} is skipped", "quiet", detail=("reason",)),
    EventType("node.expanded", "a node became one for each item of a list", _COORDINATOR,
              (*_NODE, "copies"),
              "{name} is done for each item[: {copies}]"),
    EventType("node.updated", "the coordinator changed a node", _COORDINATOR,
              (*_NODE, "changed", "changes", "accepted"),
              "{name} is changed[: {changed}]", detail=("accepted",)),
    EventType("node.moved", "a node was given to another worker or model", _COORDINATOR,
              (*_NODE, "to", "model", "because"),
              "{name} goes to another worker[: {to}][, with the model {model}]",
              detail=("because",)),
    EventType("node.released", "its worker released a node that is moved", _COORDINATOR,
              (*_NODE, "reason"),
              "{name} is free for its next worker"),
    EventType("node.cancelled", "a node was cancelled", _COORDINATOR, (*_NODE, "reason"),
              "node {name} is cancelled", "bad", detail=("reason",)),
    EventType("worker.spawned", "a worker joined the team", _COORDINATOR,
              ("name", "role", "model"),
              "new worker {name}[, {role}]"),
    EventType("worker.busy", "a worker has a node", _COORDINATOR, ("worker",),
              "{worker} has a node", "quiet", "log"),
    EventType("worker.idle", "a worker no longer has a node", _COORDINATOR, ("worker",),
              "{worker} has no node", "quiet", "log"),
    EventType("worker.paused", "a worker was paused", "worker", (),
              "paused", "ask"),
    EventType("worker.stepped", "a paused worker does one step", "worker", (),
              "does one step"),
    EventType("worker.resumed", "a worker was resumed", "worker", (),
              "resumed"),
    EventType("worker.stopped", "a worker left the team", _COORDINATOR, ("name", "reason"),
              "worker {name} stopped", "quiet", "log", detail=("reason",)),
    EventType("message.sent", "the router accepted a message", "coordinator, worker, human",
              ("from", "to", "content", "mode", "id", "copy_of", "in_reply_to"),
              "→ {to:name}", "voice", "entity", detail=("content",)),
    EventType("message.received",
              "a message was added to its receiver's conversation, or to the human's inbox",
              "coordinator, worker, human",
              ("from", "to", "content", "id", "in_reply_to", "firing", "trigger_id", "name",
               "lineage"),
              "received a message from {from:name}", "quiet", "log", detail=("content",)),
    EventType("message.notice",
              "the runtime added a text to an entity's conversation: an assignment (with the "
              "`name` of its node), a plan, a warning or another notice",
              _ENTITY, ("content", "name"),
              "gets {name:the node|a notice of the runtime}[ {name}]", "quiet", "entity",
              detail=("content",)),
    EventType("message.dead", "a message repeatedly crashed its receiver and was set aside",
              "human", ("type", "from", "cause"),
              "a message is a dead letter", "bad", detail=("cause",)),
    EventType("tool.called",
              "a tool call began; `malformed` is the text of its arguments if it is not a JSON "
              "object",
              _ENTITY, ("tool", "call", "arguments", "malformed"),
              "{tool}[ {arguments:call}]", "quiet", "entity"),
    EventType("tool.result", "a tool call ended", _ENTITY,
              ("tool", "call", "is_error", "characters", "preview", "exit_code"),
              "{tool} {is_error:failed|done}[: {preview:words}]", "quiet", "log",
              notable=("is_error", "bad", "entity")),
    EventType("tool.refused", "a rule or the human denied an action", _ENTITY,
              ("tool", "subject", "rule", "by", "reason"),
              "{tool} is not allowed", "bad", detail=("reason",)),
    EventType("sandbox.missing", "commands run without the sandbox that they should have",
              _COORDINATOR, ("why", "advice", "effect"),
              "{effect}: there is no sandbox, {why}[. To fix it: {advice}]", "bad"),
    EventType("sandbox.input_read_only",
              "commands see the input folder read-only, although the settings allow them to "
              "write it",
              _COORDINATOR, ("folder", "why"),
              "the input folder is read-only for commands", "bad", detail=("why",)),
    EventType("sandbox.autorun",
              "files because of which git, an editor or another program runs commands have "
              "appeared in the input folder",
              _ENTITY, ("folder", "paths", "marks", "programs", "more"),
              "look at these before you use {programs} in {folder}: {paths}[ and {more} more] "
              "(new, and programs run commands because of them)",
              "bad"),
    EventType("sandbox.git_commands",
              "commands may write the input folder, and the person's git is configured to run "
              "commands that may use its files",
              _COORDINATOR, ("folder", "commands", "more"),
              "git may run files of {folder}: look at the changes before you use git there. "
              "Its configuration has {commands}[ and {more} more]",
              "bad"),
    EventType("tool.loop", "the same call returned the same result repeatedly", _ENTITY,
              ("call", "count"),
              "made one call {count} times, with the same result", "bad", detail=("call",)),
    EventType("tool.missing", "tools of a server are not available; the work continues without",
              _ENTITY, ("reason",),
              "works without some tools", "bad", detail=("reason",)),
    EventType("outside.warning",
              "an external agent is about to start to which rules do not apply, or that uses "
              "the person's own account",
              "worker", ("agent", "rules", "text"),
              "warning", "ask", detail=("text",)),
    EventType("outside.started", "an external agent was started on a node", "worker",
              ("agent", "number", "session", "pid"),
              "{agent} is started[, number {number}][: {session:its conversation continues|}]"),
    EventType("outside.ended", "an external agent has ended", "worker",
              ("agent", "number", "problem", "goes_on", "account", "calls", "input_tokens",
               "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd",
               "is_estimate"),
              "{agent} {problem:failed|has exited}", "quiet", detail=("problem",),
              notable=("problem", "bad", "team")),
    EventType("model.answered", "a model's answer was added to the conversation", _ENTITY,
              ("model", "text", "calls", "message", "call", "interrupted", "asked_at",
               "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
               "cost_usd", "is_estimate"),
              "answered[, calls {calls}]", "quiet", "log", detail=("text",)),
    EventType("model.retry",
              "a model call failed and is retried; with `attempt` 0 it waits, because its service "
              "pauses",
              "broker", ("model", "attempt", "attempts", "kind", "message", "wait_seconds"),
              "the model call {attempt:failed|waits for its paused service}"
              "[ (attempt {attempt} of {attempts})][, next try in {wait_seconds:seconds}]",
              "bad", detail=("message", "kind")),
    EventType("model.fallback",
              "a model cannot be called, and the next one of its fallback chain is", "broker",
              ("model", "to", "kind", "message"),
              "falls back to {to}", "bad", detail=("message",)),
    EventType("model.failed", "a model call failed and is not retried", "broker",
              ("model", "kind", "message"),
              "the model call failed", "bad", "log", detail=("message", "kind")),
    EventType("human.question", "an entity asked the human", "human",
              ("question_id", "question", "from", "channel", "kind", "urgency", "options",
               "deadline_at", "default"),
              "asks you", "ask", "entity", detail=("question",)),
    EventType("human.response", "the answer reached the asker", "human",
              ("question_id", "question", "kind", "answer", "by", "via", "to"),
              "answered[ {to:name}]", "voice", "entity", detail=("answer",)),
    EventType("human.expired", "a question was not answered in time; its default applies", "human",
              ("question_id", "question", "kind", "default", "deadline_at", "to"),
              "no answer in time[ (the default applies: {default})]", "bad", detail=("question",)),
    EventType("human.withdrawn", "a question was withdrawn", "human",
              ("question_id", "question", "kind", "reason", "to"),
              "a question is withdrawn", "quiet", detail=("question",)),
    EventType("human.nudge", "the human sent an instruction to a running agent", "human",
              ("from", "to", "content", "mode", "id"),
              "instruction", "voice", "entity", detail=("content",)),
    EventType("human.attached",
              "the human attached a file, which the entities of the run may read", "human",
              ("path", "size"),
              "attached {path}", "quiet", "entity"),
    EventType("human.budget", "the human set a budget, or returned to the budget of the settings",
              "human", ("scope", "key", "period", "usd", "tokens", "is_own", "limit", "by"),
              "the budget of the {scope} is {limit}{is_own:|, as in the settings}"),
    EventType("channel.dead", "a channel did not accept a notice for the human", "human",
              ("channel", "notice", "delivery", "reason"),
              "channel {channel} did not accept a notice", "bad", detail=("reason",)),
    EventType("memory.written", "something was written to a memory", "coordinator, worker, human",
              ("path", "characters", "change", "shown"),
              "wrote to its memory[: {path}]", "quiet", "entity"),
    EventType("memory.insight", "a worker offered an insight to the agent's memory", _COORDINATOR,
              ("worker", "node", "insight", "policy", "path"),
              "offers an insight to the memory", "quiet", detail=("insight",)),
    EventType("memory.maintenance", "a coordinator was asked to tidy its agent's memory",
              _COORDINATOR, ("reasons",),
              "is asked to tidy the memory[: {reasons}]", "quiet"),
    EventType("memory.compacted", "a conversation was compacted to fit its model's window",
              _ENTITY,
              ("cause", "tokens_before", "tokens_after", "window", "turns_before", "turns_after",
               "summary"),
              "its conversation was compacted: {tokens_before:count} tokens became "
              "{tokens_after:count}",
              "quiet", "entity", detail=("summary",)),
    EventType("shared.written", "a key of the shared values was changed", _COORDINATOR,
              ("key", "way", "version"),
              "wrote {key} to the shared values", "quiet", "entity"),
    EventType("knowledge.used", "notes from earlier work entered the prompts of a run or cycle",
              _COORDINATOR, ("cycle", "tokens", "count", "text", "notes"),
              "gets {notes:count note} from earlier work[: {notes:each title}]", "quiet"),
    EventType("knowledge.unavailable",
              "knowledge cannot be used; the run continues without it", "coordinator, human",
              ("reason",),
              "continues without knowledge of earlier work", "quiet", detail=("reason",)),
    EventType("worktree.made", "a node's git worktree was created", "worker",
              ("name", "branch", "base"),
              "a git worktree for {name} is on branch {branch}", "quiet"),
    EventType("worktree.merged", "a node's changes were merged into the run's result",
              _COORDINATOR, ("name", "branch", "commit"),
              "the changes of {name} are merged", "good"),
    EventType("worktree.conflict", "a node's changes cannot be merged without conflicts",
              _COORDINATOR, ("name", "branch", "files"),
              "the changes of {name} are in conflict: {files}", "bad"),
    EventType("worktree.off",
              "the input belongs to a git repository, but no worktrees can be created",
              _COORDINATOR, ("input", "reason"),
              "works without git worktrees", "bad", detail=("reason",)),
    EventType("trigger.created", "a trigger was created", "clock",
              ("trigger_id", "name", "type", "by"),
              "new trigger {name}"),
    EventType("trigger.paused", "a trigger was paused", "clock",
              ("trigger_id", "name", "type", "reason"),
              "trigger {name} is paused", "ask", detail=("reason",)),
    EventType("trigger.resumed", "a paused trigger was resumed", "clock",
              ("trigger_id", "name", "type"),
              "trigger {name} is resumed"),
    EventType("trigger.cancelled", "a trigger was cancelled and will not fire again", "clock",
              ("trigger_id", "name", "type", "reason"),
              "trigger {name} is cancelled", detail=("reason",)),
    EventType("trigger.fired", "a trigger fired; `lineage` are the triggers that led to it",
              "clock", ("trigger_id", "name", "firing", "action", "due", "lineage", "about"),
              "trigger {name} fired[, {due:apart} late]", detail=("about",)),
    EventType("trigger.done", "the action of a firing was done without a model call", _COORDINATOR,
              ("trigger_id", "name", "firing", "lineage"),
              "the action of trigger {name} is done", "quiet"),
    EventType("trigger.refused", "a rule of the person was against the action of a firing",
              "coordinator, clock",
              ("trigger_id", "name", "firing", "action", "due", "lineage", "reason"),
              "the action of trigger {name} was not carried out: {reason}", "bad"),
    EventType("trigger.callback", "a trigger's command ended", "clock",
              ("trigger_id", "name", "firing", "action", "due", "lineage", "callback", "ended",
               "is_error", "output"),
              "the command of trigger {name} ended[: {ended}]", "quiet", detail=("output",),
              notable=("is_error", "bad", "team")),
    EventType("child.ready", "an entity's process is ready for messages", "supervisor",
              ("kind", "incarnation", "was_restarted"),
              "its process {was_restarted:was restarted and continues where it was|is ready}",
              "quiet", "log", notable=("was_restarted", "good", "team")),
    EventType("child.crashed", "an entity's process exited unexpectedly", "supervisor",
              ("kind", "incarnation", "cause", "why"),
              "its process crashed", "bad", detail=("cause",)),
    EventType("child.backing_off", "an entity's process waits to be restarted", "supervisor",
              ("kind", "incarnation", "cause"),
              "its process is restarted soon", "quiet", "log", detail=("cause",)),
    EventType("child.failed", "an entity's process was given up", "supervisor",
              ("kind", "incarnation", "cause"),
              "its process crashed too often", "bad", detail=("cause",)),
    EventType("child.exited", "an entity's process exited and will not be restarted", "supervisor",
              ("kind", "incarnation", "cause"),
              "its process exited", "quiet", "log", detail=("cause",)),
    EventType("child.stopped", "an entity's process was stopped", "supervisor",
              ("kind", "incarnation", "cause"),
              "its process is stopped", "quiet", "log", detail=("cause",)),
    EventType("child.moved", "an entity continues on another machine", "supervisor",
              ("kind", "incarnation", "from", "to"),
              "moved from {from} to {to}"),
    EventType("host.joined", "a machine has joined the home", "supervisor", ("host", "labels"),
              "joined the home[: {labels}]", "quiet"),
    EventType("host.lost",
              "a machine is silent and its lease has ended: its processes are started elsewhere",
              "supervisor", ("host", "seconds"),
              "is lost: its processes are started elsewhere", "bad"),
    EventType("host.back", "a machine that was lost can be reached again", "supervisor", ("host",),
              "can be reached again"),
    EventType("service.backing_off", "a service waits to be restarted", "supervisor",
              ("incarnation", "cause", "seconds"),
              "is restarted soon", "bad", detail=("cause",)),
    EventType("service.recovered", "the service is ready for messages again", "supervisor",
              ("incarnation",),
              "is running again"),
    EventType("entity.suspect", "an entity's event loop does not respond", "supervisor",
              ("kind", "incarnation", "seconds", "step"),
              "does not respond[ since {seconds:seconds}]", "bad", detail=("step",)),
    EventType("entity.recovered", "the event loop responds again", "supervisor",
              ("kind", "incarnation"),
              "responds again"),
    EventType("entity.failed", "an entity was given up and its agent's human is notified", "human",
              ("address", "incarnation", "reason"),
              "failed for good", "bad", detail=("reason",)),
    EventType("events.deleted", "old events were deleted according to `retention`", "recorder",
              ("first", "last", "bytes"),
              "events {first} to {last} were deleted, as `retention` says"),
)  # fmt: skip

BY_NAME = {kind.name: kind for kind in EVENT_TYPES}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(kind.name.split(".")[0] for kind in EVENT_TYPES))


def types_meant(patterns: Sequence[str]) -> frozenset[str] | None:
    """Return the event types that match any of `patterns`, or None (all types) without patterns.

    A pattern is a type or a group: `node.*`, `node.` or `node`. Raises InvalidInput with the valid
    types.
    """
    if not patterns:
        return None
    return frozenset(name for pattern in patterns for name in _meant(pattern.strip()))


def _meant(pattern: str) -> list[str]:
    if pattern in BY_NAME:
        return [pattern]
    group, _, rest = pattern.partition(".")
    if group == "*" or (group in GROUPS and rest in ("", "*")):
        return [name for name in BY_NAME if group in ("*", name.split(".")[0])]
    if rest.endswith("*"):
        found = [name for name in BY_NAME if name.startswith(pattern.rstrip("*"))]
        if found:
            return found
    if group in GROUPS:
        possible = ", ".join(name for name in BY_NAME if name.startswith(f"{group}."))
    else:
        possible = ", ".join(f"{name}.*" for name in GROUPS)
    raise InvalidInput(f"unknown event type '{pattern}' (possible: {possible})")
