"""A team that must talk to get its work right (test 10): code, tests, docs, and a bug between."""

import subprocess
import sys
from pathlib import Path

from agiraph.core.turns import AssistantTurn
from tests.fakes.model_server import Reply, SeenRequest, call, calls
from tests.fakes.replies import Step
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, bash, finish, node, publish, spawn, tell, write

BROKEN = "def reverse_words(text):\n    return text[::-1]\n"
MENDED = "def reverse_words(text):\n    return ' '.join(reversed(text.split()))\n"
TESTS = (
    "from strutils import reverse_words\n\n"
    "def test_words_are_reversed():\n    assert reverse_words('a bc') == 'bc a'\n\n"
    "test_words_are_reversed()\nprint('passed')\n"
)


BUG = "Found a bug in reverse_words()"


def has_written(seen: SeenRequest, content: str) -> bool:
    """Whether this conversation has a call with this content."""
    said = (turn.tool_calls for turn in seen.turns if isinstance(turn, AssistantTurn))
    return any(made.arguments.get("content") == content for calls in said for made in calls)


def coder(seen: SeenRequest) -> Reply:
    """Write the module, message the tester, and correct the bugs that the tester finds."""
    if "Found a bug" in seen.said and not has_written(seen, MENDED):
        return calls(write("strutils.py", MENDED), tell("tess", f"Mended. The module:\n{MENDED}"))
    if "All green" in seen.said:
        return publish("strutils.py with reverse_words")
    if seen.step == 0:
        return calls(write("strutils.py", BROKEN), tell("tess", f"The module:\n{BROKEN}"))
    return WAIT


def examiner(seen: SeenRequest) -> Reply:
    """Test each module that arrives; report its fault, or that it is green."""
    modules = seen.said.count("[Message from cody]")
    runs = seen.results("bash")
    if runs and "passed" in runs[-1] and has_written(seen, "All green."):
        return publish("tests that pass")
    if runs and "passed" in runs[-1]:
        return tell("cody", "All green.")
    if len(runs) < modules:
        module = MENDED if modules > 1 else BROKEN
        return calls(
            write("strutils.py", module),
            write("test_strutils.py", TESTS),
            bash("python3 -B test_strutils.py"),
        )
    if len(runs) == 1 and not has_written(seen, BUG):
        assert "AssertionError" in runs[0]
        return tell("cody", BUG)
    return WAIT


WRITER: list[Step] = [
    calls(call("read_ref", name="code"), call("read_ref", name="tests")),
    lambda seen: write("README.md", "\n".join(["# strutils\n", *seen.results("read_ref")])),
    publish("the README"),
]
COORDINATOR: list[Step] = [
    calls(spawn("cody", role="coder"), spawn("tess", role="tester"), spawn("dot", role="writer")),
    calls(node("module", "cody"), node("tests", "tess")),
    node("docs", "dot", refs={"code": "module", "tests": "tests"}),
    WAIT,
    finish("Code, tests and docs are published."),
]


def test_coder_and_tester_fix_a_bug_by_message(live_home: LiveHome, tmp_path: Path) -> None:
    live_home.plays(coordinator=COORDINATOR, cody=coder, tess=examiner, dot=WRITER)
    outcome = live_home.complete("Make a package with code, tests and docs")
    log = outcome.messages()
    there, back = "cody_to_tess.md", "tess_to_cody.md"
    assert [name.split("_", 1)[1] for name in log] == [there, back, there, back]
    files = outcome.published("module") | outcome.published("tests")
    assert files["strutils.py"] == MENDED
    assert "from strutils import" in files["test_strutils.py"]
    assert "reverse_words" in outcome.published("docs")["README.md"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "test_strutils.py"]
    tested = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert tested.stdout == "passed\n"
