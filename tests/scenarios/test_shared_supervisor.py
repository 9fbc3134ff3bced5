"""Several commands on one home without a daemon: the supervisor ends with the last of them."""

import signal

from agiraph.http.discovery import is_held
from tests.scenarios.two_runs import WITHIN_SECONDS, MakeHome, two


def test_first_command_that_ends_leaves_the_supervisor_to_the_second(make_home: MakeHome) -> None:
    with two(make_home) as both:
        both.begin_second()
        said = both.finish(both.first, "first")
        assert "the supervisor continues: another command uses it" in said
        both.assert_same_supervisor()
        both.finish(both.second, "second")


def test_second_command_continues_when_the_first_is_killed(make_home: MakeHome) -> None:
    with two(make_home) as both:
        both.begin_second()
        both.kill_first()
        both.finish(both.second, "second")
        assert not is_held(both.make_home.home)


def test_second_command_continues_when_the_first_is_interrupted(make_home: MakeHome) -> None:
    with two(make_home) as both:
        both.begin_second()
        both.first.send_signal(signal.SIGINT)
        _, err = both.first.communicate(WITHIN_SECONDS)
        assert both.first.wait() == 130, err
        both.assert_same_supervisor()
        both.finish(both.second, "second")


def test_command_that_joins_and_ends_does_not_stop_the_supervisor(make_home: MakeHome) -> None:
    with two(make_home) as both:
        both.begin_second()
        said = both.finish(both.second, "second")
        assert "supervisor continues" not in said
        both.assert_same_supervisor()
        states = {row["address"]: row["state"] for row in both.json("ps")}
        assert [state for address, state in states.items() if "second" in address] == ["stopped"]
        both.finish(both.first, "first")
