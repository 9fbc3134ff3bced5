"""Bad input through the command line: one clear line, the right exit code, no partial effects."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import zmq

from agiraph.core.turns import ToolTurn
from agiraph.storage.home import Home
from agiraph.storage.journal import read_journal
from tests.fakes.model_server import Call, Reply, call, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import processes_of, words_of
from tests.scenarios.steps import DONE, WAIT, bash, held, one_worker, spawn, tell, write

MODEL = ("--model", "openai/fake")
ADD = ("triggers", "known", "add")


@pytest.fixture(scope="module")
def live_home(live_home: LiveHome) -> Iterator[LiveHome]:
    """Yield a running home with one ended agent, `known`, whose worker was `ada`."""
    live_home.plays(coordinator=one_worker("ada"), ada=[bash("echo 1 > f"), DONE])
    live_home.run("Know one thing", "--name", "known")
    yield live_home
    live_home.stop("known")


def told(live_home: LiveHome, *args: str, code: int, **environ: str) -> str:
    """Run a command that must fail with `code`; return the line with the reason."""
    done = live_home.command(*args, **environ)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    lines = done.stderr.splitlines()
    assert done.returncode == code, done.stderr
    return lines[-1]


def agents_of(home: Path) -> list[str]:
    """Return the names of the agents in a home."""
    return sorted(path.name for path in (home / "agents").glob("*"))


# --- invalid requests ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("run", ""), ["GOAL is empty"]),
        (("run", "  \n"), ["GOAL is empty"]),
        (("run", "x", "--model", "nope/x"), ["unknown provider 'nope'", "anthropic", "nope/x"]),
        (("run", "x", "--model", "gpt-5"), ["did you mean 'openai/gpt-5'?", "known: "]),
        (("run", "x", "--model", "script/nope"), ["unknown model 'script/nope'", "script/survey"]),
        (("run", "x", *MODEL, "--worker-model", "nope/x"), ["unknown provider 'nope'"]),
        (("run", "x", *MODEL, "--worker-model", "openai/fake,nope/x"), ["provider 'nope'"]),
        (("run", "x", *MODEL, "--worker-model", "<cheap"), ["'<cheap'", "<=DOLLARS", "any"]),
        (("run", "x", *MODEL, "--worker-model", "<=5"), ["openai/fake", "price is not known"]),
        (("run", "x", *MODEL, "--input", "/no/such"), ["--input", "/no/such", "not exist"]),
        (("run", "x", *MODEL, "--budget", "-1"), ["--budget", "-1"]),
        (("run", "x", *MODEL, "--budget", "nan"), ["--budget", "nan"]),
        (("run", "x", *MODEL, "--timeout", "inf"), ["--timeout", "inf"]),
        (("run", "x", *MODEL, "--name", "a/b"), ["--name", "'/'"]),
        (("run", "x", *MODEL, "--detach", "--timeout", "1"), ["--timeout", "--detach"]),
        (("send", "known", ""), ["TEXT is empty"]),
        (("send", "known", "x", "--mode", "shout"), ["'shout'", "steer", "interrupt"]),
        (("respond", "q-1", " "), ["TEXT is empty"]),
        (("frobnicate",), ["unknown command 'frobnicate'", " more)"]),
        (("bord", "known"), ["unknown command 'bord'", "did you mean 'board'?"]),
        (("login", "--at", "nonsense"), ["'nonsense'", "https://"]),
        ((*ADD, "x", "--at", "2020-01-01T00:00"), ["'2020-01-01T00:00' is over", "it is 2"]),
        ((*ADD, "--in", "1h", "--node", "nope"), ["unknown node 'nope'", "ada-facts"]),
        (("run", os.fsdecode(b"caf\xe9")), ["argument 2", "'caf\\xe9' is not UTF-8 text (byte 3)"]),
        (("show", os.fsdecode(b"\xff")), ["argument 2", "'\\xff' is not UTF-8 text (byte 0)"]),
        (("run", "x", *MODEL, "--record", "no/such"), ["no/such: cannot be written"]),
    ],
)
def test_wrong_usage_is_named_and_starts_nothing(
    live_home: LiveHome, args: tuple[str, ...], words: list[str]
) -> None:
    before = agents_of(live_home.home)
    line = told(live_home, *args, code=2)
    assert [word for word in words if word not in line] == []
    assert agents_of(live_home.home) == before
    assert live_home.json("triggers", "known") == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        *[
            ((command, "nobody"), ["unknown agent 'nobody'", "(known: "])
            for command in (
                *("show", "board", "workers", "messages", "events", "files"),
                *("questions", "console"),
            )
        ],
        *[
            ((command, "nobody"), ["unknown entity 'nobody'", "(known: "])
            for command in ("pause", "resume", "stop", "restart", "kill")
        ],
        (("send", "nobody", "x"), ["unknown agent 'nobody'", "(known: "]),
        (("send", "known", "x", "--to", "zoe"), ["unknown recipient 'zoe'", "ada", "coordinator"]),
        (("kill", "known/zoe"), ["unknown entity 'known/zoe'", "(known: "]),
        (("respond", "q-nope", "x"), ["unknown question 'q-nope'", "(open: "]),
        (("files", "known", "nope.txt"), ["there is no 'nope.txt'"]),
        (("files", "known", "../../agent.json"), ["'..'"]),
        (("show", ".."), ["'..'"]),
        (("board", "known", "nope"), ["unknown node 'nope'", "ada-facts"]),
        (("triggers", "known", "fire", "t-1"), ["unknown trigger 't-1'"]),
        (("triggers", "nobody"), ["unknown agent 'nobody'", "(known: "]),
        (("show", "knwon"), ["unknown agent 'knwon', did you mean 'known'?"]),
        (("logs", "nobody"), ["unknown log 'nobody'"]),
        (("run", "x", *MODEL, "--agent", "nobody"), ["unknown agent 'nobody'", "(known: "]),
        (("restore", "nobody"), ["unknown agent in the archive 'nobody'"]),
        (("dead", "retry", "nope"), ["unknown dead letter 'nope'"]),
        (("tokens", "revoke", "nope"), ["there is no token 'nope'", "home"]),
        (("logout", "nope"), ["there is no login 'nope'"]),
        (("channels", "test", "nope"), ["unknown channel 'nope'"]),
    ],
)
def test_unknown_name_is_refused_with_the_known_ones(
    live_home: LiveHome, args: tuple[str, ...], words: list[str]
) -> None:
    line = told(live_home, *args, code=2)
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("send", "known", "x", "--to", "ada"), ["'ada' has stopped"]),
        (("stop", "router"), ["router", "restarted, not stopped"]),
        (("run", "x", *MODEL, "--name", "known"), ["'known'", "taken"]),
    ],
)
def test_command_in_a_wrong_state_is_a_failure(
    live_home: LiveHome, args: tuple[str, ...], words: list[str]
) -> None:
    line = told(live_home, *args, code=1)
    assert [word for word in words if word not in line] == []


# --- homes and settings --------------------------------------------------------------------------


def test_invalid_homes_are_refused(live_home: LiveHome, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert str(file) in told(live_home, "run", "x", *MODEL, "--home", str(file), code=2)
    assert str(file) in told(live_home, "run", "x", *MODEL, "--home", str(file / "in"), code=1)
    assert "/proc/home" in told(live_home, "run", "x", *MODEL, "--home", "/proc/home", code=1)
    line = told(live_home, "run", "x", *MODEL, "--detach", "--home", str(tmp_path / "new"), code=4)
    assert str(tmp_path / "new") in line
    assert "agiraph up" in line
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run:\n  max_conc: 3\n", [":2:", "'run.max_conc'", "max_concurrent"]),
        ("runs: 1\n", [":1:", "'runs'", "possible", "shell"]),
        ("run:\n  \x00\n", [":2:", "not YAML"]),
    ],
)
def test_unreadable_settings_are_refused(
    live_home: LiveHome, tmp_path: Path, text: str, words: list[str]
) -> None:
    settings = tmp_path / "agiraph.yaml"
    settings.write_text(text)
    others = () if text.startswith("run:") else (("_supervisor",),)
    for args in (("run", "x", *MODEL), ("config", "show"), *others):
        line = told(live_home, *args, "--home", str(tmp_path), code=2)
        assert [word for word in (str(settings), *words) if word not in line] == []
    assert [path.name for path in tmp_path.iterdir()] == ["agiraph.yaml"]


@pytest.mark.parametrize("name", ["agiraph.yaml", "providers.yaml", "prices.yaml", "agents.yaml"])
def test_settings_that_are_not_text_are_refused(
    live_home: LiveHome, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"caf\xe9: 1\n")
    line = told(live_home, "run", "x", *MODEL, "--home", str(tmp_path), code=2)
    assert line == f"agiraph: {tmp_path / name}: is not UTF-8 text (byte 3)"


# --- a goal that is too long ---------------------------------------------------------------------


def test_a_goal_longer_than_the_window_is_refused_before_any_call(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[])
    before = agents_of(live_home.home)
    for args in (("--model", "openai/small"), ("--agent", "known", "--model", "openai/small")):
        done = live_home.command("run", "-", *args, stdin="word " * 200_000)
        assert done.returncode == 2, done.stderr
        words = "the goal is too long for openai/small: about 249,999 tokens, its window has 26,000"
        assert words in done.stderr
    assert (live_home.server.requests, agents_of(live_home.home)) == ([], before)


def test_a_long_goal_is_shortened_in_lists(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[call("finish", summary="done")])
    outcome = live_home.lead("word " * 2_000, "--name", "wordy")
    assert outcome.code == 0
    [row] = [line for line in live_home.command("agents").stdout.splitlines() if "wordy" in line]
    assert len(row) < 600
    assert len(live_home.json("show", "wordy")["goal"]) == 9_999


# --- names as they are shown ---------------------------------------------------------------------


def test_a_file_is_found_by_the_name_or_id_of_its_node(live_home: LiveHome) -> None:
    [node] = live_home.json("board", "known")
    for named in (node["id"], node["name"]):
        done = live_home.command("files", "known", f"nodes/{named}/published/f")
        assert (done.returncode, done.stdout) == (0, "1\n")
    told(live_home, "files", "known", f"nodes/{node['id']}/../../../../agent.json", code=2)
    told(live_home, "files", "known", "nodes/nope/published/f", code=2)


def test_node_has_the_same_stage_in_the_list_and_in_its_details(live_home: LiveHome) -> None:
    [heading, row] = live_home.command("board", "known").stdout.splitlines()
    [node] = live_home.json("board", "known")
    shown = live_home.command("board", "known", node["id"]).stdout.splitlines()
    [line] = [line for line in shown if line.startswith("stage ")]
    assert line.split() == ["stage", row.split()[heading.split().index("STAGE")]]


# --- keys, money and time ------------------------------------------------------------------------


def test_wrong_and_missing_keys_are_reported(live_home: LiveHome) -> None:
    assert live_home.environ["REFUSED_API_KEY"] == "sk-wrong-0123456789"
    done = live_home.command("run", "x", "--model", "refused/fake", "--name", "turned-away")
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert done.stderr.count("bad_key") == 1
    assert "; set a valid key; " in line
    assert "sk-wrong-0123456789" not in line
    assert "REFUSED_API_KEY" in line
    assert live_home.json("show", "turned-away")["status"] == "failed"
    live_home.stop("turned-away")
    before = agents_of(live_home.home)
    line = told(live_home, "run", "x", "--model", "moonshot/fake", code=2)
    assert line == "agiraph: model moonshot/fake cannot be called: MOONSHOT_API_KEY is not set"
    assert agents_of(live_home.home) == before


def test_ctrl_c_leaves_no_process(live_home: LiveHome, tmp_path: Path) -> None:
    gate = threading.Event()
    begun = bash("touch begun; sleep 300.031")
    live_home.plays(coordinator=one_worker("cleo"), cleo=[begun, Reply(text="late", gate=gate)])
    process = live_home.start("run", "x", *MODEL, "--home", str(tmp_path))
    until(lambda: [*tmp_path.glob("agents/*/runs/*/nodes/*/scratch/begun")], "the command runs")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    gate.set()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "agiraph: interrupted"
    assert "Traceback" not in err
    assert not processes_of(tmp_path)
    assert not running("300.031")
    wanted = [r for r in read_journal(Home(tmp_path).system.children) if "desired" in r]
    assert wanted[-1]["desired"] == "stopped", "no later supervisor takes the team up again"


# --- invalid calls of a model --------------------------------------------------------------------

WRONG = [
    (call("read_file", path="../../../../system/token"), "may not be read"),
    (call("read_file", path="/etc/passwd"), "only inside the input folder"),
    (write("journal.jsonl", "x"), "may not be written"),
    (call("read_file"), "wrong arguments for read_file(path, offset?, page?): path: is missing"),
    (call("read_file", path=5), "path: must be a text"),
    (call("bash", command="ls", colour="red"), "colour: unknown field 'colour' (known: command"),
    (Reply(calls=(Call("bash", raw='{"command": "ls'),)), "are not a JSON object"),
    (Reply(calls=(Call("bash", raw="[1]"),)), "are not a JSON object"),
    (call("sehll", command="ls"), "unknown tool 'sehll' (known: search, append_shared_value,"),
    (spawn("dan", tools=["fly"]), "unknown tool 'fly' (known: append_shared_value,"),
    (spawn("dan", model="nope/x"), "unknown provider 'nope'"),
    (call("create_work_node", task="x", worker="zoe"), "unknown worker 'zoe'"),
    (call("create_work_node", task="x", refs={"a": "gone"}), "unknown node 'gone'"),
    (WAIT, "nothing to wait for"),
    (tell("zoe", "x"), "unknown recipient 'zoe'"),
    (bash("echo \x00"), "cannot take this command"),
]


def test_model_reads_the_error_of_a_wrong_call_and_continues(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[*(step for step, _ in WRONG), call("finish", summary="learned")])
    outcome = live_home.lead("x")
    assert (outcome.code, outcome.result["result"]) == (0, "learned\n")
    finished = [r for r in outcome.conversation() if r["kind"] == "tool.finished"]
    for record, (_, words) in zip(finished, WRONG, strict=False):
        assert record["is_error"], record
        assert words in record["content"]
    assert not outcome.events("worker.spawned")


def test_worker_gets_no_other_model_than_the_human_chose(live_home: LiveHome) -> None:
    refused = [
        spawn("una", model="openai/dear"),
        call("create_work_node", name="x", task="Do x", model="openai/dear"),
        call("launch_roles", stage={"roles": [{"name": "r", "prompt": "x", "model": "b/c"}]}),
    ]
    live_home.plays(coordinator=[*refused, *one_worker("una")], una=[DONE])
    live_home.complete("Find one fact", "--worker-model", "openai/fake")
    shown = [
        turn.content for turn in live_home.server.requests[-1].turns if isinstance(turn, ToolTurn)
    ]
    chosen = "the human chose the model of the workers (possible: openai/fake)"
    assert [text.partition(": ")[0] for text in shown if chosen in text] == [
        *("openai/dear", "openai/dear", "b/c")
    ]
    assert {seen.model for seen in live_home.server.requests} == {"fake"}


def test_silent_worker_fails_its_node(live_home: LiveHome) -> None:
    silent = [say("Done, I think."), say("Yes, done.")]
    live_home.plays(coordinator=one_worker("eve"), eve=silent)
    outcome = live_home.complete("x")
    reason = "the model answered without a tool call, also after a reminder"
    assert [failed["reason"] for failed in outcome.data("node.failed")] == [reason]
    assert reason in outcome.result["result"]


def running(word: str) -> bool:
    """Whether a process with this word on its command line runs."""
    return any(word in words_of(process) for process in psutil.process_iter())


# --- noise on the wire, and a disk that is full --------------------------------------------------


def test_noise_at_the_routers_socket_disturbs_no_peer(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("gus"), gus=[held(bash("echo 1 > f"), gate), DONE])

    def meanwhile() -> None:
        live_home.server.wait_for(lambda seen: seen.is_for("gus"))
        send_invalid_frames(live_home)
        gate.set()

    def router() -> tuple[int, int]:
        [row] = [row for row in live_home.json("ps") if row["address"] == "router"]
        return row["incarnation"], row["pid"]

    before = router()
    outcome = live_home.complete("x", meanwhile=meanwhile)
    assert len(outcome.completions()) == 1
    assert router() == before


def send_invalid_frames(live_home: LiveHome) -> None:
    """Send the router frames that no endpoint sends."""
    [listening] = (live_home.home / "system/run").glob("*.sock")
    frames = [
        b"",
        b"\x00",
        b"\xff" * 70_000,
        b"\x00\x02\xc1\xc1",
        b"\xff\xff" + b"\x91" * 5_000,
        b"\x00\x05" + b"\xdd\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
    ]
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 1000
        dealer.connect(f"ipc://{listening}")
        for frame in frames:
            dealer.send(frame)
            dealer.send_multipart([b"supervisor", frame])
            dealer.send_multipart([frame, frame, frame])
