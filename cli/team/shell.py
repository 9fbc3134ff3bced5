"""`agiraph agentic-shell`: one task after the other for a team of roles, typed at a prompt."""

import contextlib
import json
import readline
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from pydantic import ValidationError

from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import new_run_id
from agiraph.core.record import Record
from agiraph.core.team import MOST_TURNS
from cli.exits import DONE
from cli.formats import how_it_works, shown_agent
from cli.listing import Listing
from cli.options import examples, home_option, require_writable
from cli.run_target import RunOptions, RunTarget, supervised
from cli.sanitize import printable
from cli.screen import TerminalScreen, can_prompt
from cli.team.command import (
    ROLES,
    TURNS,
    folder_option,
    max_turns_option,
    model_option,
    offline_option,
    roles_option,
    section_of,
)

if TYPE_CHECKING:
    from agiraph.http.api import AgentView, TeamRolesView, TeamRunView

PROMPT: Final = "team> "
MOST_EARLIER: Final = 20
LONGEST_OUTPUT: Final = 20_000
ON_OFF: Final = {"on": True, "off": False}
ABOUT: Final = {
    "/help": ("", "show this"),
    "/agents": ("", "list what does the work of each role"),
    "/team": ("", "show the roles, the lead and the bounds"),
    "/maxturns": ("N", "set after how many turns a task ends"),
    "/followup": ("on|off", "whether the next task is told of the ones before"),
    "/history": ("", "list the tasks of this session"),
    "/save": ("[FILE]", "write the session into a file"),
    "/load": ("FILE", "continue a session that was saved"),
    "/reset": ("", "forget the tasks of this session"),
    "/reload": ("", "read agents.yaml again, and say what changed"),
    "/validate": ("", "check that each role can work"),
    "/clear": ("", "clear the screen"),
    "/info": ("", "show how this session stands"),
    "/exit": ("", "leave; so does Ctrl-D"),
}


class DoneTask(Record):
    """A task of a session, and what came of it."""

    task: str
    output: str
    status: str
    agent: str
    run: str
    turns: int


class Session(Record):
    """What `/save` writes and `/load` reads."""

    tasks: tuple[DoneTask, ...] = ()
    max_turns: int | None = None
    follows_up: bool = True


@click.command(
    "agentic-shell",
    epilog=examples(
        "agiraph agentic-shell",
        "agiraph agentic-shell --max-turns 16 -i .",
        "agiraph agentic-shell --offline",
    ),
)
@model_option
@folder_option
@max_turns_option
@offline_option
@roles_option
@home_option
@click.pass_context
def agentic_shell(
    ctx: click.Context,
    model: str | None,
    folder: Path | None,
    max_turns: int | None,
    offline: bool,
    file: Path | None,
    home: Path,
) -> None:
    """Type tasks for a team of roles, one after the other; /help lists the commands.

    The turns are shown as they are taken, then what was said, and the lead's answer. A task is
    told of the ones before (/followup off: it is not). Ctrl-C stops a task, Ctrl-D ends the shell.
    """
    terms: dict[str, Any] = {
        **dict.fromkeys(("worker_model", "mode", "cycle_seconds", "plan", "planning", "name")),
        "goal": "a task",
        "model": model,
        "input": str(folder.resolve()) if folder else None,
        "when_spent": None if can_prompt() else "stop",
    }
    options = RunOptions(home, terms, None, None, as_json=False)
    screen = TerminalScreen(sys.stderr, is_live=sys.stderr.isatty())
    with contextlib.closing(screen), supervised(options, screen) as target:
        shell = AgenticShell(target, options, section_of(file), max_turns, is_offline=offline)
        shell.run()
    ctx.exit(DONE)


class AgenticShell:
    """A session: reads lines, does commands, gives tasks to the team."""

    def __init__(
        self,
        target: RunTarget,
        options: RunOptions,
        section: dict[str, Any] | None,
        max_turns: int | None,
        *,
        is_offline: bool,
    ) -> None:
        self._target = target
        self._options = options
        self._section = section
        self._is_offline = is_offline
        self._session = Session(max_turns=max_turns)
        self._agent: str | None = None
        self._is_over = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: self._help(),
            "/agents": lambda _: self._agents(),
            "/team": lambda _: self._team(),
            "/maxturns": self._max_turns,
            "/followup": self._follow_up,
            "/history": lambda _: self._history(),
            "/save": self._save,
            "/load": self._load,
            "/reset": lambda _: self._reset(),
            "/reload": lambda _: self._reload(),
            "/validate": lambda _: self._validate(),
            "/clear": lambda _: click.clear(),
            "/info": lambda _: self._info(),
            "/exit": lambda _: self._exit(),
        }

    def run(self) -> None:
        """Read and do one line after the other until the person leaves."""
        readline.set_completer(_completed)
        readline.set_completer_delims(" ")
        readline.parse_and_bind("tab: complete")
        self._validate()
        self._say("type a task, or /help")
        while not self._is_over:
            try:
                line = input(PROMPT if sys.stdin.isatty() else "").strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                click.echo()
                continue
            if line:
                self._do(line)

    def _do(self, line: str) -> None:
        """Do one line; what is wrong with it is said, and the session goes on."""
        word, _, rest = line.partition(" ")
        try:
            if not word.startswith("/"):
                self._work_on(line)
            elif (command := self._commands.get(word)) is not None:
                command(rest.strip())
            else:
                self._say(f"unknown command {word} (possible: {', '.join(ABOUT)})")
        except (AgiraphError, click.UsageError, OSError) as error:
            self._say(str(error) or type(error).__name__)
        except KeyboardInterrupt:
            self._say("stopped")

    def _say(self, text: str) -> None:
        for line in text.splitlines():
            self._target.screen.note(line)

    # --- a task ----------------------------------------------------------------------------------

    def _work_on(self, task: str) -> None:
        """Have the team do a task, and show what its roles have said and what came of it."""
        from cli.watch import RunWatcher  # imports the records

        agent = self._target.begin(self._wanted(task))
        self._agent = agent.id
        watch = RunWatcher(self._target, agent, can_prompt=can_prompt())
        try:
            watch.until_the_end(time.monotonic(), None)
        except KeyboardInterrupt:
            self._target.stop_agent(agent.id)
            raise
        finally:
            self._target.detach()
        found = self._target.client.team_turns(agent.id)
        self._remember(task, watch.agent, found)
        self._show(watch.agent, found)

    def _wanted(self, task: str) -> RunOptions:
        """Return the run to ask for: of a new agent, or the next one of the session's."""
        session = self._session
        before = session.tasks[-MOST_EARLIER:] if session.follows_up else ()
        asked = {
            "section": self._section,
            "max_turns": session.max_turns,
            "offline": self._is_offline or None,
            "earlier": [{"task": one.task, "output": one.output[:LONGEST_OUTPUT]} for one in before]
            or None,
        }
        terms = {
            **self._options.terms,
            "goal": task,
            "run": new_run_id(time.time()),
            "team": {key: value for key, value in asked.items() if value is not None},
        }
        if self._agent is not None:
            terms.pop("name")
        return RunOptions(self._options.home, terms, self._agent, None, as_json=False)

    def _remember(self, task: str, agent: "AgentView", found: "TeamRunView") -> None:
        output = found.final_output or agent.result or agent.reason or ""
        done = DoneTask(
            task=task,
            output=output,
            status=found.status,
            agent=agent.id,
            run=found.run,
            turns=len(found.turns),
        )
        tasks = (*self._session.tasks, done)
        self._session = self._session.model_copy(update={"tasks": tasks})

    def _show(self, agent: "AgentView", found: "TeamRunView") -> None:
        self._target.screen.close()
        Listing(found.turns, TURNS, "no turn has ended").print(as_json=False)
        click.echo()
        click.echo(printable(found.final_output or agent.result or "").rstrip())
        self._say(f"{found.status}, {len(found.turns)} turns")

    # --- commands --------------------------------------------------------------------------------

    def _help(self) -> None:
        for name, (argument, about) in ABOUT.items():
            click.echo(f"{f'{name} {argument}'.strip():<18}  {about}")
        click.echo(f"{'anything else':<18}  a task for the team")

    def _found(self) -> "TeamRolesView":
        from agiraph.http.api import CheckTeamRequest

        model = self._options.terms["model"]
        asked = CheckTeamRequest(section=self._section, offline=self._is_offline, model=model)
        return self._target.client.check_team(asked)

    def _agents(self) -> None:
        found = self._found()
        Listing(found.roles, ROLES, "; ".join(found.problems)).print(as_json=False)

    def _team(self) -> None:
        found = self._found()
        most = self._session.max_turns or found.max_turns
        click.echo(f"lead {found.lead_role}, at most {most} turns")
        for role in found.roles:
            facts = role.model_dump()
            click.echo(f"{role.name}: {role.title}. {role.responsibilities}".rstrip())
            click.echo(f"  {shown_agent(facts)}, {how_it_works(facts)}")

    def _max_turns(self, text: str) -> None:
        if not text.isdecimal() or not 1 <= int(text) <= MOST_TURNS:
            raise InvalidInput(f"/maxturns needs a number from 1 to {MOST_TURNS}, not '{text}'")
        self._session = self._session.model_copy(update={"max_turns": int(text)})
        self._say(f"a task ends after {text} turns")

    def _follow_up(self, text: str) -> None:
        if text not in ON_OFF:
            raise InvalidInput(f"/followup needs on or off, not '{text}'")
        self._session = self._session.model_copy(update={"follows_up": ON_OFF[text]})
        self._say(f"the next task is {'told' if ON_OFF[text] else 'not told'} of the ones before")

    def _history(self) -> None:
        if not self._session.tasks:
            self._say("no tasks yet")
        for number, one in enumerate(self._session.tasks, start=1):
            click.echo(printable(f"{number}. {one.task}  ({one.status}, {one.turns} turns)"))
            click.echo(printable(f"   {one.output.strip().splitlines()[0] if one.output else ''}"))

    def _save(self, text: str) -> None:
        path = Path(text or f"team-session-{time.strftime('%Y%m%d-%H%M%S')}.json").expanduser()
        require_writable(path)
        path.write_text(self._session.model_dump_json(indent=2), "utf-8")  # plain: the person's
        self._say(f"saved: {path}")

    def _load(self, text: str) -> None:
        if not text:
            raise InvalidInput("/load needs the FILE that /save wrote")
        try:
            saved = Path(text).expanduser().read_text("utf-8")  # plain: the person's
            self._session = Session.model_validate(json.loads(saved))
        except (OSError, ValueError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no saved session"
            raise InvalidInput(f"{text}: {why}") from None
        self._say(f"loaded: {len(self._session.tasks)} tasks")

    def _reset(self) -> None:
        self._session = self._session.model_copy(update={"tasks": ()})
        self._agent = None
        self._say("a new session")

    def _reload(self) -> None:
        self._say("agents.yaml is read again for each task")
        self._validate()

    def _validate(self) -> None:
        found = self._found()
        if found.problems:
            self._say("\n".join(found.problems))
            return
        self._say(f"{len(found.roles)} roles can work, led by {found.lead_role}")
        for role in found.roles:
            if role.left_out:
                self._say(f"offline: {role.name} works with {role.agent}, not {role.left_out}")

    def _info(self) -> None:
        session = self._session
        click.echo(f"tasks      {len(session.tasks)}")
        click.echo(f"max turns  {session.max_turns or 'as agents.yaml says'}")
        click.echo(f"follow-up  {'on' if session.follows_up else 'off'}")
        click.echo(f"offline    {'yes' if self._is_offline else 'no'}")
        click.echo(f"agent      {self._agent or 'none yet'}")
        click.echo(f"home       {self._options.home}")

    def _exit(self) -> None:
        self._is_over = True


def _completed(text: str, state: int) -> str | None:
    """Return the next command that begins so, for readline."""
    found = [name for name in ABOUT if name.startswith(text)] if text.startswith("/") else []
    return found[state] if state < len(found) else None
