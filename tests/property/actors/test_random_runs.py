"""Every run makes progress, or says why it cannot, whatever its model does (`tests.random_runs`).

A seed that ever failed is added to FAILED, with the fault that it found.
"""

from pathlib import Path

import pytest

from tests.fakes.simulated_home import simulate_machine
from tests.random_runs import KINDS, play

FAILED = {
    6: "all workers waited for a message, for ever",
    10: "a deadline that had ended was set again while a question was withdrawn",
    22: "parked workers were woken for nothing, 8,600 times in a day",
}
SEEDS = sorted({*range(len(KINDS)), *FAILED})


@pytest.mark.parametrize("seed", SEEDS)
def test_run_of_a_random_model_ends_or_asks(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate_machine(monkeypatch)
    found = play(seed, tmp_path)
    assert found.faults == ()
