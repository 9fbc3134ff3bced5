"""`agiraph agentic-shell`: one task after the other for a team of roles, typed at a prompt."""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from agiraph.core.errors import AgiraphError, InvalidInput, unknown
from agiraph.core.ids import new_run_id
from agiraph.core.roles import MOST_TURNS
from agiraph.http.errors import NotReachable
from agiraph.storage.home import Home, expanded
from cli.exits import DONE
from cli.interrupts import EndedBySignal, signals_interrupt
from cli.options.shared import examples, home_option
from cli.output.listing import Listing
from cli.roles.command import (
    ROLES,
    TURNS,
    folder_option,
    max_turns_option,
    model_option,
    offline_option,
    roles_option,
    section_of,
)
from cli.roles.saved_tasks import DoneTask, SavedTasks, load_tasks, save_tasks
from cli.roles.shell_words import ABOUT, ON_OFF, changes, completions, counted, works
from cli.roles.typed_lines import TypedLines
from cli.run.screen import TerminalScreen, can_prompt
from cli.run.target import RunOptions, RunTarget, given_terms, supervised
from cli.sanitize import broken_for, one_line, printable

if TYPE_CHECKING:
    from agiraph.http.api import AgentView, RoleTeamRunView, RoleTeamView
    from agiraph.http.client import Client

PROMPT: Final = "roles> "
MOST_EARLIER: Final = 20
LONGEST_OUTPUT: Final = 20_000
SHOWN_LINES: Final = 10
SHOWN_MESSAGE: Final = 400
Found = TypeVar("Found")


@click.command(
    "agentic-shell",
    epilog=examples(
        "agiraph agentic-shell",
        "agiraph agentic-shell --max-turns 16 -i .",
        "agiraph agentic-shell --offline",
        "echo 'Measure this' | agiraph agentic-shell -i . -m script/team",
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

    During a task a table shows the messages between roles; then come its turns and the lead's
    answer. A task includes the results of earlier tasks (/followup off: without them). Ctrl-C stops
    a task, Ctrl-D ends the shell. The typed lines are kept in the home; the Tab key completes
    commands.
    """
    terms = given_terms(
        goal="a task",
        model=model,
        input=str(folder.resolve()) if folder else None,
        when_spent=None if can_prompt() else "stop",
    )
    section_of(file)  # report its errors before anything starts
    options = RunOptions(home, terms, None, None, as_json=False)
    screen = TerminalScreen(sys.stderr, is_live=sys.stderr.isatty())
    with (
        signals_interrupt(),
        contextlib.closing(screen),
        supervised(options, screen) as target,
    ):
        screen.close()
        AgenticShell(target, options, file, max_turns, is_offline=offline).run()
    ctx.exit(DONE)


class AgenticShell:
    """The prompt of the shell: reads lines, executes commands, gives tasks to the team."""

    def __init__(
        self,
        target: RunTarget,
        options: RunOptions,
        file: Path | None,
        max_turns: int | None,
        *,
        is_offline: bool,
    ) -> None:
        self._target = target
        self._options = options
        self._file = file
        self._is_offline = is_offline
        self._tasks = SavedTasks(tasks=(), max_turns=max_turns)
        self._agent: str | None = None
        self._known: RoleTeamView | None = None
        self._is_over = False
        self._commands: dict[str, Callable[[str], object]] = {
            "/help": lambda _: self._help(),
            "/agents": lambda _: self._agents(),
            "/team": lambda _: self._roles(),
            "/maxturns": self._max_turns,
            "/followup": self._follow_up,
            "/history": self._history,
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
        """Read and execute one line after the other until the person leaves."""
        system = Home(self._options.home).system
        history = system.typed if system.path.is_dir() else None  # plain: whether there is a home
        lines = TypedLines(PROMPT, completions, history)
        self.do("/validate")
        self._say("type a task, or /help")
        while not self._is_over:
            try:
                line = lines.next()
            except EOFError:
                if sys.stdin.isatty():
                    click.echo()
                return
            except EndedBySignal:
                raise
            except KeyboardInterrupt:
                click.echo()
                continue
            except UnicodeDecodeError:
                self._say("that line is not UTF-8 text")
                continue
            if line:
                self.do(line)

    def do(self, line: str) -> None:
        """Execute one line; an error is printed, and the prompt continues."""
        word, _, rest = line.partition(" ")
        try:
            is_command = word.startswith("/") or f"/{word}" in self._commands
            if not is_command or (rest and not word.startswith("/")):
                self._work_on(line)
                return
            if word not in self._commands:
                raise unknown("command", word, ABOUT)
            if rest and not ABOUT[word][0]:
                raise InvalidInput(f"{word} takes nothing behind it, not '{rest.strip()}'")
            self._commands[word](rest.strip())
        except (AgiraphError, click.UsageError, OSError) as error:
            self._say(str(error) or type(error).__name__)
        except EndedBySignal:
            raise
        except KeyboardInterrupt:
            self._say("stopped")

    def _say(self, text: str) -> None:
        for line in broken_for(sys.stderr, text).splitlines():
            self._target.screen.note(line)

    def _asked(self, ask: "Callable[[Client], Found]") -> Found:
        """Return the gateway's answer; reconnect and ask again if the gateway was restarted."""
        try:
            return ask(self._target.client)
        except NotReachable:
            self._target.reconnect()
            return ask(self._target.client)

    # --- a task ----------------------------------------------------------------------------------

    def _work_on(self, task: str) -> None:
        """Have the team do a task, and show its turns and its result."""
        from cli.run.watch import RunWatcher  # imports the records

        options, agent, watch = self._wanted(task), None, None
        try:
            agent = self._target.begin(options)
            self._agent = agent.id
            watch = RunWatcher(self._target, agent, can_prompt=can_prompt())
            watch.until_the_end(time.monotonic(), None)
        except KeyboardInterrupt:
            self._stop(options, agent)
            if watch is not None:
                watch.show_input_news()
            raise
        finally:
            self._target.detach()
        self._show(self._remember(task, watch.agent))

    def _stop(self, options: RunOptions, agent: "AgentView | None") -> None:
        """Stop a task, including one that was just requested."""
        self._target.screen.close()
        if agent is None:
            with contextlib.suppress(AgiraphError):
                agent = self._target.begin(options)  # the same request: the same run
        if agent is not None and self._target.stop_agent(agent.id):
            with contextlib.suppress(AgiraphError):
                self._agent = agent.id
                self._remember(options.terms["goal"], agent)

    def _wanted(self, task: str) -> RunOptions:
        """Return the options of a run for `task`: of a new agent, or of the shell's agent."""
        saved = self._tasks
        before = saved.tasks[-MOST_EARLIER:] if saved.follows_up else ()
        asked = {
            "section": section_of(self._file),
            "max_turns": saved.max_turns,
            "offline": self._is_offline or None,
            "earlier": [{"task": one.task, "output": one.output[:LONGEST_OUTPUT]} for one in before]
            or None,
        }
        terms = self._options.terms | {
            "goal": task,
            "run": new_run_id(time.time()),
            "roles": {key: value for key, value in asked.items() if value is not None},
        }
        return RunOptions(self._options.home, terms, self._agent, None, as_json=False)

    def _remember(self, task: str, agent: "AgentView") -> "RoleTeamRunView":
        """Add a finished task to the saved tasks; return the turns of its roles."""
        found = self._asked(lambda client: client.role_turns(agent.id))
        done = DoneTask(
            task=task,
            output=(found.final_output or agent.result or agent.reason or "").strip(),
            status=found.status if found.ending else "stopped",
            agent=agent.id,
            run=found.run,
            turns=len(found.turns),
        )
        tasks = (*self._tasks.tasks, done)
        self._tasks = self._tasks.model_copy(update={"tasks": tasks})
        return found

    def _show(self, found: "RoleTeamRunView") -> None:
        self._target.screen.close()
        rows = [
            turn.payload() | {"message": one_line(turn.message, SHOWN_MESSAGE)}
            for turn in found.turns
        ]
        Listing(rows, TURNS, "no turn has ended").print(as_json=False)
        done = self._tasks.tasks[-1]
        click.echo(f"\n{broken_for(sys.stdout, printable(done.output))}\n")
        self._say(f"{done.status}, {counted(done.turns)}")

    # --- commands --------------------------------------------------------------------------------

    def _help(self) -> None:
        for name, (argument, about) in ABOUT.items():
            click.echo(f"{f'{name} {argument}'.strip():<18}  {about}")
        click.echo(f"{'anything else':<18}  a task for the team")

    def _found_roles(self) -> "RoleTeamView":
        from agiraph.http.api import CheckRolesRequest

        asked = CheckRolesRequest(
            section=section_of(self._file),
            offline=self._is_offline,
            model=self._options.terms.get("model"),
        )
        return self._asked(lambda client: client.check_roles(asked))

    def _agents(self) -> None:
        found = self._found_roles()
        Listing(found.roles, ROLES, "; ".join(found.problems)).print(as_json=False)

    def _roles(self) -> None:
        found = self._found_roles()
        if not found.roles:
            self._say("\n".join(found.problems))
            return
        most = self._tasks.max_turns or found.max_turns
        click.echo(f"lead {found.lead_role}, at most {counted(most)}")
        for role in found.roles:
            about = printable(f"{role.name}: {role.title}. {role.responsibilities}".rstrip())
            click.echo(broken_for(sys.stdout, about))
            click.echo(f"  {works(role)}")

    def _max_turns(self, text: str) -> None:
        if not text.isdecimal() or not 1 <= int(text) <= MOST_TURNS:
            wrong = f", not '{text}'" if text else f" (now: {self._bound()})"
            raise InvalidInput(f"/maxturns needs a number from 1 to {MOST_TURNS}{wrong}")
        self._tasks = self._tasks.model_copy(update={"max_turns": int(text)})
        self._say(f"a task ends after {counted(int(text))}")

    def _bound(self) -> str:
        return str(self._tasks.max_turns or "as agents.yaml says")

    def _follow_up(self, text: str) -> None:
        if text not in ON_OFF:
            is_on = "on" if self._tasks.follows_up else "off"
            wrong = f", not '{text}'" if text else f" (now: {is_on})"
            raise InvalidInput(f"/followup needs on or off{wrong}")
        self._tasks = self._tasks.model_copy(update={"follows_up": ON_OFF[text]})
        self._say(f"the next task is {'told' if ON_OFF[text] else 'not told'} of the ones before")

    def _history(self, text: str) -> None:
        tasks = self._tasks.tasks
        if text and not (text.isdecimal() and 1 <= int(text) <= len(tasks)):
            possible = f"1 to {len(tasks)}" if tasks else "there are none yet"
            raise InvalidInput(f"/history needs the number of a task ({possible}), not '{text}'")
        if not tasks:
            self._say("no tasks yet")
        shown = [int(text)] if text else range(1, len(tasks) + 1)
        for number in shown:
            one = tasks[number - 1]
            facts = f"({one.status}, {counted(one.turns)})"
            click.echo(printable(f"{number}. {one_line(one.task)}  {facts}"))
            lines = printable(one.output).splitlines()
            for line in lines if text else lines[:SHOWN_LINES]:
                click.echo(f"   {broken_for(sys.stdout, line, 3)}".rstrip())
            if not text and len(lines) > SHOWN_LINES:
                click.echo(f"   ... {len(lines) - SHOWN_LINES} more lines: /history {number}")

    def _save(self, text: str) -> None:
        path = expanded(text or f"tasks-{time.strftime('%Y%m%d-%H%M%S')}.json")
        save_tasks(path, self._tasks)
        self._say(f"saved: {path}")

    def _load(self, text: str) -> None:
        if not text:
            raise InvalidInput("/load needs the FILE that /save wrote")
        self._tasks = load_tasks(expanded(text))
        self._agent = None  # the next task has a new agent, which gets the earlier tasks
        tasks = len(self._tasks.tasks)
        self._say(f"loaded: {tasks} {'task' if tasks == 1 else 'tasks'}")

    def _reset(self) -> None:
        self._tasks = self._tasks.model_copy(update={"tasks": ()})
        self._agent = None
        self._say("the earlier tasks are forgotten")

    def _reload(self) -> None:
        """Print how the team has changed since it was last shown; tasks use the new team anyway."""
        before = self._known
        now = self._validate()
        if before is not None and now.roles:
            self._say("\n".join(changes(before, now)) or "nothing has changed")

    def _validate(self) -> "RoleTeamView":
        """Print whether each role can work; return the team."""
        found = self._found_roles()
        self._known = found if found.roles else self._known
        if found.problems:
            self._say("\n".join(found.problems))
            return found
        self._say(f"{len(found.roles)} roles can work, led by {found.lead_role}")
        for role in found.roles:
            if role.left_out:
                self._say(f"offline: {role.name} works with {role.agent}, not {role.left_out}")
        return found

    def _info(self) -> None:
        saved = self._tasks
        click.echo(f"tasks      {len(saved.tasks)}")
        click.echo(f"max turns  {self._bound()}")
        click.echo(f"follow-up  {'on' if saved.follows_up else 'off'}")
        click.echo(f"offline    {'yes' if self._is_offline else 'no'}")
        click.echo(f"model      {self._options.terms.get('model') or 'as the settings say'}")
        click.echo(f"input      {self._options.terms.get('input', 'none')}")
        click.echo(f"agent      {self._agent or 'none yet'}")
        click.echo(f"home       {self._options.home}")

    def _exit(self) -> None:
        self._is_over = True
