"""A team in a storm of 429s, on a budget that is too short: no node fails, no call is unpaid for.

`python -m benchmarks storm` has fifty workers do the same.
"""

from tests.scenarios.place import Place
from tests.scenarios.storm import weather

WORKERS = 12
TOKENS = 150_000


def test_a_team_in_a_storm_fails_nobody_and_keeps_its_budget_to_the_call(
    drowsy_place: Place,
) -> None:
    assert weather(drowsy_place, "stormy", WORKERS, TOKENS).faults() == []
