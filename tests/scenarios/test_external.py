"""External agents as workers: their files, their messages, their end, and their remains."""

import json
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from actors.runtime.processes import is_alive
from agiraph.external import process_guard
from tests.fakes.model_server import call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL, JsonObject, Outcome, words_of
from tests.scenarios.steps import (
    WAIT,
    WORK,
    Plays,
    after_message,
    finish,
    finish_with,
    led,
    node,
    preset,
    program,
    spawn,
    tell,
)


@pytest.fixture
def live_home(killable_home: LiveHome) -> LiveHome:
    """Return a running home whose processes may be killed, where a node has six model calls."""
    return killable_home


AGENT = """\
#!/usr/bin/env python3
import json, os, sys, time
task = sys.stdin.read()
assert task == open("_task.md").read(), "the task is on stdin and in its file"
about = json.load(open("_context.json"))
print("I begin", about["node"]["name"], flush=True)
open("tool.py", "w").write("print(6 * 7)\\n")
with open("_outbox.md", "a") as outbox:
    outbox.write("@coordinator: half of it is done\\n\\n")
open("_checkpoint.md", "w").write("tool.py is written\\n")
while "go on" not in open("_inbox.md").read():
    time.sleep(0.02)
open("_result.md", "w").write("Wrote tool.py, which prints 42.\\n")
"""


def test_command_agent_completes_a_node_and_exchanges_messages(
    live_home: LiveHome, tmp_path: Path
) -> None:
    command = preset(live_home.home, "writer", program(tmp_path, AGENT))
    go_on = tell("ann", "go on")
    live_home.plays(coordinator=led("ann", command, after_message("half of it is done", go_on)))
    outcome = live_home.complete("Have a tool written")
    published = outcome.published("ann-tool")
    assert published["tool.py"] == "print(6 * 7)\n"
    assert published["_result.md"] == "Wrote tool.py, which prints 42.\n"
    assert not {"_task.md", "_inbox.md", "_outbox.md", "_context.json"} & set(published)
    texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
    assert sum("half of it is done" in text for text in texts) == 1
    assert [e["summary"] for e in outcome.data("node.checkpoint")] == ["tool.py is written"]
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.data("outside.ended")
    assert ended["problem"] == ""
    [done] = outcome.data("node.completed")
    assert done["summary"] == "Wrote tool.py, which prints 42."


STUBBORN = """\
#!/usr/bin/env python3
import os, subprocess, sys, time
starts = len(open("starts").read()) if os.path.exists("starts") else 0
open("starts", "a").write("x")
if starts + 1 >= int(sys.argv[1]):
    assert not os.path.exists(os.path.expanduser("~/.stubborn")), "removed before each start"
    if sys.argv[2:] == ["fails"]:
        sys.exit("out of paper")
    open("_result.md", "w").write(f"done at start {starts + 1}: {open('_checkpoint.md').read()}")
    sys.exit()
open("_checkpoint.md", "w").write("half")
settings = os.path.expanduser("~/.stubborn/settings")
assert not os.path.exists(settings), "its settings are removed before each start"
os.makedirs(os.path.dirname(settings))
open(settings, "w").write("ask: never")
tail = "tail -f /dev/null"
subprocess.Popen(tail.split(), start_new_session=True, stdout=subprocess.DEVNULL)
open("ready", "w").write("x")
while True:
    time.sleep(0.05)
"""


def stubborn(live_home: LiveHome, command: str, *words: str) -> str:
    """Make that program, which ends at its second start, an external agent; return its name."""
    return preset(live_home.home, "stubborn", command, "2", *words, removed=[".stubborn"])


def folder_of(live_home: LiveHome, agent: str, node: str) -> Path:
    """Return the folder of a node, once it is there."""
    found = live_home.agent(agent)
    return until(lambda: next(found.glob(f"runs/*/nodes/{node}*"), None), f"the node {node}")


def working_in(live_home: LiveHome, agent: str, node: str) -> Path:
    """Return the folder of a node when its agent is at work."""
    folder = folder_of(live_home, agent, node)
    until((folder / "scratch/ready").exists, "the agent is at work")
    return folder


def of_folder(folder: Path) -> list[psutil.Process]:
    """Return the living processes that work in a node's scratch folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_there = process.cwd() == str(folder / "scratch")
            if is_there and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def agents_of(folder: Path, program: str) -> list[psutil.Process]:
    """Return the processes in a node's folder that run this program."""
    return [one for one in of_folder(folder) if any(program in w for w in words_of(one)[:2])]


def gone(processes: list[psutil.Process]) -> None:
    until(lambda: not any(map(is_alive, processes)), "the end of its descendants")


def test_killed_worker_leaves_no_agent_and_its_next_incarnation_continues(
    live_home: LiveHome, tmp_path: Path
) -> None:
    command = program(tmp_path, STUBBORN)
    live_home.plays(coordinator=led("bea", stubborn(live_home, command)))

    def meanwhile() -> None:
        folder = working_in(live_home, "killed", "bea-tool")
        before = of_folder(folder)
        assert len(agents_of(folder, command)) == 1
        live_home.kill("worker bea-")
        gone(before)

    outcome = live_home.complete("Have a tool written", "--name", "killed", meanwhile=meanwhile)
    published = outcome.published("bea-tool")
    assert published["_result.md"].startswith("done at start 2: half")
    assert published["starts"] == "xx"
    assert len(outcome.completions()) == 1


def test_start_in_which_the_worker_crashed_counts_as_failed(
    live_home: LiveHome, tmp_path: Path
) -> None:
    command = program(tmp_path, STUBBORN)
    agent = preset(live_home.home, "stubborn", command, "9", removed=[".stubborn"], attempts=2)
    live_home.plays(coordinator=led("eli", agent))

    def meanwhile() -> None:
        for _ in range(2):
            folder = working_in(live_home, "crashing", "eli-tool")
            (folder / "scratch/ready").unlink()
            live_home.kill("worker eli-", signal.SIGSEGV)

    outcome = live_home.lead("Have a tool written", "--name", "crashing", meanwhile=meanwhile)
    [failed] = outcome.data("node.failed")
    reason = "its worker's process has crashed: killed by SIGSEGV"
    assert failed["reason"].startswith(f"stubborn failed 2 times; at last: {reason}")
    assert [e["number"] for e in outcome.data("outside.started")] == [1, 2]


def test_killed_agent_is_restarted_and_a_failing_one_fails_its_node(
    live_home: LiveHome, tmp_path: Path
) -> None:
    command = program(tmp_path, STUBBORN)
    live_home.plays(coordinator=led("cal", stubborn(live_home, command, "fails")))

    def meanwhile() -> None:
        folder = working_in(live_home, "failing", "cal-tool")
        before = of_folder(folder)
        for process in agents_of(folder, command):
            process.kill()
        gone(before)

    outcome = live_home.lead("Have a tool written", "--name", "failing", meanwhile=meanwhile)
    [failed] = outcome.data("node.failed")
    reason = failed["reason"]
    assert reason == "stubborn failed 3 times; at last: exit code 1: out of paper"
    problems = [event["problem"] for event in outcome.data("outside.ended")]
    assert problems[0].startswith("killed by SIGKILL")
    assert problems[1:] == ["exit code 1: out of paper"] * 2


def test_agent_is_paused_and_stopped_with_its_descendants(
    live_home: LiveHome, tmp_path: Path
) -> None:
    command = program(tmp_path, STUBBORN)
    live_home.plays(coordinator=led("dan", stubborn(live_home, command)))
    agent = live_home.begin("halted-outside")
    folder = working_in(live_home, "halted-outside", "dan-tool")
    everyone = [one for one in of_folder(folder) if process_guard.START not in words_of(one)]
    assert len(everyone) >= 2
    worker = f"{agent.name}/{live_home.worker(agent, 'dan').name}"
    live_home.command("pause", worker)
    until(lambda: {one.status() for one in everyone} == {psutil.STATUS_STOPPED}, "all are paused")
    live_home.command("resume", worker)
    until(lambda: psutil.STATUS_STOPPED not in {o.status() for o in everyone}, "all are resumed")
    live_home.stop(agent.name)
    gone(everyone)


CURIOUS = """\
#!/usr/bin/env python3
import time
open("_outbox.md", "w").write("@human?: Which colour?\\n\\n@nobody: hello\\n\\n")
def heard(words):
    while words not in open("_inbox.md").read():
        time.sleep(0.02)
heard("blue")
heard("Your message to nobody was not sent: unknown recipient")
print("It is blue.")
"""


def test_a_question_to_the_human_is_answered_into_the_inbox(
    live_home: LiveHome, tmp_path: Path
) -> None:
    curious = preset(live_home.home, "curious", program(tmp_path, CURIOUS))
    live_home.plays(coordinator=led("eli", curious))
    agent = live_home.begin("curious-outside")
    question = live_home.await_question("curious-outside")
    assert (question["question"], question["from"]) == ("Which colour?", "eli")
    live_home.json("respond", question["id"], "blue")
    live_home.await_end(agent)
    result = folder_of(live_home, "curious-outside", "eli-tool") / "published/_result.md"
    assert result.read_text() == "It is blue.\n", "its last message takes the place of a result"


HASTY = """\
#!/usr/bin/env python3
import os, sys, tempfile
told = sys.stdin.read()
starts = len(open("starts").read()) if os.path.exists("starts") else 0
open("starts", "a").write("x")
temporary = tempfile.mkstemp()[1]
assert os.listdir(os.path.dirname(temporary)) == [os.path.basename(temporary)], "others' files"
if starts == 0:
    open("tool.py", "w").write("print(41)")
    open("_checkpoint.md", "w").write("tool.py is written")
elif starts == 1:
    assert "wrote no _result.md, and no last message" in told
    print("It is done.")
else:
    assert "$ python3 tool.py | grep -x 42" in told, "it is told which check failed"
    assert open("_checkpoint.md").read() == "tool.py is written", "its notes are still there"
    assert not os.path.exists("_result.md"), "what was refused is no result"
    open("tool.py", "w").write("print(42)")
    print("Now it prints 42.")
"""


def test_node_needs_a_result_and_passed_checks_to_complete(
    live_home: LiveHome, tmp_path: Path
) -> None:
    checks = ["python3 tool.py | grep -x 42"]
    hasty = preset(live_home.home, "hasty", program(tmp_path, HASTY))
    live_home.plays(coordinator=led("fay", hasty, checks=checks))
    outcome = live_home.complete("Have a tool written", "--name", "hasty")
    published = outcome.published("fay-tool")
    assert published["tool.py"] == "print(42)"
    assert published["_result.md"] == "Now it prints 42.\n"
    problems = [event["problem"] for event in outcome.data("outside.ended")]
    lacking = "it ended without a result: it wrote no _result.md, and no last message"
    assert problems == [lacking, "", ""]
    passed = [event["has_passed"] for event in outcome.data("node.checked")]
    assert passed == [False, True]


SILENT = """\
#!/usr/bin/env python3
import os
os.makedirs(".robot", exist_ok=True)
open(".robot/log", "w").write("x")
if os.environ["WORKS"]:
    open("tool.py", "w").write("print(42)")
print("robot 1.0 has started; https://robot.example/docs")
"""


def test_log_alone_is_not_a_result_and_private_files_are_not_work(
    live_home: LiveHome, tmp_path: Path
) -> None:
    robot = {"command": [program(tmp_path, SILENT)], "leaves": [".robot"], "stdout": "log"}
    presets = {
        name: robot | {"environment": {"WORKS": works}, "attempts": 2}
        for name, works in {"works": "yes", "idles": ""}.items()
    }
    (live_home.home / "agents.yaml").write_text(json.dumps(presets))
    live_home.plays(coordinator=led("gil", "works"))
    outcome = live_home.lead("Have a tool written", "--name", "silent")
    assert set(outcome.published("gil-tool")) == {"tool.py", "_result.md"}
    live_home.plays(coordinator=led("hal", "idles"))
    outcome = live_home.lead("Have a tool written", "--name", "idle")
    (live_home.home / "agents.yaml").unlink()
    [failed] = outcome.data("node.failed")
    reason = failed["reason"]
    assert reason.startswith("idles failed 2 times; at last: it ended without a result: it wrote")
    assert "left no file; it printed: robot 1.0 has started" in reason
    [left] = outcome.run.glob("nodes/hal-tool*/scratch/.robot/log")
    assert left.read_text() == "x", "what a failed node has left is kept"
    journal = (outcome.run / "journal.jsonl").read_text().splitlines()
    [told] = [one for one in map(json.loads, journal) if one["type"] == "node.failed"]
    assert told["left"] == [], "of that its team is told what it can use: nothing"


def plan_with(folder: Path, agent: str) -> str:
    """Write a plan of one role, which this agent plays; return its path."""
    role = {"id": "kit", "title": "K", "node_type": "agentic", "agent": agent, "prompt": "Copy"}
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"goal": "g", "stages": [{"name": "s", "roles": [role]}]}))
    return str(plan)


def test_a_plan_with_an_agent_that_is_not_here_is_refused(
    live_home: LiveHome, tmp_path: Path
) -> None:
    plan = plan_with(tmp_path, "cluade-code")
    done = live_home.command("run", "A tool", "--plan", plan, *MODEL)
    assert done.returncode == 2
    message = "unknown external agent 'cluade-code', did you mean 'claude-code'"
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_plan_with_a_command_agent_is_executed(live_home: LiveHome, tmp_path: Path) -> None:
    command = program(tmp_path, "#!/bin/sh\ncat _task.md > copy.md; echo Copied.\n")
    live_home.plays(coordinator=[WAIT, finish("Copied")])
    outcome = live_home.complete(
        "A copy", "--plan", plan_with(tmp_path, command), "--name", "planned"
    )
    [done] = outcome.data("node.completed")
    assert done["summary"] == "Copied."


def test_a_command_line_that_a_model_writes_is_refused_by_each_tool(
    live_home: LiveHome, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    hostile = {"type": "autonomous", "agent_command": f"sh -c 'touch {mark}'"}
    role = {"name": "lou", "prompt": "t", **hostile}
    tries = calls(
        spawn("kim", **hostile),
        node("kim-tool", **hostile),
        call("launch_roles", stage={"roles": [role]}),
        spawn("max", can_lead=True),
    )
    leads: Plays = [tries, node("part", "max"), WAIT, finish_with("wait")]
    led_by_max = [calls(spawn("zoe", **hostile), node("zoe-tool", **hostile)), *WORK]
    live_home.plays(coordinator=leads, max=led_by_max)
    outcome = live_home.complete("Have a tool written", "--name", "hostile")
    [worker] = (outcome.run / "workers").iterdir()
    records = [*outcome.conversation(), *whole_lines(worker / "conversation.jsonl")]
    found = [
        r["content"] for r in records if "unknown external agent 'sh'" in str(r.get("content"))
    ]
    assert len(found) == 5
    assert all("known: " in text and "preset in agents.yaml" in text for text in found)
    assert not mark.exists()
    assert not outcome.events("outside.started")


@pytest.fixture
def rules(live_home: LiveHome) -> Iterator[Path]:
    """Return the file of the home's approval rules, which is removed afterwards."""
    file = live_home.home / "approvals.yaml"
    yield file
    file.unlink(missing_ok=True)


def test_an_agent_that_does_not_ask_is_refused_while_there_are_rules(
    live_home: LiveHome, rules: Path, tmp_path: Path
) -> None:
    """Hired by a model, or named by a person's plan; and when its rules are added after it."""
    robot = preset(live_home.home, "robot", program(tmp_path, CURIOUS))
    live_home.plays(coordinator=led("eve", robot))

    def meanwhile() -> None:
        folder_of(live_home, "ruled-outside", "eve-tool")
        live_home.await_question("ruled-outside")
        rules.write_text("rules: [{name: no-date, tool: bash, pattern: 'date*', action: deny}]\n")
        live_home.kill("worker eve-")

    outcome = live_home.lead("A tool", "--name", "ruled-outside", meanwhile=meanwhile)
    [failed] = outcome.data("node.failed")
    assert "'robot' is refused, because rules cannot be enforced" in failed["reason"]
    done = live_home.command("run", "A tool", "--plan", plan_with(tmp_path, robot), *MODEL)
    assert done.returncode == 2
    assert "robot does not ask before it acts: the rule 'no-date'" in " ".join(done.stderr.split())
    live_home.plays(coordinator=[spawn("ned", type="autonomous", agent_command=robot), finish()])
    outcome = live_home.complete("Have a tool written", "--name", "ruled")
    assert any("set `rule_exempt: true` for robot" in str(r) for r in outcome.conversation())


READER = """\
#!/usr/bin/env python3
import json, sys, time
def say(**line):
    print(json.dumps(line), flush=True)
def inbox():
    while "blue" not in open("_inbox.md").read():
        time.sleep(0.02)
    return open("_inbox.md").read()
again = sys.argv[1] == "resume"
say(type="thread.started", thread_id="t1")
if not again:
    open("_outbox.md", "w").write("@coordinator: which colour?\\n\\n")
    text, command = inbox(), sys.argv[1]
    item = {"id": "i1", "type": "command_execution", "command": command}
    say(type="item.started", item=item)
    shown = text if command.startswith("cat") else ""
    say(type="item.completed", item=item | {"aggregated_output": shown, "exit_code": 0})
open("_result.md", "w").write("blue, at last" if again else "done")
say(type="turn.completed", usage={"input_tokens": 250 if again else 100, "output_tokens": 1})
"""


@pytest.mark.parametrize(
    ("command", "used"),
    [("cat _inbox.md", [100]), ("ls -l _inbox.md", [100, 150])],
    ids=["has-read-it", "has-not"],
)
def test_agent_gets_a_further_turn_for_unread_messages(
    live_home: LiveHome, tmp_path: Path, command: str, used: list[int]
) -> None:
    agent: JsonObject = {"driver": "codex", "command": [program(tmp_path, READER)]}
    agent |= {"start": [command], "resume": ["resume"], "readable": [str(tmp_path)]}
    agent |= {"account": "own"}
    agents = live_home.home / "agents.yaml"
    agents.write_text(json.dumps({"reader": agent}))
    blue = after_message("which colour?", tell("fay", "blue"))
    live_home.plays(coordinator=led("fay", "reader", blue))
    outcome = live_home.complete("Have a tool written")
    agents.unlink()
    ended = list(outcome.data("outside.ended"))
    assert [one["goes_on"] for one in ended] == [True, False][-len(used) :]
    assert [one["input_tokens"] for one in ended] == used, "of this start, not of its thread"
    assert {(one["account"], one["calls"]) for one in ended} == {("own", None)}


CALLER = """\
#!/usr/bin/env python3
import json, os, sys, time, urllib.error, urllib.request
def ask():
    question = {"model": "any", "messages": [{"role": "user", "content": "I am the caller."}]}
    head = {"authorization": "Bearer " + os.environ["TOKEN"], "content-type": "application/json"}
    data = json.dumps(question).encode()
    request = urllib.request.Request(os.environ["DOOR"], data=data, headers=head)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(request).read()
if sys.argv[1] == "resume":
    assert "stopped at the limit" in sys.argv[2]
    open("_result.md", "w").write("half of it")
    sys.exit()
if sys.argv[1] == "waits":
    print(json.dumps({"type": "thread.started", "thread_id": "t1"}), flush=True)
is_first = not os.path.exists("ready")
for number in range(20):
    try:
        ask()
    except urllib.error.HTTPError as error:
        open("refused", "a").write(f"{error.code} ")
        if sys.argv[1] == "ends":
            sys.exit(print("half of it"))
        while True:
            time.sleep(0.05)
    if is_first and number == 1 and sys.argv[1] == "waits":
        open("ready", "w").write("x")
        while True:
            time.sleep(0.05)
    if sys.argv[1] == "heeds":
        while number == 1 and "stopped at the limit" not in open("_inbox.md").read():
            time.sleep(0.02)
        if number == 1:
            open("_result.md", "w").write("half of it")
"""


@pytest.fixture
def caller(live_home: LiveHome, tmp_path: Path) -> Iterator[str]:
    """Yield the name of an agent that makes model calls until it is refused, and then hangs.

    It accepts no prompt in the middle of its turn; `lasting` is the same with a session that can be
    resumed.
    """
    agent: JsonObject = {"driver": "plain", "command": [program(tmp_path, CALLER)]}
    agent |= {"parameters": {"way": {way: [way] for way in ("waits", "heeds", "ends")}}}
    environment = {"DOOR": "{door}/openai/v1/chat/completions", "TOKEN": "{token}"}
    agent |= {"wire": "openai", "environment": environment, "readable": [str(tmp_path)]}
    agents = live_home.home / "agents.yaml"
    lasting = agent | {"driver": "codex", "start": ["waits"], "resume": ["resume", "{prompt}"]}
    agents.write_text(json.dumps({"caller": agent, "lasting": lasting}))
    yield "caller"
    agents.unlink()


def calls_of(live_home: LiveHome, outcome: Outcome, node: str) -> int:
    """Return the number of calls of a node in `agiraph usage`."""
    rows = live_home.json("usage", outcome.result["agent"], "--by", "node")
    return next(int(row["calls"]) for row in rows if row["name"] == node)


def test_an_agent_is_ended_at_a_bound_of_its_node_also_after_its_worker_was_killed(
    live_home: LiveHome, caller: str
) -> None:
    live_home.plays(coordinator=led("gus", f"{caller} way=waits"), **{"*": [say("fine")] * 9})

    def meanwhile() -> None:
        working_in(live_home, "bound", "gus-tool")  # it has made two calls
        live_home.kill("worker gus-")

    outcome = live_home.lead("Have a tool written", "--name", "bound", meanwhile=meanwhile)
    [failed] = outcome.data("node.failed")
    reason = "6 calls of the node's 6 calls are used, and the rest does not cover another call"
    assert failed["reason"] == reason
    assert len(outcome.events("outside.started")) == 2, "and no third time"
    [ended] = outcome.data("outside.ended")
    assert (ended["account"], ended["calls"]) == ("door", 4)
    assert calls_of(live_home, outcome, "gus-tool") == 6
    assert not outcome.events("human.question")


@pytest.mark.parametrize("way", ["heeds", "ends"])
def test_unfinished_result_at_a_limit_is_published_in_part(
    live_home: LiveHome, caller: str, way: str
) -> None:
    live_home.plays(coordinator=led("hal", f"{caller} way={way}"), **{"*": [say("fine")] * 9})
    outcome = live_home.complete("Have a tool written")
    [done] = outcome.data("node.completed")
    assert done["summary"] == "half of it"
    assert done["bound"].startswith("6 calls of the node's 6 calls are used")
    assert outcome.published("hal-tool")["refused"] == "402 "
    [ended] = outcome.data("outside.ended")
    assert (ended["problem"], ended["calls"]) == ("", 6)


@pytest.mark.usefixtures("caller")
def test_agent_without_messages_during_a_turn_is_interrupted_for_a_limit_warning(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=led("ida", "lasting"), **{"*": [say("fine")] * 9})
    outcome = live_home.complete("Have a tool written")
    [done] = outcome.data("node.completed")
    assert (done["summary"], done.get("missing")) == ("half of it", None)
    started, ended = outcome.events("outside.started"), outcome.events("outside.ended")
    assert [event["data"]["session"] for event in started] == ["", "t1"]
    assert [event["data"]["calls"] for event in ended] == [2, 0], "four were left for it"
