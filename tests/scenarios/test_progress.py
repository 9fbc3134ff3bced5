"""A run that stands still is noticed: its coordinator is notified, and then it fails."""

from tests.fakes.model_server import calls, say
from tests.scenarios.place import Place
from tests.scenarios.steps import WAIT, node, spawn


def test_a_team_of_which_everybody_waits_ends_as_failed(place: Place) -> None:
    place.plays(
        coordinator=lambda seen: (
            calls(spawn("ada"), spawn("bob"), node("a", "ada"), node("b", "bob"))
            if seen.step == 0
            else say("Waiting.")
        ),
        ada=lambda seen: WAIT,
        bob=lambda seen: WAIT,
    )
    agent = place.begin("all-wait")
    place.await_end(agent, "failed")
