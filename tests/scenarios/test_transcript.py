"""`transcript`: the conversation of an entity as people read it, also when it has finished."""

from pathlib import Path

import pytest

from tests.fakes.model_server import say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import bash, one_worker, publish
from tests.scenarios.terminal import Terminal, needs_tmux

ALMOST = "It is almost done."
TRICK = "printf 'a\\033[31mred\\n```\\n' | tee facts.md"


@pytest.fixture(scope="module")
def live_home(live_home: LiveHome) -> LiveHome:
    """Return a running home with the agent `read`, whose worker `reader` has finished."""
    *before, last = one_worker("reader")
    leads = [*before, say(ALMOST), last]
    live_home.plays(coordinator=leads, reader=[bash(TRICK), publish("All is read.")])
    live_home.complete("Read a thing", "--name", "read")
    return live_home


def test_a_finished_workers_conversation_is_a_page(live_home: LiveHome) -> None:
    read = live_home.command("transcript", "read/reader")
    assert read.returncode == 0
    first, *_ = read.stdout.splitlines()
    assert first.endswith("/reader")
    assert "## given a node" in read.stdout
    assert "> # Assignment: reader-facts" in read.stdout
    assert "### calls bash\n\n````\ncommand: printf" in read.stdout
    assert "### result of bash" in read.stdout
    assert "summary: All is read." in read.stdout
    assert "\x1b" not in read.stdout


def test_an_agents_name_means_its_coordinator(live_home: LiveHome) -> None:
    read = live_home.command("transcript", "read")
    assert read.stdout.splitlines()[0].endswith("/coordinator")
    assert "### calls spawn_worker" in read.stdout


def test_answer_of_a_coordinator_has_the_id_of_its_message(
    live_home: LiveHome,
) -> None:
    [said] = [e for e in live_home.json("transcript", "read") if e["content"] == ALMOST]
    [heard] = [one for one in live_home.json("messages", "read") if one["content"] == ALMOST]
    assert said["message"] == heard["id"]


def test_transcript_is_available_as_json_and_as_a_file(live_home: LiveHome) -> None:
    entries = live_home.json("transcript", "read/reader")
    assert [e["seq"] for e in entries] == list(range(1, len(entries) + 1))
    assert {"assigned", "said", "tool.finished", "node.closed"} <= {e["kind"] for e in entries}
    written = live_home.command("transcript", "read/reader", "-o", "reader.md")
    assert (written.returncode, written.stdout) == (0, "")
    file = live_home.home / "reader.md"
    assert file.read_text() == live_home.command("transcript", "read/reader").stdout
    again = live_home.command("transcript", "read", "-o", "reader.md")
    assert (again.returncode, "reader.md exists" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("raed", ["unknown agent 'raed', did you mean 'read'?"]),
        ("read/reder", ["unknown entity 'reder'", "reader"]),
    ],
)
def test_unknown_entity_is_refused_with_the_known_names(
    live_home: LiveHome, named: str, words: list[str]
) -> None:
    unknown = live_home.command("transcript", named)
    assert unknown.returncode == 2
    assert [word for word in words if word not in unknown.stderr] == []


@needs_tmux
def test_long_transcript_is_shown_with_the_pager(live_home: LiveHome, tmp_path: Path) -> None:
    environ = {**live_home.environ, "PAGER": "less", "TERM": "screen"}
    terminal = Terminal(tmp_path / "tmux", environ, "transcript", "read", is_program=True)
    terminal.await_screen("# ", "/coordinator", ":")
    terminal.keys("q")
    terminal.await_screen("[left with 0]")
    terminal.close()
