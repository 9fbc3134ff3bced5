"""A model whose commands start endless processes or allocate endless memory: the team continues."""

import sys

import pytest

from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import calls
from tests.integration.test_command_limits import FORKS, MEMORY, filled
from tests.scenarios.live_home import MakeLiveHome
from tests.scenarios.steps import DONE, FACT, bash, one_worker

FOUND = probe()
SANDBOXED = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of the Linux kernel")
LIMITS = {"processes": 100, "total_memory_mb": 256}
MARK = "86394"


@pytest.mark.parametrize("mode", ["none", pytest.param("bwrap", marks=SANDBOXED)])
def test_bombs_of_a_worker_are_results_and_nothing_is_restarted(
    make_live_home: MakeLiveHome, mode: str
) -> None:
    live_home = make_live_home({"shell": LIMITS, "sandbox": {"mode": mode}})
    bombs = [calls(bash(filled(bomb, MARK))) for bomb in (FORKS, MEMORY)]
    live_home.plays(coordinator=one_worker("ada"), ada=[*bombs, calls(FACT), DONE])
    outcome = live_home.complete("Write")
    assert outcome.published("ada-facts") == {"facts.md": "one fact"}
    previews = [told["preview"] for told in outcome.data("tool.result") if told["tool"] == "bash"]
    of_tasks, of_memory = previews
    assert "the command had more than 100 processes and threads" in of_tasks
    assert "the command used more than 256 MB of memory" in of_memory
    assert not {"child.crashed", "entity.suspect", "child.failed"} & set(outcome.types())
