"""Agent prompts: what an outside agent is told, as words and as `_context.json`; pure."""

from collections.abc import Sequence
from pathlib import Path

from agiraph.agent.prompts import render
from agiraph.core.models import Assignment, Worker
from agiraph.core.turns import JsonObject

SAFE_ARGUMENT_CHARACTERS = 30_000
TIME_NEAR = (
    "[Runtime]: {left:.0f} seconds of this task's {all:g} are left. Come to an end: write "
    "`_result.md`, and say in it what is not done and how to go on. You are stopped after that, "
    "and what has no `_result.md` is lost to the others."
)
BOUND_NEAR = (
    "[Runtime]: {used}; you are stopped at the bound, a few model calls from now. Come to an end: "
    "write `_result.md` now, and say in it what is not done and how to go on. What has no "
    "`_result.md` then is lost to the others."
)
LOST = (
    "[Runtime]: The conversation of {agent}, which works for me, was lost when it was started "
    "again (start {number}). It has begun its node anew, with its task and the files that it had "
    "left: some work may have been done twice."
)
LOST_ON_THE_WAY = "(Its conversation was lost on the way, at start {number}: it began anew.)"
POINTER = "Read _task.md in this folder and do what it says."


def task_in_words(
    assignment: Assignment, worker: Worker, *, run: Path, known: str, input_dir: str | None
) -> str:
    """Return `_task.md`."""
    refs = [{"name": name, "path": str(run / path)} for name, path in _refs(assignment)]
    return render(
        "outside",
        node=assignment.node,
        worker=worker,
        spec=assignment.spec.strip(),
        refs=refs,
        goal=assignment.goal,
        team=", ".join(assignment.team) or "you alone",
        attempt=assignment.attempt,
        known=known.strip(),
        input_dir=input_dir,
        worktree=assignment.worktree,
        checks=assignment.node.checks,
    )


def context_of(
    assignment: Assignment, worker: Worker, *, run: Path, agent: str, input_dir: str | None
) -> JsonObject:
    """Return `_context.json`."""
    node = assignment.node
    return {
        "agent": agent,
        "run": run.name,
        "goal": assignment.goal,
        "you": {"name": worker.name, "role": worker.role},
        "node": {"id": node.id, "name": node.name, "attempt": assignment.attempt},
        "team": list(assignment.team),
        "refs": {name: str(run / path) for name, path in _refs(assignment)},
        "input": input_dir,
        "plan": str(run / "_plan.md"),
    }


def prompt_for(task: str) -> str:
    """Return what a new conversation begins with: the task, or where it stands if it is long."""
    return task if len(task) <= SAFE_ARGUMENT_CHARACTERS else POINTER


def prompt_again(task: str, *, why: str, messages: Sequence[str], checkpoint: bool) -> str:
    """Return what it is told when it is started again; `task` is '' if it knows it already."""
    again = render("outside_again", why=why, messages=list(messages), checkpoint=checkpoint)
    return f"{prompt_for(task)}\n\n{again}" if task else again


def headline(result: str, lost_at: int = 0, most: int = 1200) -> str:
    """Return a result as the summary of its node; `lost_at`: which start lost the conversation."""
    text = result.strip()
    shown = text if len(text) <= most else f"{text[:most].rstrip()} [...]"
    return f"{shown}\n\n{LOST_ON_THE_WAY.format(number=lost_at)}" if lost_at else shown


def _refs(assignment: Assignment) -> list[tuple[str, str]]:
    return sorted(assignment.node.refs.items())
