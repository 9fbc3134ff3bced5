"""Assignment changes: the changed terms of a node, as its worker reads them; pure."""

from typing import Final

from agiraph.core.models import Assignment, WorkNode
from agiraph.core.naming import cut
from agiraph.core.ref_paths import ref_paths

OLD_CHARACTERS: Final = 300
TASK_CHARACTERS: Final = 8000
VALUE_CHARACTERS: Final = 2000
LIMITS: Final = ("max_iterations", "timeout_seconds")


def is_update(later: Assignment, known: Assignment) -> bool:
    """Whether an assignment is the same attempt at the same node, with later changes."""
    is_same = (later.node.id, later.attempt) == (known.node.id, known.attempt)
    return is_same and later.node.update.number > known.node.update.number


def updated(known: Assignment, later: Assignment) -> Assignment:
    """Return an assignment with the terms of a later one; its worktree and notes stay."""
    terms = {name: getattr(later, name) for name in ("node", "spec", "contract", "ref_files")}
    return known.model_copy(update=terms)


def changes_in_words(old: WorkNode, new: WorkNode) -> str:
    """Return each changed term with its old and its new value, in a text of bounded length."""
    lines = [f"The coordinator changed your node '{new.name}'. This applies from now on:"]
    if new.task != old.task:
        lines.append(f"- task, before: {cut(old.task.strip(), OLD_CHARACTERS)}")
        lines.append(f"- task, now (also in `_spec.md`): {cut(new.task.strip(), TASK_CHARACTERS)}")
    if new.checks != old.checks:
        lines.append(f"- checks: {_listed(old.checks)} -> {_listed(new.checks)}")
    for limit in LIMITS:
        before, now = getattr(old, limit), getattr(new, limit)
        if before != now:
            lines.append(f"- {limit}: {before or 'the limit of the stage'} -> {now}")
    if new.refs != old.refs:
        lines.append(f"- refs: {_refs(old)} -> {_refs(new)}")
    if new.update.accepted and new.update.accepted != old.update.accepted:
        lines.append(
            "- checks: your result is accepted even if checks fail, because: "
            f"{cut(new.update.accepted, VALUE_CHARACTERS)}. `publish` still runs them and records "
            "the failures."
        )
    return "\n".join(lines)


def _listed(checks: tuple[str, ...]) -> str:
    return cut(", ".join(f"`{check}`" for check in checks), VALUE_CHARACTERS) or "none"


def _refs(node: WorkNode) -> str:
    shown = ", ".join(f"{name}: {path}" for name, path in ref_paths(node.refs).items())
    return cut(shown, VALUE_CHARACTERS) or "none"
