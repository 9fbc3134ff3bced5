"""The last word of each entity."""

from actors.human.statuses import Statuses
from agiraph.messages import Status


def test_the_latest_word_wins_and_an_older_incarnation_is_not_believed() -> None:
    statuses = Statuses()
    statuses.hear("a/w", 2, Status(state="busy", step="one"))
    statuses.hear("a/w", 2, Status(state="busy", step="two"))
    statuses.hear("a/w", 1, Status(state="idle", step="ghost"))
    assert statuses.step_of("a/w") == "two"
    assert statuses.of("a/w", 3) is None
    assert statuses.step_of("a/other") == ""
