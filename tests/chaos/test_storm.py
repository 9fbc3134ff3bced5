"""A short storm: processes of every kind are killed while a team works, and nothing is lost."""

from pathlib import Path

import pytest

from cli.chaos.chaos_run import ChaosRun
from cli.chaos.schedule import hammer, strikes
from tests.scenarios.house import processes_of


@pytest.mark.slow
def test_a_storm_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    told: list[str] = []
    report = ChaosRun(tmp_path, strikes(seed=4), report=told.append).run(12)
    assert report.strikes.total() == 12
    assert report.difference.is_none, (report.difference, told)
    assert not processes_of(tmp_path)


@pytest.mark.slow
def test_services_that_are_killed_again_and_again_lose_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    report = ChaosRun(tmp_path, hammer(("broker", "clock"), 0.25), report=told.append).run(24)
    assert report.strikes.total() == 24
    assert set(report.strikes) == {"broker kill", "clock kill"}
    assert report.difference.is_none, (report.difference, told)
    assert not processes_of(tmp_path)
