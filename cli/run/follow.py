"""Following a run from its beginning to its outcome; Ctrl-C detaches or stops it."""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agiraph.core.errors import AgiraphError
from agiraph.http.errors import ApiError, NotReachable
from cli.exits import INTERRUPTED
from cli.interrupts import EndedBySignal, signals_interrupt
from cli.options import remote
from cli.run.screen import TerminalScreen, can_prompt
from cli.run.target import RunOptions, RunTarget, supervised

if TYPE_CHECKING:
    from agiraph.http.api import AgentView
    from agiraph.http.client import Client

SMALL_MODEL: Final = "local/smollm2"
DETACH_OR_STOP: Final = "detach (the team continues) or stop it? d or s, Ctrl-C stops> "
DETACH: Final = ("d", "detach")
STOP: Final = ("s", "stop")
LOOK_SECONDS: Final = 1.0


def run_to_the_end(options: RunOptions, *, resumes: bool) -> int:
    """Begin or resume a run, watch it to its end, write its result; return the exit code."""
    screen = TerminalScreen(sys.stderr, is_live=sys.stderr.isatty())
    started_at = time.monotonic()
    with (
        signals_interrupt(),
        contextlib.closing(screen),
        supervised(options, screen) as target,
    ):
        from cli.run.other_agents import (  # these import the records
            only_unfinished,
            resume_unfinished,
        )
        from cli.run.outcome import conclude
        from cli.run.watch import RunWatcher

        agent = watch = None
        try:
            if resumes and options.is_new:
                resume_unfinished(target)
            elif options.agent is None and not options.is_new:
                options = replace(options, agent=only_unfinished(target))
            if "plan" in options.terms and not remote.is_elsewhere():
                _show_estimate(target, options)
            agent = target.begin(options)
            _introduce(target, options, agent)
            show_ui(options, target.client, agent, screen.note)
            watch = RunWatcher(target, agent, can_prompt=can_prompt())
            is_ended = watch.until_the_end(started_at, options.timeout_seconds)
        except KeyboardInterrupt as interrupt:
            screen.end_prompt()
            is_asked = not (isinstance(interrupt, EndedBySignal) or options.as_json)
            if agent is not None and is_asked and _wants_to_detach(target):
                target.detach()
                target.say_detached(agent)
                return INTERRUPTED
            _stop_early(target, options, agent, interrupt)
            if watch is not None:
                watch.show_input_news()
            raise
        screen.close()
        return conclude(options, watch, started_at, is_ended=is_ended)


def _show_estimate(target: RunTarget, options: RunOptions) -> None:
    """Print the estimate of a plan before it begins; errors in the plan are reported later."""
    from agiraph.models.run_costs import in_words
    from cli.run.estimate import estimate_of

    with contextlib.suppress(AgiraphError):
        target.screen.note(in_words(estimate_of(options, target.client)))


def _introduce(target: RunTarget, options: RunOptions, agent: "AgentView") -> None:
    """Print the agent, its model, and the other agents of its home."""
    from cli.run.other_agents import show_neighbours

    target.screen.note(f"agent {agent.id}")
    target.screen.note(f"model {agent.model}: {_why(target.client, options, agent)}")
    if roles := options.terms.get("roles"):
        _introduce_roles(target, roles, agent.worker_model)
    if agent.model == SMALL_MODEL:
        from agiraph.models.local_weights import HONESTLY

        target.screen.note(HONESTLY)
    show_neighbours(target, agent)


def _introduce_roles(target: RunTarget, asked: dict[str, Any], model: str) -> None:
    """Print the agent of each role, and the way in which it works."""
    from agiraph.http.api import CheckRolesRequest
    from cli.output.formats import how_it_works, shown_agent

    wanted = {"section": asked.get("section"), "offline": asked.get("offline", False)}
    found = target.client.check_roles(CheckRolesRequest(**wanted, model=model))
    for role in found.roles:
        facts, lead = role.model_dump(), ", the lead" if role.is_lead else ""
        target.screen.note(f"{role.name}{lead}: {shown_agent(facts)}, {how_it_works(facts)}")


def show_ui(
    options: RunOptions, client: "Client", agent: "AgentView", say: Callable[[str], None]
) -> None:
    """Open the web UI at an agent, if requested."""
    if not options.shows_ui:
        return
    from cli.browser import link_of, open_browser, ui_login

    url = link_of(client, ui_login(client, agent.id))
    open_browser(url)
    say(f"web UI {url}")


def _wants_to_detach(target: RunTarget) -> bool:
    """Ask at a terminal whether the team is to continue; False if it cannot without us."""
    if target.own is not None or not can_prompt():
        return False
    screen = target.screen
    try:
        while True:
            if not screen.is_prompting:
                screen.prompt(DETACH_OR_STOP)
            answer = (screen.typed(LOOK_SECONDS) or "").casefold()
            if answer in DETACH or answer in STOP:
                return answer in DETACH
    except (EOFError, KeyboardInterrupt):
        return False
    finally:
        screen.end_prompt()


def _stop_early(
    target: RunTarget,
    options: RunOptions,
    agent: "AgentView | None",
    interrupt: KeyboardInterrupt,
) -> None:
    """Stop the team. Unless the person pressed Ctrl-C, the agent is listed as unfinished."""
    target.screen.note("interrupted: stopping the team", "bad")
    if agent is None:
        # The same request returns the same agent, whether or not it was created by now.
        with contextlib.suppress(AgiraphError):
            agent = target.begin(options)
    if agent is not None and isinstance(interrupt, EndedBySignal):
        target.stop_agent(agent.id)
    elif agent is not None:
        target.dismiss(agent.id)


def _why(client: "Client", options: RunOptions, agent: "AgentView") -> str:
    """Return the reason why the agent's model is used, as text."""
    if options.model:
        return f"from {options.model_from}"
    if options.agent or not options.is_new:
        return "as in its last run"
    try:
        known = client.models()
    except (ApiError, NotReachable):
        return "chosen by the gateway"
    return known.why if known.default == agent.model else "chosen by the gateway"
