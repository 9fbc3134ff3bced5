"""The outcome of a run: its result, its usage, the recording of its calls, the exit code."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agiraph.board.failure_class import class_of, failure_class, suspended_by
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Usage
from agiraph.http.api import AgentView
from agiraph.http.errors import ApiError, NotReachable
from agiraph.storage.file_names import spelled
from agiraph.storage.files import is_file, open_file
from agiraph.storage.home import Home
from cli.exits import DONE, FAILED, OUT_OF_BUDGET
from cli.options.remote import is_elsewhere
from cli.output.formats import format_seconds, format_usage
from cli.output.listing import print_json
from cli.run.deliverables import deliver, read_whole
from cli.run.progress import is_about_budget
from cli.run.screen import TerminalScreen
from cli.run.target import RunOptions, home_option_of
from cli.run.watch import RunWatcher
from cli.sanitize import broken_for, printable

if TYPE_CHECKING:
    from agiraph.http.client import Client


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run, as printed by `--json`; `reason` says why it is not completed.

    `failure_class` is the machine-readable cause of a failure, `incomplete` names the nodes of the
    plan that a completed run did not complete, `missing` the delivered files that could not be
    written to `--output`.
    """

    agent: str
    run: str | None
    status: str
    result: str | None
    output: str | None
    usage: Usage
    seconds: float
    reason: str | None = None
    failure_class: str | None = None
    incomplete: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    roles: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {
            "agent": self.agent,
            "run": self.run,
            "status": self.status,
            "reason": self.reason,
            "failure_class": self.failure_class,
            "incomplete": list(self.incomplete),
            "result": self.result,
            "output": self.output,
            "written": list(self.written),
            "missing": list(self.missing),
            "usage": self.usage.model_dump(mode="json") | {"tokens": self.usage.tokens},
            "seconds": round(self.seconds, 3),
            **({"roles": self.roles} if self.roles is not None else {}),
        }


def print_started(agent: AgentView, seconds: float) -> None:
    """Print a run that was only started, as a JSON object."""
    outcome = RunOutcome(agent.id, agent.run, agent.status, None, None, Usage(), seconds)
    print_json(outcome.as_json())


def conclude(options: RunOptions, watch: RunWatcher, started_at: float, *, is_ended: bool) -> int:
    """Show the outcome of a run, which is stopped if not `is_ended`; return the exit code.

    A run that a failed service suspends stays unfinished. `started_at` is a time of the monotonic
    clock.
    """
    target, agent, screen = watch.target, watch.agent, watch.target.screen
    is_suspended = not is_ended and watch.outage is not None
    if is_suspended:
        _leave_suspended(watch)
    elif not is_ended:
        target.dismiss(agent.id)
        watch.agent = agent = agent.model_copy(update={"status": "stopped"})
    outcome = outcome_of(watch, time.monotonic() - started_at)
    if "roles" in options.terms:
        outcome = replace(outcome, roles=_turns_of(target.client, agent.id))
    if not is_ended and not is_suspended:
        late = too_late(options.timeout_seconds or 0)
        outcome = replace(outcome, reason=late, failure_class="timeout")
    if is_ended and target.belongs_to_commands:
        target.dismiss(agent.id)
    elif agent.status == "stopped" and not is_suspended:
        target.detach()
    if not is_ended:
        watch.show_input_news()
    with _delivered(outcome, options, watch) as outcome:
        show(outcome, options.home, screen, as_json=options.as_json)
    if options.record is not None and agent.run is not None:
        _copy_recording(Home(options.home).system.recording(agent.run), options.record, screen)
    if is_suspended:
        return _say_suspended(outcome, watch)
    if not is_ended:
        screen.note(f"stopped: {outcome.reason}", "bad")
        return FAILED
    return verdict(outcome, watch)


def _leave_suspended(watch: RunWatcher) -> None:
    """Leave a run that a failed service suspends, so that it can be continued.

    A supervisor that ends with its commands stops the run; with any other the run stays suspended.
    """
    if watch.target.belongs_to_commands:
        if watch.target.stop_agent(watch.agent.id):
            watch.agent = watch.agent.model_copy(update={"status": "stopped"})
    else:
        watch.target.detach()


def _say_suspended(outcome: RunOutcome, watch: RunWatcher) -> int:
    """Print why a run is suspended and how to continue it; return the exit code."""
    where, screen = home_option_of(watch.target.home), watch.target.screen
    if watch.target.belongs_to_commands:
        screen.note(f"to continue it: agiraph run --resume --agent {outcome.agent}{where}")
    else:
        screen.note("it continues by itself when the service is ready again; to watch it:")
        screen.note(f"  agiraph attach {outcome.agent}{where}")
    screen.note(f"{watch.agent.name} {outcome.status}: {outcome.reason}", "bad")
    return FAILED


def _turns_of(client: "Client", agent: str) -> dict[str, Any] | None:
    """Return the turns of a team's roles, None if they are not available now."""
    with contextlib.suppress(ApiError, NotReachable):
        return client.role_turns(agent).model_dump(mode="json")
    return None


@contextlib.contextmanager
def _delivered(outcome: RunOutcome, options: RunOptions, watch: RunWatcher) -> Iterator[RunOutcome]:
    """Yield the outcome with the files written to `--output`; raise afterwards if that fails.

    So the block prints an answer that could not be written.
    """
    if options.output is None:
        yield outcome
        return
    client, screen = watch.target.client, watch.target.screen
    try:
        delivery = deliver(client, outcome.agent, outcome.run, outcome.result, options.output)
    except InvalidInput:
        yield outcome
        raise
    written, missing = map(spelled, delivery.written), tuple(delivery.missing)
    yield replace(outcome, written=tuple(written), missing=missing)
    for note in delivery.notes:
        screen.note(note)


def too_late(limit: float) -> str:
    """Return the reason why a run is no longer watched."""
    within = format_seconds(limit) if limit >= 60 else f"{limit:g} seconds"
    return f"not finished within {within} (--timeout)"


def verdict(outcome: RunOutcome, watch: RunWatcher) -> int:
    """Return the exit code of an ended run; print why it was not completed, if so."""
    if outcome.status == "completed":
        return FAILED if outcome.missing else DONE
    if outcome.status == "failed":
        where = home_option_of(watch.target.home)
        watch.target.screen.note(f"to try again: agiraph run GOAL --agent {outcome.agent}{where}")
    because = f": {outcome.reason}" if outcome.reason else ""
    ending = f"{watch.agent.name} {outcome.status}{because}"
    for line in broken_for(sys.stderr, ending).split("\n"):
        watch.target.screen.note(line, "bad")
    lacks = watch.progress.is_out_of_budget or is_about_budget(outcome.reason or "")
    return OUT_OF_BUDGET if lacks else FAILED


def outcome_of(watch: RunWatcher, seconds: float) -> RunOutcome:
    """Return the outcome of a run; usage is from the broker's ledger, else from events."""
    client, agent = watch.target.client, watch.agent
    run = agent.run if not is_elsewhere() else None
    output = Home(watch.target.home).agent(agent.id).run(run).output if run else None
    result = answer_of(client, agent.id, agent.run, agent.result)
    shown_output = str(output) if output is not None and is_file(output) else None
    usage = watch.progress.usage
    if watch.outage is None:  # the broker itself may be the failed service
        with contextlib.suppress(ApiError, NotReachable):
            usage = client.usage(agent=agent.id, run=agent.run).total
    reason = watch.progress.failure or agent.reason  # its event may not have arrived yet
    outcome = RunOutcome(agent.id, agent.run, agent.status, result, shown_output, usage, seconds)
    if watch.outage is not None:
        why = suspended_by(watch.outage)
        return replace(outcome, reason=why, failure_class=failure_class(why))
    failed = class_of(agent.status, reason)
    return replace(outcome, reason=reason, failure_class=failed, incomplete=agent.incomplete)


def answer_of(client: "Client", agent: str, run: str | None, recorded: str | None) -> str | None:
    """Return the answer in a run's record, else the content of its `_output.md`.

    The record is written atomically by the coordinator; the file may be damaged or changed.
    """
    if recorded is not None:
        return f"{recorded.rstrip()}\n"
    try:
        found = client.read_file(agent, "_output.md", run=run)
        return read_whole(client, agent, found, run).decode("utf-8", "replace")
    except (ApiError, NotReachable):
        return None


def show(outcome: RunOutcome, home: Path, screen: TerminalScreen, *, as_json: bool) -> None:
    """Show an outcome: as JSON, or its facts and the answer on stdout unless it was written."""
    if as_json:
        print_json(outcome.as_json())
    elif outcome.result and not outcome.written:
        shown = printable(outcome.result) if sys.stdout.isatty() else outcome.result
        is_one_place = sys.stdout.isatty() and sys.stderr.isatty()
        if is_one_place:
            screen.note("")
        click.echo(shown.rstrip("\n"))
        if is_one_place:
            screen.note("")
    if outcome.incomplete:
        names = ", ".join(outcome.incomplete)
        screen.note(f"nodes of the plan that were not completed: {names}", "bad")
    facts = [outcome.status, format_seconds(outcome.seconds), format_usage(outcome.usage)]
    screen.note(" · ".join(facts))
    if is_elsewhere():
        screen.note(f"files: agiraph result {outcome.agent} -o DIR/{home_option_of(home)}")
    elif outcome.run is not None:
        screen.note(f"files: {Home(home).agent(outcome.agent).run(outcome.run).path}")


def _copy_recording(made: Path, wanted: Path, screen: TerminalScreen) -> None:
    """Copy a run's recording to `wanted`, readable only by its owner; report it, or the problem."""
    if not is_file(made):
        screen.note(f"nothing was recorded: {made} does not exist", "bad")
        return
    try:
        with os.fdopen(open_file(made, anyones=True), "rb") as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            descriptor = os.open(wanted, flags, 0o600)  # plain: where the person wants it
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise InvalidInput(
            f"{wanted}: cannot be written ({error.strerror}); the recording is {made}"
        ) from None
    screen.note(f"recorded: {wanted}")
