"""A short storm of a disk that is full again and again: nobody is lost, and nothing."""

import json
import subprocess
import sys

import pytest

from cli.exits import WRONG_USAGE


@pytest.mark.slow
def test_a_disk_that_is_full_again_and_again_loses_nothing() -> None:
    words = ["chaos", "--full-disk", "--kills", "3", "--seed", "3", "--json"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agiraph", *words], check=False, capture_output=True, text=True
    )
    if done.returncode == WRONG_USAGE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["strikes"] == {"full disk": 3}
    assert told["verdict"] == "good"
