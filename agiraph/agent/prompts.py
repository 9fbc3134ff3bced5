"""Prompts: the texts of configs/prompts filled in, or a person's replacements of them.

The same inputs give the same bytes.

A system prompt is built once per conversation and never changes between turns, so that provider
caches serve the whole beginning of a long loop.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agiraph.agent.records import EndedNode
from agiraph.core.models import Assignment, WorkNode
from agiraph.core.ref_paths import ref_paths
from agiraph.core.turns import Turn, UserTurn
from agiraph.settings.config import RunConfig
from agiraph.settings.prompt_folder import folders, shipped

VOWEL_SOUND = re.compile(r"[aio]|e(?!u)|u(?!ni|[iksxt])|hour|honest|heir", re.IGNORECASE)
MINUTE = 60

WORKER_REMINDER = (
    "[Runtime]: You answered without a tool call. Continue the work, or call `publish` if the spec "
    "is met. Text without a tool call is not sent to anyone."
)
COORDINATOR_REMINDER = (
    "[Runtime]: No node runs, and no entity waits for you. If the goal is reached, call `finish` "
    "with the result. Otherwise create the next nodes, or ask the human."
)
PLAN_GIVEN = (
    "[Runtime]: The human gave a plan. Its nodes are already on the board. "
    "`wait` for them, judge their published files, and `finish`."
)
PLAN_LEADS = (
    "[Runtime]: The human gave a plan. Its nodes are carried out without you. Answer messages. "
    "When all nodes have ended, and not before, `finish` with a summary of their published files."
)
PLAN_IN_STAGES = (
    "[Runtime]: The human gave a plan of several stages. The nodes of the first stage are already "
    "on the board. `wait` for them, judge their published files, and `reconvene` with your "
    "assessment: this opens the plan's next stage. After the last stage, `finish`."
)
PLAN_STATIC = (
    "[Runtime]: The whole plan was made in advance. Its nodes are already on the board. `wait` for "
    "them, judge their published files, and `finish`. Do not create nodes. If a node failed, name "
    "the missing part in the result."
)
PLAN_HYBRID = (
    "[Runtime]: The parts of the work were planned in advance. Their nodes are already on the "
    "board, and each manager leads its own team. `wait` for them, judge their published files, and "
    "`finish`. Leave the nodes below a part to its manager."
)
NEW_RUN = (
    "[Runtime]: This is a new run. Its board and its folder are empty. The workers of earlier runs "
    "no longer exist. Your conversation and your memory continue."
)
CYCLE_REMINDER = (
    "[Runtime]: No node runs, and no entity waits for you. If the work of this cycle is done, call "
    "`end_cycle` with your notes. Otherwise create the next nodes, or ask the human."
)


AGAIN = {
    WORKER_REMINDER: "[Runtime]: Again no tool call. Continue the work, or call `publish`.",
    COORDINATOR_REMINDER: "[Runtime]: Again no node runs. Call `finish`, or create nodes.",
    CYCLE_REMINDER: "[Runtime]: Again no node runs. Call `end_cycle`, or create nodes.",
}
"""The short form of each reminder, for a conversation that has it in full."""


def reminder(whole: str, turns: Iterable[Turn]) -> str:
    """Return a reminder, in its short form if the turns have it in full."""
    is_known = any(isinstance(turn, UserTurn) and turn.content == whole for turn in turns)
    return AGAIN[whole] if is_known else whole


def was_reminded(turns: Iterable[Turn]) -> bool:
    """Whether the last turn besides the model's own is a reminder."""
    said = [turn.content for turn in turns if isinstance(turn, UserTurn)]
    return bool(said) and said[-1] in (*AGAIN, *AGAIN.values())


@cache
def templates_in(folders: tuple[Path, ...]) -> Environment:
    """Return the environment that renders the templates in `folders`."""
    environment = Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        keep_trailing_newline=False,
        trim_blocks=False,
    )
    environment.filters["with_article"] = with_article
    return environment


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article: "an analyst", "a unit tester"."""
    return f"an {noun}" if VOWEL_SOUND.match(noun) else f"a {noun}"


def render(name: str, **values: object) -> str:
    """Return the prompt `{name}.md` with `values` filled in, without spaces at its ends."""
    return templates_in(folders()).get_template(f"{name}.md").render(**values).strip()


def prepare() -> None:
    """Compile every prompt now: each process that is forked later saves 50 ms."""
    for path in shipped().glob("*.md"):  # plain: shipped with the package
        templates_in((shipped(),)).get_template(path.name)


def system_prompt(name: str, *, skills: str, **values: object) -> str:
    """Return the system prompt `name`, `coordinator` or `worker`; `skills` is the list of skills.

    `coordinator_short` and `worker_short` contain neither that list nor the rules.
    """
    listed = render("skills", skills=skills) if skills else ""
    return render(name, skills=listed, rules=render("rules"), **values)


def node_limits(run: RunConfig) -> dict[str, object]:
    """Return the default limits of nodes and stages, as the coordinator's prompt names them."""
    stage = run.stage_timeout_seconds
    return {
        "turns": run.max_iterations,
        "minutes": f"{run.node_timeout_seconds / MINUTE:g}",
        "calls": run.node_calls,
        "stage_minutes": None if stage is None else f"{stage / MINUTE:g}",
    }


def goal_turn(goal: str, input_dir: str | None, plan: str = "") -> str:
    """Return the coordinator's first user turn; `plan` is a text about the plan, '' for none."""
    lines = [f"# Goal\n\n{goal}"]
    if input_dir:
        lines.append(
            f"The input folder, {Path(input_dir).name}, is mounted at input/ (read-only; in bash: "
            "$AGIRAPH_INPUT)."
        )
    if plan:
        lines.append(plan)
    return "\n\n".join(lines)


def new_run_turn(goal: str, input_dir: str | None, *, cause: str, plan: str = "") -> str:
    """Return the user turn that gives a coordinator a further goal; `cause` names its cause."""
    lines = [goal_turn(goal, input_dir, plan), NEW_RUN]
    if cause:
        lines.append(f"[Runtime]: The run was started by {cause}.")
    return "\n\n".join(lines)


def assignment_turn(assignment: Assignment, ended: EndedNode | None = None) -> str:
    """Return the user turn that gives a worker its node.

    `ended` is the last node shown in its conversation: the parts of the assignment that are the
    same are omitted, and the reason is given if that node was cancelled or failed.
    """
    before = ended.assignment if ended is not None else None
    schema = assignment.node.output_schema
    known = {
        "has_known_schema": before is not None and schema == before.node.output_schema,
        "has_known_team": before is not None and before.team == assignment.team,
        "has_known_goal": before is not None and before.goal == assignment.goal,
        "has_known_brief": before is not None and before.stage_brief == assignment.stage_brief,
        "has_known_notes": before is not None and before.notes == assignment.notes,
    }
    refs = [
        (name, path, ref_files_in_words(assignment.ref_files.get(name, {})))
        for name, path in sorted(ref_paths(assignment.node.refs).items())
    ]
    turns = assignment.contract.max_iterations_per_node
    shown = render("assignment", refs=refs, turns=turns, **assignment_facts(assignment), **known)
    return f"{end_notice(ended)}{shown}"


def ref_files_in_words(sizes: dict[str, int]) -> str:
    """Return the files of a ref with their sizes, as a list in one line."""
    return ", ".join(f"`{file}` ({size} bytes)" for file, size in sizes.items())


def end_notice(ended: EndedNode | None) -> str:
    """Return the text about a node that ended without a result; '' for any other node."""
    if ended is None or ended.end.status == "completed":
        return ""
    node, end = ended.assignment.node, ended.end
    verb = "was cancelled" if end.status == "cancelled" else "failed"
    reason = f": {end.reason}" if end.reason else ""
    return f"[Runtime]: Your node '{node.name}' {verb}{reason}. Do not continue it.\n\n"


def schema_in_words(node: WorkNode) -> str:
    """Return the JSON Schema of a node's result as a model reads it, '' if it has none."""
    schema = node.output_schema
    return "" if schema is None else json.dumps(schema, ensure_ascii=False, indent=2)


def assignment_facts(assignment: Assignment) -> dict[str, object]:
    """Return the values that every assignment template needs, from an assignment."""
    return {
        "node": assignment.node,
        "spec": assignment.spec.strip(),
        "goal": assignment.goal,
        "stage": assignment.stage,
        "stage_goal": assignment.stage_goal.strip(),
        "stage_brief": assignment.stage_brief.strip(),
        "shared_keys": assignment.shared_keys,
        "team": ", ".join(assignment.team) or "you alone",
        "attempt": assignment.attempt,
        "worktree": assignment.worktree,
        "schema": schema_in_words(assignment.node),
        "today": assignment.today,
        "notes": assignment.notes,
    }
