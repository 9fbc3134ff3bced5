"""A short storm: processes of every kind are killed while a team works, and nothing is lost."""

import json
import os
from pathlib import Path

import pytest

from tests.chaos.storm import BLOWS, HAMMERED, STRIKES
from tests.fakes.forked_command import ForkedCommand
from tests.scenarios.scenario_home import processes_of

DEADLINE_SECONDS = 240.0


@pytest.mark.slow
def test_repeated_kills_neither_lose_nor_repeat_work(tmp_path: Path) -> None:
    """In the end two services are killed again and again: each comes back every time."""
    program = "tests.chaos.storm:main"
    begun = ForkedCommand((str(tmp_path),), cwd=tmp_path, env=os.environ, program=program)
    out, told = begun.communicate(DEADLINE_SECONDS)
    assert begun.returncode == 0, told
    found = json.loads(out)
    assert found["verdict"] == "good", (found, told)
    struck = found["strikes"]
    assert sum(struck.values()) == STRIKES + BLOWS
    assert {f"{service} kill" for service in HAMMERED} < set(struck)
    assert not processes_of(tmp_path)
