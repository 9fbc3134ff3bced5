"""The pure parts of the matrix of external agents: selection, judgement, tables."""

from typing import Any

import pytest

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, UserTurn
from tests.clients import hostile, script, table
from tests.clients.__main__ import main
from tests.clients.catalog import CLIENTS, KILLED, Client, ClientRelease, plan
from tests.clients.judge import Cell, KillOutcome, ObservedRun, as_json, is_worse, judged
from tests.fakes.real_agents import CannotInstall, Release, major_of
from tests.fakes.replies import SeenRequest

KNOWN = Release("npm", "@x/kit", "1.0.0", "kit", 20)
KIT = Client("kit", "kit", KNOWN)
ROW = ClientRelease(KIT, KNOWN)
FULL = ObservedRun(
    "completed",
    files={
        "shell.txt": "42\n",
        "written.txt": "written in step-write\n",
        "look.txt": "LOOKED\n",
        "colour.txt": "colour-1\n",
        "copied.md": "FACT-1\n",
        "after.txt": "after\n",
    },
    heard_refusal=True,
    fact="FACT-1",
    answer="colour-1",
    tokens=7,
)


def test_the_last_known_and_the_newest_release_are_played_once_each() -> None:
    assert plan([KIT], lambda known: ("1.0.0", 20)) == [ClientRelease(KIT, KNOWN, is_newest=True)]
    known, newest = plan([KIT], lambda known: ("1.2.0", 24))
    assert (known.release, known.is_newest) == (KNOWN, False)
    assert newest.release == Release("npm", "@x/kit", "1.2.0", "kit", 24)


def test_agent_with_an_unreachable_registry_is_a_row_with_the_problem() -> None:
    def unreachable(known: Release) -> tuple[str, int]:
        raise CannotInstall("no route")

    _, row = plan([KIT], unreachable)
    assert row.problem == "no route"
    [line] = [one for one in table.rendered([(row, {})], "today").splitlines() if "kit" in one]
    assert "cannot be installed" in line
    assert line.count("|") == len(table.COLUMNS) + 1


def test_names_of_agents_are_unique() -> None:
    assert len({one.name for one in CLIENTS}) == len(CLIENTS)


def test_work_is_evaluated_from_files_on_disk() -> None:
    cells = judged("work", ROW, FULL)
    assert {name: cell.word for name, cell in cells.items()} == {
        **dict.fromkeys(("shell", "write", "keys", "question", "ref", "usage"), "yes"),
        "denied": "refused",
    }
    nothing = judged("work", ROW, ObservedRun("", "it hung"))
    assert {cell.word for cell in nothing.values()} == {"no"}
    assert "it hung" in nothing["shell"].why


def test_a_key_that_was_seen_and_a_look_that_never_was_do_not_pass() -> None:
    seen = ObservedRun("completed", files={"look.txt": "LOOKED\n"}, leaked=("a key in look.txt",))
    assert judged("work", ROW, seen)["keys"] == Cell("no", "seen: a key in look.txt")
    assert judged("work", ROW, ObservedRun("completed"))["keys"].word == "no"


@pytest.mark.parametrize(
    ("files", "heard", "word"),
    [
        (("after.txt",), True, "refused"),
        (("after.txt", "forbidden.txt"), False, "sandbox"),
        (("after.txt", "forbidden.txt"), True, "sandbox"),
        ((), False, "no"),
    ],
)
def test_denied_action_is_evaluated_from_the_file_and_the_reason(
    files: tuple[str, ...], heard: bool, word: str
) -> None:
    seen = ObservedRun("completed", files=dict.fromkeys(files, ""), heard_refusal=heard)
    assert judged("work", ROW, seen)["denied"].word == word


@pytest.mark.parametrize(
    ("files", "heard", "word", "why"),
    [
        (("after.txt",), True, "refused", ""),
        (("after.txt", "RAN-hook"), True, "no", "ran: RAN-hook"),
        (("after.txt", "forbidden.txt", "RAN-mcp"), False, "sandbox", "it does not ask; ran: RAN-"),
        ((), False, "no", "nothing was done afterwards"),
    ],
)
def test_planted_configuration_must_run_nothing_and_switch_off_no_rule(
    files: tuple[str, ...], heard: bool, word: str, why: str
) -> None:
    seen = ObservedRun("completed", files=dict.fromkeys(files, ""), heard_refusal=heard)
    cell = judged("config", ROW, seen)["config"]
    assert (cell.word, cell.why[: len(why)]) == (word, why)


def test_planted_files_fit_into_one_command() -> None:
    assert len(hostile.planting()) < 16_000
    assert all(hostile.FOLDER in text for text in hostile.FILES.values() if hostile.RAN in text)


def steps(*lines: int) -> dict[str, str]:
    return {"steps.txt": "".join(f"DID-{number}\n" for number in lines)}


def test_a_kill_is_survived_if_its_step_was_done_once_and_the_node_completed() -> None:
    kills = tuple(map(KillOutcome, KILLED))
    good = ObservedRun("completed", files=steps(0, 1, 2, 3), completions=1, kills=kills)
    assert {cell.word for cell in judged("kills", ROW, good).values()} == {"yes"}
    twice = judged(
        "kills", ROW, ObservedRun("completed", files=steps(0, 1, 1, 3), completions=1, kills=kills)
    )
    assert [cell.why for cell in twice.values()] == [
        "",
        "the step was done 2 times",
        "the step was done 0 times",
        "",
    ]
    for ended in (ObservedRun("failed", "why", steps(0, 1, 2, 3), kills=kills), ObservedRun("")):
        assert {cell.word for cell in judged("kills", ROW, ended).values()} == {"no"}


def test_declared_limitation_of_an_agent_is_not_a_failure() -> None:
    weak = Client("weak", "weak", KNOWN, lacks={"shell": "-", "denied": "sandbox"})
    cells = judged(
        "work", ClientRelease(weak, KNOWN), ObservedRun("completed", files={"after.txt": ""})
    )
    assert cells["shell"] == Cell("-")
    assert not is_worse(cells["denied"], weak.declared["denied"])
    assert is_worse(Cell("sandbox"), KIT.declared["denied"])
    shown = as_json(ROW, judged("work", ROW, ObservedRun("", "it hung")))
    assert shown["worse"] == sorted(judged("work", ROW, FULL))


def test_the_table_is_laid_between_its_markers_and_fits_the_page() -> None:
    kills = tuple(map(KillOutcome, KILLED))
    outlived = ObservedRun("completed", files=steps(0, 1, 2), completions=1, kills=kills)
    cells = judged("work", ROW, FULL) | judged("kills", ROW, outlived)
    widest = ClientRelease(max(CLIENTS, key=lambda one: len(one.name)), KNOWN)
    page = table.laid_into(
        f"a\n{table.BEGIN}\nold\n{table.END}\nb\n", table.rendered([(widest, cells)], "today")
    )
    assert page.startswith(f"a\n{table.BEGIN}\n")
    assert page.endswith(f"{table.END}\nb\n")
    assert "old" not in page
    assert "| a w b · |" in page
    assert max(map(len, page.splitlines())) <= 100
    with pytest.raises(ValueError, match="no lines"):
        table.laid_into("a page", "a table")


def test_the_page_has_the_markers() -> None:
    text = table.PAGE.read_text("utf-8")
    assert table.laid_into(text, "x\n").count(table.BEGIN) == 1


@pytest.mark.parametrize(
    ("engines", "major"),
    [(">=22.0.0", 22), ("^20.19.0 || >=22.12.0", 20), ("", 0), ("24.19.0", 24), (">=20.6", 20)],
)
def test_the_node_that_a_package_needs_is_read(engines: str, major: int) -> None:
    assert major_of(engines) == major


def asked(tools: list[dict[str, Any]], *turns: Turn) -> SeenRequest:
    return SeenRequest("openai", "m", "", turns, (), {}, {"tools": tools})


def function(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TEXT: dict[str, Any] = {"type": "string"}
SHELL = function("run_shell_command", command=TEXT, is_background={"type": "boolean"})


def made(id: str, command: str) -> AssistantTurn:
    call = ToolCall(id=id, name="run_shell_command", arguments={"command": command})
    return AssistantTurn(tool_calls=(call,))


def test_scripted_model_calls_the_offered_tools_with_their_parameters() -> None:
    responder = script.plays([script.shell("one", "date"), script.write("two", "a.txt")])
    [first] = responder(asked([SHELL])).calls
    assert first.arguments == {"command": ": step-one; date", "is_background": False}
    told: list[Turn] = [
        made("1", ": step-one; date"),
        ToolTurn(call_id="1", name="x", content="FOLDER=/w="),
    ]
    [by_shell] = responder(asked([SHELL], *told)).calls
    assert by_shell.name == "run_shell_command"
    google = {
        "functionDeclarations": [
            {
                "name": name,
                "parameters": {
                    "type": "OBJECT",
                    "properties": {"absolute_path": {"type": "STRING"}, "content": {}},
                },
            }
            for name in ("run_shell_command", "write_file")
        ]
    }
    [written] = responder(asked([google], *told)).calls
    assert (written.name, written.arguments["absolute_path"]) == ("write_file", "/w/a.txt")
    assert responder(asked([])).text, "what has no tools is no step"


def test_unfinished_step_is_requested_again() -> None:
    responder = script.plays([script.held(0), script.shell("last", "date")])
    call = responder(asked([SHELL])).calls[0]
    command = str(call.arguments["command"])
    assert "DID-0" not in command, "an agent that repeats the command has not done it"
    for result in ("NOT-YET", "The command was interrupted."):
        turns: list[Turn] = [made("1", command), ToolTurn(call_id="1", name="x", content=result)]
        assert responder(asked([SHELL], *turns)).calls[0].arguments == call.arguments
    done: list[Turn] = [made("1", command), ToolTurn(call_id="1", name="x", content="DID-0")]
    assert "step-last" in str(responder(asked([SHELL], *done)).calls[0].arguments)
    anew: list[Turn] = [
        UserTurn(content="Go on"),
        made("1", "cat"),
        ToolTurn(call_id="1", name="x", content="DID-0"),
    ]
    assert "step-last" in str(responder(asked([SHELL], *anew)).calls[0].arguments)


def test_unknown_client_is_refused_with_the_known_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "clade"])
    assert "unknown: clade (known: claude-code, " in capsys.readouterr().err
    assert main(["--list", "--only", "pi"]) == 0
    assert "@mariozechner/pi-coding-agent" in capsys.readouterr().out
