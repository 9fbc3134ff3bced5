"""The programs of docs/python.md work as described; each is equal to its file in docs/examples."""

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.mcp.registered import register, unregister
from agiraph.settings.mcp_servers import McpServerConfig
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import ROOT
from tests.scenarios.steps import Plays, publish

EXAMPLES = ROOT / "docs" / "examples"
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
WAIT = call("wait")
WORK: Plays = [call("write_file", path="found.md", content="it"), call("publish", summary="found")]


APPROVED = {"action": "finalize", "message": "approved", "final_response": "Services A and B."}


def finish(summary: object) -> Reply:
    return call("finish", summary=summary)


def look_at_tools(seen: SeenRequest) -> Reply:
    served = sorted(name for name in seen.tools if name.endswith("__add"))
    return finish(f"tools: {', '.join(served)}")


def count_stock(seen: SeenRequest) -> Reply:
    [name] = [name for name in seen.tools if name.endswith("__stock")]
    return call(name, product="bolt")


def sum_up(seen: SeenRequest) -> Reply:
    found = re.search(r"chapter (\d)", seen.said)
    assert found is not None
    return finish({"summary": f"chapter {found[1]} in short"})


PLAYS: dict[str, tuple[dict[str, Plays], str]] = {
    "research": (
        {"coordinator": [look_at_tools]},
        r"tools: brave_search__add, filesystem__add\n<Graph of 0 nodes>\n(?s:.*) agent.created ",
    ),
    "graph": (
        {
            "worker-1": [*WORK, *WORK],
            "worker-2": [*WORK, *WORK],
            "n3": [*WORK, *WORK],
        },
        r"found\n(?s:.*)flowchart(?s:.*)n3<br/>manager, completed",
    ),
    "stream": (
        {
            "coordinator": [
                calls(call("spawn_worker", name="ada"), call("spawn_worker", name="ben")),
                call("create_work_node", name="first", task="x", worker="ada"),
                WAIT,
                finish("done"),
            ],
            "ada": [call("send_message", to="ben", content="I begin"), *WORK],
            "ben": [],
        },
        # The coordinator reports the start, the worker its message, within milliseconds.
        r"(?=[\s\S]*Message: ada → ben: I begin\n)"
        r"(Message: .*\n)*Node first started\n(Message: .*\n)*Node first finished: found\n"
        r"(Message: .*\n)*completed True",
    ),
    "typed": (
        {"coordinator": [finish({"name": "Acme", "employees": 7, "products": ["bolts"]})]},
        "Acme 8 BOLTS",
    ),
    "question": (
        {
            "coordinator": [
                call("ask_human", question="Which?", options=["blue", "red"]),
                lambda seen: finish(f"chosen: {seen.result('ask_human')}"),
            ]
        },
        r"coordinator asks: Which\? \('blue', 'red'\)\nchosen: .*blue",
    ),
    "several": ({"coordinator": [sum_up]}, "chapter 1 in short\nchapter 2 in short"),
    "side_by_side": (
        {"coordinator": [WAIT, finish("A is larger")], "Ada": WORK, "Ben": WORK},
        "A is larger",
    ),
    "stock": (
        {
            "coordinator": [
                count_stock,
                lambda seen: finish("120 bolts" if "120" in seen.said else "none"),
            ]
        },
        "120 bolts",
    ),
    "errors": (
        {"coordinator": [say("I cannot."), say("I really cannot.")]},
        "the run failed: the coordinator stopped without finishing",
    ),
    "agentic_team": (
        {"project_manager": [publish(result=APPROVED)]},
        r"project_manager to user: approved\nfinalized Services A and B.",
    ),
    "survey": ({}, r"# Survey of (?s:.*)report/report.md \d+ bytes"),
}


@pytest.fixture(scope="module")
def servers(live_home: LiveHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    names = ("filesystem", "brave_search")
    for name in names:
        folder = tmp_path_factory.mktemp(name)
        args = ("-m", "tests.fakes.mcp_server", str(folder))
        register(
            live_home.home, name, McpServerConfig(command=sys.executable, args=args, cwd=str(ROOT))
        )
    yield
    for name in names:
        unregister(live_home.home, name)


@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize("name", PLAYS)
def test_example_program_prints_the_documented_output(
    name: str,
    live_home: LiveHome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts, shown = PLAYS[name]
    live_home.plays(**parts)
    (tmp_path / "notes.md").write_text("# Notes\n\nTwo words.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGIRAPH_HOME", str(live_home.home))
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert re.search(shown, capsys.readouterr().out)
    assert live_home.server.problems == []


def test_page_contains_each_example_program_unchanged() -> None:
    on_page = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```\n", PAGE, re.S))
    assert on_page == {path.stem: path.read_text("utf-8") for path in EXAMPLES.glob("*.py")}
    assert {*on_page} == {*PLAYS}
    assert len(re.findall("```python", PAGE)) == len(on_page)
