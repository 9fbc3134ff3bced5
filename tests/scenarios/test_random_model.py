"""A model that calls its tools at random, with real processes: `agiraph chaos --random-model`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("seed", "kills"), [(5, 0), (22, 6), pytest.param(10, 6, marks=pytest.mark.machines)]
)
def test_run_of_a_random_model_ends_while_its_processes_are_killed(
    seed: int, kills: int, tmp_path: Path
) -> None:
    words = ["chaos", "--random-model", str(seed), "--kills", str(kills), "--json"]
    command = [sys.executable, "-P", "-m", "agiraph", *words, "--keep", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["faults"] == []
