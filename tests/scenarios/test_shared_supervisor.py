"""Several commands on one home without a daemon: the supervisor ends with the last of them."""

import signal

from agiraph.http.discovery import is_held
from tests.scenarios.two_runs import WITHIN_SECONDS, MakeHome, two_commands


def test_first_command_that_ends_leaves_the_supervisor_to_the_second(make_home: MakeHome) -> None:
    with two_commands(make_home) as runs:
        runs.begin_second()
        said = runs.finish(runs.first, "first")
        assert "the supervisor continues: another command uses it" in said
        runs.assert_same_supervisor()
        runs.finish(runs.second, "second")


def test_second_command_continues_when_the_first_is_killed(make_home: MakeHome) -> None:
    with two_commands(make_home) as runs:
        runs.begin_second()
        runs.kill_first()
        runs.finish(runs.second, "second")
        assert not is_held(runs.make_home.home)


def test_second_command_continues_when_the_first_is_interrupted(make_home: MakeHome) -> None:
    with two_commands(make_home) as runs:
        runs.begin_second()
        runs.first.send_signal(signal.SIGINT)
        _, err = runs.first.communicate(WITHIN_SECONDS)
        assert runs.first.wait() == 130, err
        runs.assert_same_supervisor()
        runs.finish(runs.second, "second")


def test_command_that_joins_and_ends_does_not_stop_the_supervisor(make_home: MakeHome) -> None:
    with two_commands(make_home) as runs:
        runs.begin_second()
        said = runs.finish(runs.second, "second")
        assert "supervisor continues" not in said
        runs.assert_same_supervisor()
        states = {row["address"]: row["state"] for row in runs.json("ps")}
        assert [state for address, state in states.items() if "second" in address] == ["stopped"]
        runs.finish(runs.first, "first")
