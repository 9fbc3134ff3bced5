"""The table of event types: when each is reported, by which process, and with which fields.

docs/events.md shows this table. Tests compare the two, and compare the table with the types that
the code reports. A new type needs a line in both places, the code that reports it, and a
sentence for people in cli/console/event_text.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agiraph.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class EventType:
    """One type: `by` is the process that reports it, `fields` are the keys of its `data`."""

    name: str
    when: str
    by: str
    fields: tuple[str, ...] = ()


RUN_ENDS: Final = ("agent.completed", "agent.failed", "agent.stopped")
"""The types that end a run."""

_COORDINATOR = "coordinator"
_ENTITY = "coordinator, worker"
_WHOLE_NODE = ("name", "worker")

EVENT_TYPES: tuple[EventType, ...] = (
    EventType("agent.created", "an agent was created, or began another run", _COORDINATOR,
              ("goal", "model", "mode")),
    EventType("agent.started", "a run began", _COORDINATOR, ("goal", "model")),
    EventType("agent.paused", "the coordinator was paused", _COORDINATOR),
    EventType("agent.stepped", "the paused coordinator does one step", _COORDINATOR),
    EventType("agent.resumed", "the coordinator was resumed", _COORDINATOR),
    EventType("agent.completed", "a run met its goal; `incomplete` names the nodes of its plan "
              "that were not completed, if there are any", _COORDINATOR, ("result", "incomplete")),
    EventType("agent.set_aside", "a service excluded the agent: one of its files is not what "
              "Agiraph wrote there", "recorder, clock", ("service", "reason", "lost")),
    EventType("agent.failed", "a run failed, or its coordinator was given up", "coordinator, human",
              ("reason", "failure_class", "address", "incarnation")),
    EventType("agent.reopened", "a run that had failed goes on: a node is tried again",
              _COORDINATOR),
    EventType("agent.standstill", "nothing in a run can happen by itself any more: its coordinator "
              "is notified, or the human", _COORDINATOR,
              ("text", "since", "waiting", "notices", "for_human")),
    EventType("agent.stopped", "a run or the whole agent was stopped",
              "coordinator, human, supervisor", ("reason", "by", "entities")),
    EventType("agent.cycle_ended", "a cycle of an infinite run ended; the run sleeps",
              _COORDINATOR, ("cycle", "notes", "next_at")),
    EventType("agent.cycle_started", "the next cycle of an infinite run began", _COORDINATOR,
              ("cycle",)),
    EventType("stage.started", "a stage opened", _COORDINATOR, ("stage", "contract")),
    EventType("stage.met", "a stage ended early: enough nodes are completed, or its time is up",
              _COORDINATOR,
              ("stage", "why", "completed", "of", "without")),
    EventType("stage.reconvened", "the coordinator closed a stage and assessed it", _COORDINATOR,
              ("stage", "assessment", "decided", "without")),
    EventType("stage.completed", "a stage ended", _COORDINATOR, ("stage",)),
    EventType("node.created", "a node was added to the board", _COORDINATOR,
              ("name", "role", "task", "parent_node", "lineage")),
    EventType("node.assigned", "a node was assigned to a worker", _COORDINATOR,
              (*_WHOLE_NODE, "attempt")),
    EventType("node.started", "its worker began", _COORDINATOR, _WHOLE_NODE),
    EventType("node.blocked", "a node waits for others", _COORDINATOR, (*_WHOLE_NODE, "on")),
    EventType("node.unblocked", "a node that waited continues", _COORDINATOR, _WHOLE_NODE),
    EventType("team.turn", "a role of an Agentic Team has taken its turn", _COORDINATOR,
              ("turn", "action", "from_role", "to_role", "from_agent", "to_agent", "message",
               "communication_type", "success")),
    EventType("node.deadlock", "nodes wait for each other in a cycle", _COORDINATOR,
              ("ring", "text", "is_refused")),
    EventType("node.checkpoint", "a worker reported a milestone", _COORDINATOR,
              (*_WHOLE_NODE, "summary")),
    EventType("node.suggested", "a worker suggested what to do next", _COORDINATOR,
              (*_WHOLE_NODE, "suggestion")),
    EventType("node.checked", "the checks of a node were run before its result is published",
              "worker",
              ("has_passed", "checks")),
    EventType("node.completed", "a node was published", _COORDINATOR,
              (*_WHOLE_NODE, "summary", "files", "missing", "bound", "checks_passed", "digest")),
    EventType("node.failed", "a node failed", _COORDINATOR,
              (*_WHOLE_NODE, "reason", "failure_class")),
    EventType("node.retried", "a node is tried again", _COORDINATOR,
              (*_WHOLE_NODE, "reason", "because", "not_before")),
    EventType("node.decided", "it was decided which dependencies of a node count", _COORDINATOR,
              (*_WHOLE_NODE, "conditions")),
    EventType("node.skipped", "a node is not done: none of its dependencies counts", _COORDINATOR,
              (*_WHOLE_NODE, "reason")),
    EventType("node.expanded", "a node became one for each item of a list", _COORDINATOR,
              (*_WHOLE_NODE, "copies")),
    EventType("node.moved", "the human gave a node to another worker or model", _COORDINATOR,
              (*_WHOLE_NODE, "to", "model", "because")),
    EventType("node.released", "its worker let go of a node that is moved", _COORDINATOR,
              (*_WHOLE_NODE, "reason")),
    EventType("node.cancelled", "a node was cancelled", _COORDINATOR, (*_WHOLE_NODE, "reason")),
    EventType("worker.spawned", "a worker joined the team", _COORDINATOR,
              ("name", "role", "model")),
    EventType("worker.busy", "a worker holds a node", _COORDINATOR, ("worker",)),
    EventType("worker.idle", "a worker no longer holds a node", _COORDINATOR, ("worker",)),
    EventType("worker.paused", "a worker was paused", "worker"),
    EventType("worker.stepped", "a paused worker does one step", "worker"),
    EventType("worker.resumed", "a worker was resumed", "worker"),
    EventType("worker.stopped", "a worker left the team", _COORDINATOR, ("name", "reason")),
    EventType("message.sent", "the router accepted a message", "coordinator, worker, human",
              ("from", "to", "content", "mode", "id", "copy_of", "in_reply_to")),
    EventType("message.received", "a message was added to its receiver's conversation, or to the "
              "human's inbox",
              "coordinator, worker, human",
              ("from", "to", "content", "id", "in_reply_to", "firing", "trigger_id", "name",
               "lineage")),
    EventType("message.dead", "a message repeatedly crashed its receiver and was set aside",
              "human", ("type", "from", "cause")),
    EventType("tool.called", "a tool call began", _ENTITY, ("tool", "arguments")),
    EventType("tool.result", "a tool call ended", _ENTITY,
              ("tool", "is_error", "characters", "preview")),
    EventType("tool.refused", "a rule or the human denied an action", _ENTITY,
              ("tool", "subject", "rule", "by", "reason")),
    EventType("sandbox.missing", "commands run without the sandbox that they should have",
              _COORDINATOR, ("why", "advice", "effect")),
    EventType("sandbox.input_read_only", "commands see the input folder read-only, although the "
              "settings allow them to write it", _COORDINATOR, ("folder", "why")),
    EventType("sandbox.autorun", "files because of which git, an editor or another program runs "
              "commands have appeared in the input folder", _ENTITY,
              ("folder", "paths", "programs", "more")),
    EventType("tool.loop", "the same call returned the same result repeatedly", _ENTITY,
              ("call", "count")),
    EventType("tool.missing", "tools of a server are not available; the work continues without",
              _ENTITY, ("reason",)),
    EventType("outside.warning", "an external agent is about to start to which rules do not apply, "
              "or that uses the person's own account", "worker", ("agent", "rules", "text")),
    EventType("outside.started", "an external agent was started on a node", "worker",
              ("agent", "number", "session", "pid")),
    EventType("outside.ended", "an external agent has ended", "worker",
              ("agent", "number", "problem", "goes_on", "account", "calls", "input_tokens",
               "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd",
               "is_estimate")),
    EventType("model.answered", "a model's answer was added to the conversation", _ENTITY,
              ("model", "text", "calls", "message", "asked_at", "input_tokens", "output_tokens",
               "cache_read_tokens", "cache_write_tokens", "cost_usd", "is_estimate")),
    EventType("model.retry", "a model call failed and is retried; with `attempt` 0 it waits, "
              "because its service pauses", "broker",
              ("model", "attempt", "attempts", "kind", "message", "wait_seconds")),
    EventType("model.fallback", "a model cannot be called, and the next one of its fallback chain "
              "is",
              "broker", ("model", "to", "kind", "message")),
    EventType("model.failed", "a model call failed and is not retried", "broker",
              ("model", "kind", "message")),
    EventType("human.question", "an entity asked the human", "human",
              ("question_id", "question", "from", "channel", "kind", "urgency", "options",
               "deadline_at", "default")),
    EventType("human.response", "the answer reached the asker", "human",
              ("question_id", "question", "kind", "answer", "by", "via", "to")),
    EventType("human.expired", "a question was not answered in time; its default applies", "human",
              ("question_id", "question", "kind", "default", "deadline_at", "to")),
    EventType("human.withdrawn", "a question was withdrawn", "human",
              ("question_id", "question", "kind", "reason", "to")),
    EventType("human.nudge", "the human sent an instruction to a running agent", "human",
              ("from", "to", "content", "mode", "id")),
    EventType("human.attached", "the human attached a file, which the entities of the run may read",
              "human", ("path", "size")),
    EventType("human.budget", "the human set a budget, or returned to that of the settings",
              "human",
              ("scope", "key", "period", "usd", "tokens", "is_own", "by")),
    EventType("channel.dead", "a channel did not accept a notice for the human",
              "human", ("channel", "notice", "delivery", "reason")),
    EventType("memory.written", "something was written to a memory", "coordinator, worker, human",
              ("path", "characters", "change", "shown")),
    EventType("memory.insight", "a worker offered an insight to the agent's memory", _COORDINATOR,
              ("worker", "node", "insight", "policy", "path")),
    EventType("memory.upkeep", "a coordinator was asked to tidy its agent's memory",
              _COORDINATOR, ("reasons",)),
    EventType("memory.compacted", "a conversation was compacted to fit its model's window",
              _ENTITY, ("cause", "tokens_before", "tokens_after", "window", "turns_before",
                        "turns_after", "summary")),
    EventType("context.written", "a key of the shared context was changed", _COORDINATOR,
              ("key", "way", "version")),
    EventType("context.used", "notes from earlier work entered the prompts of a run or cycle",
              _COORDINATOR, ("cycle", "tokens", "count", "text", "notes")),
    EventType("context.unavailable", "the context database cannot be used; the run goes on without",
              "coordinator, human", ("reason",)),
    EventType("worktree.made", "a node's git worktree was created", "worker",
              ("name", "branch", "base")),
    EventType("worktree.merged", "a node's changes were merged into the run's result",
              _COORDINATOR, ("name", "branch", "commit")),
    EventType("worktree.conflict", "a node's changes cannot be merged without conflicts",
              _COORDINATOR, ("name", "branch", "files")),
    EventType("worktree.off", "the input belongs to a git repository, but no worktrees can be "
              "created",
              _COORDINATOR, ("input", "reason")),
    EventType("trigger.created", "a trigger was created", "clock",
              ("trigger_id", "name", "type", "by")),
    EventType("trigger.paused", "a trigger was paused", "clock",
              ("trigger_id", "name", "type", "reason")),
    EventType("trigger.resumed", "a paused trigger was resumed", "clock",
              ("trigger_id", "name", "type")),
    EventType("trigger.cancelled", "a trigger was cancelled and will not fire again", "clock",
              ("trigger_id", "name", "type", "reason")),
    EventType("trigger.fired", "a trigger fired; `lineage` are the triggers that led to it",
              "clock", ("trigger_id", "name", "firing", "action", "due", "lineage", "about")),
    EventType("trigger.done", "the action of a firing was done without a model call", _COORDINATOR,
              ("trigger_id", "name", "firing", "lineage")),
    EventType("trigger.callback", "a trigger's command ended", "clock",
              ("trigger_id", "name", "firing", "action", "due", "lineage", "callback", "ended",
               "is_error", "output")),
    EventType("child.ready", "an entity's process is ready for messages", "supervisor",
              ("kind", "incarnation", "was_parked")),
    EventType("child.crashed", "an entity's process exited unexpectedly", "supervisor",
              ("kind", "incarnation", "cause", "why")),
    EventType("child.backing_off", "an entity's process waits to be restarted", "supervisor",
              ("kind", "incarnation", "cause")),
    EventType("child.failed", "an entity's process was given up", "supervisor",
              ("kind", "incarnation", "cause")),
    EventType("child.exited", "an entity's process exited and will not be restarted", "supervisor",
              ("kind", "incarnation", "cause")),
    EventType("child.stopped", "an entity's process was stopped", "supervisor",
              ("kind", "incarnation", "cause")),
    EventType("child.moved", "an entity continues on another machine", "supervisor",
              ("kind", "incarnation", "from", "to")),
    EventType("host.joined", "a machine has joined the home", "supervisor", ("host", "labels")),
    EventType("host.lost", "a machine is silent and its lease has ended: what ran there is started "
              "elsewhere",
              "supervisor", ("host", "seconds")),
    EventType("host.back", "a machine that was lost can be reached again", "supervisor",
              ("host",)),
    EventType("service.backing_off", "a service waits to be restarted",
              "supervisor", ("incarnation", "cause", "seconds")),
    EventType("service.recovered", "the service is ready for messages again",
              "supervisor", ("incarnation",)),
    EventType("entity.suspect", "an entity's event loop does not respond", "supervisor",
              ("kind", "incarnation", "seconds", "step")),
    EventType("entity.recovered", "the event loop responds again", "supervisor",
              ("kind", "incarnation")),
    EventType("entity.failed", "an entity was given up and its agent's human is notified", "human",
              ("address", "incarnation", "reason")),
    EventType("events.deleted", "old events were deleted according to `retention`", "recorder",
              ("first", "last", "bytes")),
)  # fmt: skip

BY_NAME = {kind.name: kind for kind in EVENT_TYPES}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(kind.name.split(".")[0] for kind in EVENT_TYPES))


def types_meant(patterns: Sequence[str]) -> frozenset[str] | None:
    """Return the types that any of `patterns` means, None for no pattern: all.

    A pattern is a type, `node.*`, or the same as `node.` or `node`. Raises InvalidInput that lists
    the possible ones.
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
