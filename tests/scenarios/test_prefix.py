"""A loop of twenty turns: nearly all input of the model is a repetition of earlier input."""

import pytest

from tests.fakes.model_server import SeenRequest, calls
from tests.fakes.prefix import cached_share, prefix_share
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import bash, one_worker, publish, write

STEPS = 20


def loop_of(live_home: LiveHome, api: str, name: str) -> list[SeenRequest]:
    """Have a worker take STEPS turns and return the requests to its model."""
    steps = [calls(bash(f"seq {n} {n + 80}"), text=f"Step {n} of many.") for n in range(STEPS - 2)]
    steps.append(write("facts.md", "counted"))
    parts = {name: [*steps, publish("twenty turns")]}
    live_home.plays(coordinator=one_worker(name), **parts)
    live_home.complete("Take twenty turns", "--model", f"{api}/fake")
    asked = live_home.server.seen_by(name)
    assert len(asked) == STEPS
    return asked


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_nine_tenths_of_the_input_of_a_turn_is_a_cached_prefix(
    live_home: LiveHome, api: str
) -> None:
    asked = loop_of(live_home, api, f"ada-{api}")
    assert prefix_share([seen.raw for seen in asked]) >= 0.9
    if api == "anthropic":
        assert cached_share([seen.body for seen in asked]) >= 0.9
