"""A short storm: processes of every kind are killed while a team works, and nothing is lost."""

from pathlib import Path

import pytest

from actors.chaos.storm import Storm
from tests.scenarios.house import processes_of


@pytest.mark.slow
def test_a_storm_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    told: list[str] = []
    report = Storm(tmp_path, seed=4, tell=told.append).run(12)
    assert report.strikes.total() == 12
    assert report.difference.is_none, (report.difference, told)
    assert not processes_of(tmp_path)
