"""`agiraph attach` and `wait`: follow a run that was started elsewhere to its end."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from agiraph.core.models import ENDED_AGENT
from agiraph.http.discovery import is_held, why_unreachable
from cli.commands.console import only_one
from cli.exits import FAILED, INTERRUPTED, STDERR, STDOUT, end_when_unread
from cli.options.remote import is_elsewhere
from cli.options.shared import DURATION, connect_to_read, examples, home_option, json_option
from cli.run.screen import TerminalScreen, can_prompt
from cli.run.supervisor_share import shared_supervisor

if TYPE_CHECKING:
    from cli.run.outcome import RunOutcome
    from cli.run.watch import RunWatcher

OUTCOME = "one JSON object: agent, run, status, reason, failure_class, result ..."


@click.command(epilog=examples("agiraph attach my-agent", "agiraph attach"))
@click.argument("agent", required=False)
@home_option
@json_option(f"{OUTCOME}, at the end")
@click.pass_context
def attach(ctx: click.Context, agent: str | None, home: Path, as_json: bool) -> None:
    """Watch AGENT at work as `agiraph run` does, and answer its questions, until its run ends.

    Without AGENT: the only one at work. Ctrl-C detaches, with exit code 130, and the team goes on.
    At the end the result goes to stdout. Exit codes, as for `agiraph run`: 0 completed, 1 failed or
    stopped, 3 out of budget.
    """
    prompts = can_prompt() and not as_json
    end_when_unread(STDOUT, STDERR)
    with _watching(agent, home, sys.stderr, can_prompt=prompts) as watch:
        from cli.run.outcome import show, verdict

        screen = watch.target.screen
        screen.note(f"agent {watch.agent.id}: {watch.agent.status}")
        try:
            watch.catch_up()
            began_at = _began_at(watch)
            _follow(watch, began_at, None)
        except KeyboardInterrupt:
            screen.end_prompt()
            watch.target.say_detached(watch.agent)
            ctx.exit(INTERRUPTED)
        screen.close()
        outcome = _outcome(watch, began_at)
        show(outcome, home, screen, as_json=as_json)
        ctx.exit(verdict(outcome, watch))


@click.command(
    epilog=examples(
        "agiraph wait my-agent",
        "agiraph wait my-agent --timeout 2h --json",
    )
)
@click.argument("agent")
@click.option("--timeout", type=DURATION, help="Wait no longer than this, such as 90s, 5m, 2h.")
@home_option
@json_option(OUTCOME)
@click.pass_context
def wait(ctx: click.Context, agent: str, timeout: float | None, home: Path, as_json: bool) -> None:
    """Wait in silence until the run of AGENT ends; nothing is stopped.

    Exit codes, as for `agiraph run`: 0 completed, 1 failed, stopped, or not ended within --timeout,
    3 out of budget.
    """
    asked_at = time.monotonic()
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,  # plain: /dev/null
        _watching(agent, home, nowhere, can_prompt=False) as watch,
    ):
        from cli.output.listing import print_json
        from cli.run.outcome import too_late, verdict

        watch.catch_up()
        is_ended = _follow(watch, asked_at, timeout)
        outcome = _outcome(watch, _began_at(watch))
        if not is_ended and watch.outage is None:
            outcome = replace(outcome, reason=too_late(timeout or 0))
        if as_json:
            print_json(outcome.as_json())
        code = verdict(outcome, watch) if is_ended else FAILED
    if code:
        because = f": {outcome.reason}" if outcome.reason else ""
        click.echo(f"agiraph: {watch.agent.name} is {outcome.status}{because}", err=True)
    ctx.exit(code)


@contextlib.contextmanager
def _watching(
    agent: str | None, home: Path, out: TextIO, *, can_prompt: bool
) -> Iterator["RunWatcher"]:
    """Yield the watcher of an agent's run, by default of the only agent at work.

    The outcome of an ended run is read without any process. Raises NotReachable for a run that has
    not ended.
    """
    with shared_supervisor(home), connect_to_read(home) as client:
        from cli.run.target import RunTarget
        from cli.run.watch import RunWatcher

        found = client.agent(agent or only_one(client, "attach").id)
        if found.status not in ENDED_AGENT and not (is_elsewhere() or is_held(home)):
            raise why_unreachable(home)
        with contextlib.closing(TerminalScreen(out, is_live=out.isatty())) as screen:
            target = RunTarget(home, client, None, screen)
            yield RunWatcher(target, found, can_prompt=can_prompt)


def _follow(watch: "RunWatcher", started_at: float, timeout_seconds: float | None) -> bool:
    """Watch until the run has ended, if it has not ended yet; False at the timeout."""
    return watch.agent.status in ENDED_AGENT or watch.until_the_end(started_at, timeout_seconds)


def _began_at(watch: "RunWatcher") -> float:
    """Return when the run began, as a time of the monotonic clock."""
    now = time.time()
    runs = watch.target.client.runs(watch.agent.id)
    seconds = [(r.ended_at or now) - r.started_at for r in runs if r.id == watch.agent.run]
    return time.monotonic() - max([0.0, *seconds])


def _outcome(watch: "RunWatcher", began_at: float) -> "RunOutcome":
    from cli.run.outcome import outcome_of

    return outcome_of(watch, time.monotonic() - began_at)
