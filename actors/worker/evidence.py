"""Evidence: a node's checks run before its result is published, and are stored with its hashes.

`_evidence.json` is written before the first file moves. So a worker that publishes again, after a
crash or an interruption, knows from an empty `scratch/` that the checks of this attempt have
passed, and runs none of them again in an empty folder.
"""

import asyncio
from collections.abc import Sequence

from pydantic import ValidationError

from agiraph.agent.transcript import Transcript
from agiraph.core.errors import Refused
from agiraph.core.models import Assignment
from agiraph.core.record import Record
from agiraph.core.results import CheckResult, Evidence
from agiraph.storage.files import read_bytes, replace_file
from agiraph.storage.home import NodeHome
from agiraph.tools.checking import evidence_of, run_checks, why_not
from agiraph.tools.ports import ToolContext
from agiraph.tools.sandbox.input_news import report_input_news, reported_if_cancelled
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.scopes.publishing import files_left
from agiraph.tools.worktrees.git import FOLDER


def answer_key(assignment: Assignment) -> str:
    """Return the key under which the only answer of a `single_inference` node is published."""
    return f"answer.{assignment.node.id}.{assignment.attempt}"


def outside_key(assignment: Assignment, began_at: str) -> str:
    """Return the key for publishing the result of an external agent's last start."""
    return f"outside.{assignment.node.id}.{assignment.attempt}.{began_at}"


def open_publishes(transcript: Transcript) -> frozenset[str]:
    """Return the keys of publications without a tool call that may be in progress."""
    assignment = transcript.assignment
    if assignment is None or transcript.is_published:
        return frozenset()
    return frozenset({answer_key(assignment), outside_key(assignment, transcript.outside.began_at)})


class StoredEvidence(Record):
    """The contents of `_evidence.json`: the evidence of one attempt."""

    attempt: int
    evidence: Evidence


async def pass_checks(
    context: ToolContext,
    assignment: Assignment,
    home: NodeHome,
    now: float,
    but: Sequence[str] = (),
    *,
    is_partial: bool = False,
) -> tuple[CheckResult, ...]:
    """Return the results of a node's checks. Raises Refused with the output if one failed.

    A failed check is no reason to refuse a partial result, whose missing part is named, or a result
    that the coordinator accepts.
    Files in scratch/ that match a name of `but` are never published.
    """
    if not assignment.node.checks:
        return ()
    known = _kept(home, assignment.attempt)
    if known is not None and not files_left(home, but):
        return known.checks
    results = await try_checks(context, assignment, home)
    is_accepted = is_partial or bool(assignment.node.update.accepted)
    if (said := why_not(results, context.config)) and not is_accepted:
        raise Refused(said)
    _keep(home, assignment.attempt, Evidence(checks=results, at=now))
    return results


async def try_checks(
    context: ToolContext, assignment: Assignment, home: NodeHome
) -> tuple[CheckResult, ...]:
    """Run the checks of a node, report them and return their results."""
    sandbox = find_sandbox(context.config.sandbox)
    async with reported_if_cancelled(sandbox, context.scope, context.report):
        results = await run_checks(
            assignment.node.checks,
            scope=context.scope,
            config=context.config,
            environment=context.environment,
            folder=context.call_folder,
            cwd=home.scratch.resolve() / FOLDER if assignment.worktree else None,
        )
    _report(context, results)
    await report_input_news(sandbox, context.scope, context.report)
    return results


async def record_evidence(
    results: tuple[CheckResult, ...], assignment: Assignment, home: NodeHome, now: float
) -> Evidence | None:
    """Return and store the evidence of the files in `published/`; None without checks."""
    if not results:
        return None
    known = _kept(home, assignment.attempt)
    at = known.at if known else now
    evidence = await asyncio.to_thread(evidence_of, results, home.published, at)
    _keep(home, assignment.attempt, evidence)
    return evidence


def _report(context: ToolContext, results: tuple[CheckResult, ...]) -> None:
    ended = [{"command": one.command[:300], "exit_code": one.exit_code} for one in results]
    failed = [one.command[:300] for one in results if not one.has_passed]
    checked = {"has_passed": not failed, "checks": ended, "failed": failed}
    context.report("node.checked", checked)


def _keep(home: NodeHome, attempt: int, evidence: Evidence) -> None:
    kept = StoredEvidence(attempt=attempt, evidence=evidence)
    replace_file(home.evidence, kept.model_dump_json(indent=2) + "\n")


def _kept(home: NodeHome, attempt: int) -> Evidence | None:
    """Return the stored evidence of an attempt, None if there is none."""
    try:
        kept = StoredEvidence.model_validate_json(read_bytes(home.evidence))
    except (OSError, ValidationError):
        return None
    return kept.evidence if kept.attempt == attempt else None
