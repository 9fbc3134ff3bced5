"""The first hour: the typed commands, and the text between them."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

from agiraph.core.turns import Usage
from tests.fakes.model_server import FakeModelServer, Reply, Responder, Script, SeenRequest, call
from tests.first_hour.page import FirstHour, ends, those
from tests.integration.probed_supervisor import keep_port
from tests.integration.waiting import until
from tests.scenarios.scenario_home import ROOT
from tests.scenarios.steps import WAIT, ask, bash, finish, held, node, publish, spawn, write

MODEL = "openai/gpt-4o"
COUNT = (
    "cd $AGIRAPH_INPUT && cut -d, -f4 sales/orders-2024.csv | sort | uniq -c | sort -rn | head -n 3"
)
A_CALL = Usage(input_tokens=4_000, output_tokens=100)


def played(folder: Path) -> str:
    """Go through the first hour in a folder of its own; return the page."""
    home, gate = folder / "you", Event()
    shutil.copytree(ROOT / "configs" / "sample", home / "shop")
    with FakeModelServer(team(gate)) as model:
        hour = FirstHour(home, {"PYTHONPATH": str(ROOT)})
        with closing(hour.terminal):
            install(hour)
            without_a_model(hour)
            with_nothing_running(hour)
            with daemon(hour, model):
                with_a_model(hour, model, gate)
                from_cycle_to_cycle(hour)
    assert not model.problems, model.problems
    return hour.text()


# --- the model that stands in --------------------------------------------------------------------


def team(gate: Event) -> Responder:
    """Return the model of the hour; its worker is kept waiting until the gate is open."""

    def best(seen: SeenRequest) -> Reply:
        text = f"# Sold most often\n\n{seen.result('bash')}\n"
        return held(write("best.md", text), gate)

    def coordinator(seen: SeenRequest) -> Reply:
        if "Watch the shop" in seen.said:
            return call("end_cycle", notes="nothing new")
        return steps[seen.step]

    task = "Find the items that sold most often in sales/orders-2024.csv"
    steps = [
        ask("Do returned orders count?", options=["yes", "no"]),
        spawn("ada", role="analyst"),
        node("best", "ada", task=task),
        WAIT,
        finish("Saddles sold most often, in 39 orders; returned ones count."),
    ]
    responder = Script({"coordinator": coordinator, "ada": [bash(COUNT), best, publish("saddles")]})
    return lambda seen: replace(responder(seen), usage=A_CALL)


# --- the hour ------------------------------------------------------------------------------------


def install(hour: FirstHour) -> None:
    """Install it, and see that all is well."""
    hour.say(
        """
        # The first hour

        This page shows the first commands with Agiraph and their output. `make first-hour` types
        each line below and writes this page; a test types them again and compares. Ids, times and
        sizes differ each time; `...` stands for omitted lines.

        ## Install

        You need Python 3.11 or newer. In a clone of the repository `make run` sets up all that is
        needed in `.venv`; `pip install .` installs the commands `agiraph` and `agiraph-supervisor`
        into any environment. `agiraph doctor` checks this machine:
        """
    )
    hour.type("agiraph doctor", part=those("^ok +supervisor |^warn +models "))
    hour.say(
        """
        A model is missing. Without a model a goal is refused, before anything is started:
        """
    )
    hour.type('agiraph run "Write a poem about bicycles"', code=2)


def without_a_model(hour: FirstHour) -> None:
    """Run the script that needs no model."""
    hour.say(
        """
        ## A run without a key

        `script/survey` is a scripted model of a team of four: real processes, real files, no
        language model. It can only survey a folder. This example surveys the folder of a bicycle
        shop, `configs/sample` in the repository:
        """
    )
    hour.type(
        "agiraph run Survey --input shop --model script/survey",
        part=ends(6, 5),
    )
    hour.say(
        """
        ## Reading the results

        The run has ended, and its supervisor with it. The results are in the home, `~/.agiraph`,
        and are read from there:
        """
    )


def with_nothing_running(hour: FirstHour) -> None:
    """Read a run that has ended."""
    hour.type("agiraph agents")
    hour.type("agiraph board survey")
    hour.type("agiraph files survey", part=those("_output|nodes"))
    hour.type("agiraph files survey _output.md", part=ends(6, 0))
    hour.say("A name may be shortened as long as only one agent begins with it.")
    hour.type("agiraph workers sur")
    hour.type("agiraph status", code=4)


@contextmanager
def daemon(hour: FirstHour, model: FakeModelServer) -> Iterator[None]:
    """Have a supervisor in the background, with a key."""
    keep_port(hour.home / ".agiraph")  # another home of the tests may have its own by now
    hour.say(
        """
        ## In the background

        `agiraph up` starts a supervisor that keeps running, with the keys of the shell that starts
        it. (On this page a stand-in answers in place of OpenAI, so that the page can be written
        without a key: `OPENAI_BASE_URL` selects it. Leave it out.)
        """
    )
    hour.terminal.do(f"export OPENAI_BASE_URL={model.url}/v1")
    hour.type(f"export OPENAI_API_KEY={model.key}")
    hour.type("agiraph up")
    try:
        yield
        hour.say(
            """
            ## The end of the hour

            `agiraph down` stops the supervisor and all its processes; agents that were at work
            continue with the next `agiraph up`.
            """
        )
        hour.type("agiraph down")
    finally:
        hour.terminal.do("agiraph down")


def with_a_model(hour: FirstHour, model: FakeModelServer, gate: Event) -> None:
    """Have a team do something, answer it, and kill one of it."""
    hour.say(
        """
        ## A team with a model

        A goal, in the background, with a limit of two dollars. The team asks, and you answer:
        """
    )
    hour.type(
        f'agiraph run "Which items sell best?" --input shop --name best --model {MODEL} '
        "--budget 2 --detach"
    )
    question = until_shown(hour, "agiraph questions best", "q-[0-9a-f]{8}")
    hour.type("agiraph questions")
    hour.type(f"agiraph respond {question} 1")
    model.wait_for(lambda seen: seen.is_for("ada") and seen.step == 1)
    until_shown(hour, "agiraph ps best", r"coordinator +waiting_for_nodes .* \$0\.0440")
    until_shown(hour, "agiraph ps best", r"ada-.* \$0\.0110")
    hour.say(
        """
        ## Kill a worker

        Each member of the team is a process. Kill the working one:
        """
    )
    shown = hour.type("agiraph ps best")
    pid = next(match[1] for line in shown.lines if (match := re.search(r"/ada-.*? (\d+) ", line)))
    hour.type(f"kill -9 {pid}")
    gate.set()
    hour.say("The supervisor starts it again, and it continues where it was:")
    hour.type("agiraph wait best")
    hour.type("agiraph events best --entity ada --type child.ready --type child.crashed")
    hour.type("agiraph result best")
    hour.type("agiraph files best nodes/best/published/best.md")
    hour.type("agiraph budget best")


def until_shown(hour: FirstHour, line: str, pattern: str) -> str:
    """Type a line again and again until its output contains this text; return the output."""

    def found() -> str | None:
        match = re.search(pattern, hour.terminal.do(line).text)
        return match[0] if match else None

    return until(found, f"{pattern} in {line}")


def from_cycle_to_cycle(hour: FirstHour) -> None:
    """Have one work in cycles, pause it, resume it, stop it, archive it."""
    hour.say(
        """
        ## An agent that stays

        In infinite mode an agent works in cycles; between them it has no process. It can be
        paused, resumed and stopped, and receives messages:
        """
    )
    line = f'agiraph run "Watch the shop" --input shop --name watch --model {MODEL}'
    hour.type(f"{line} --mode infinite --cycle 1h --detach")
    until_shown(hour, "agiraph agents", r"watch-\S+ +idle")
    hour.type("agiraph agents")
    hour.type("agiraph pause watch")
    until_shown(hour, "agiraph agents", r"watch-\S+ +paused")
    hour.type("agiraph resume watch")
    until_shown(hour, "agiraph agents", r"watch-\S+ +idle")
    hour.type("agiraph stop watch")
    hour.type("agiraph archive watch")
    hour.type("agiraph archive")
