"""What a model reads about the machine, and what its commands find there."""

import os
import sys
from pathlib import Path

import pytest

from agiraph.settings.config import load_config
from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import calls
from tests.scenarios.live_home import MakeLiveHome
from tests.scenarios.steps import DONE, FACT, bash, one_worker

FOUND = probe()


@pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
def test_prompts_describe_the_machine_and_tmp_lasts_until_the_node_ends(
    make_live_home: MakeLiveHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.defpath}")
    live_home = make_live_home({"sandbox": {"no_network_for": ["ada"]}})
    keep, look = bash("echo kept > /tmp/note; python3 --version"), bash("cat /tmp/note")
    live_home.plays(
        coordinator=one_worker("ada"), ada=[calls(keep), calls(look), calls(FACT), DONE]
    )
    outcome = live_home.complete("Write")
    python = f"python3 3.{sys.version_info.minor}"
    for name, network in (("ada", "no"), ("coordinator", "yes")):
        [prompt] = {one.system for one in live_home.server.requests if one.is_for(name)}
        assert "### This machine" in prompt
        assert f"Programs: {python} (with pytest" in prompt
        assert f"Network of commands: {network}." in prompt
        assert f"{load_config().shell.output_limit:,} bytes of its output" in prompt
    previews = [told["preview"] for told in outcome.data("tool.result") if told["tool"] == "bash"]
    assert previews[0].startswith(python.replace("python3", "Python"))
    assert previews[1].startswith("kept")
    assert not list(outcome.run.glob("nodes/*/.tmp"))
