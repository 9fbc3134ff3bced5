"""--home, --json, -q and -v, before the command or after it; short options mean one thing."""

from collections.abc import Iterator
from typing import Final

import click
import pytest

from cli.main import agiraph
from cli.options.everywhere import group_options
from tests.unit.cli.fakes import FakeClient, command, json_of, summary

HOME: Final = ("--home", "/tmp/named")
SHORT: Final = {
    "--model": "-m",
    "--budget": "-b",
    "--name": "-n",
    "--input": "-i",
    "--output": "-o",
    "--detach": "-d",
    "--follow": "-f",
    "--yes": "-y",
    "--all": "-a",
    "--quiet": "-q",
    "--verbose": "-v",
    "--help": "-h",
}
ELSEWHERE: Final = (("logs", "-n"), ("rm", "-f"), ("delete", "-f"))
"""As in `tail` and `journalctl`, the number of lines; as in `rm`, by force."""


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield " ".join((*path, name)), found
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((*HOME, "agents"), ("agents", *HOME)),
        ((*HOME, "dead", "retry", "d-1"), ("dead", "retry", "d-1", *HOME)),
        (("dead", *HOME, "retry", "d-1"), ("dead", "retry", *HOME, "d-1")),
        ((*HOME, "triggers", "a"), ("triggers", *HOME, "a", "list")),
        ((*HOME, "triggers", "a"), ("triggers", "a", *HOME)),
        ((*HOME, "run", "x", "-d"), ("run", "x", "-d", *HOME)),
    ],
    ids=str,
)
def test_home_option_may_precede_or_follow_the_command(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    for words in (before, after):
        told = command(None, *words)
        assert (told.exit_code, "home /tmp/named" in told.stderr) == (4, True)


def test_home_option_after_the_command_overrides_the_one_before() -> None:
    assert "home /tmp/named" in command(None, "--home", "/tmp/other", "agents", *HOME).stderr


def test_json_option_may_precede_or_follow_the_command() -> None:
    before = command(FakeClient(), "--json", "show", "survey")
    assert json_of(before) == json_of(command(FakeClient(), "show", "survey", "--json"))


@pytest.mark.parametrize("words", [("--json", "console"), ("console", "--json")], ids=" ".join)
def test_command_without_json_output_reports_it(words: tuple[str, ...]) -> None:
    told = command(FakeClient(), *words)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.endswith("agiraph: 'agiraph console' has no --json\n")


def test_every_command_takes_the_common_options() -> None:
    shared = {option.name for option in group_options()}
    for name, found in commands(agiraph):
        missing = shared - {parameter.name for parameter in found.params}
        assert not missing, name


def test_short_option_has_one_meaning_in_every_command() -> None:
    long = {short: name for name, short in SHORT.items()}
    for name, found in commands(agiraph):
        for option in found.get_params(click.Context(found, help_option_names=["-h", "--help"])):
            names = [*option.opts, *option.secondary_opts]
            for one in names:
                wanted = SHORT.get(one)
                assert wanted is None or wanted in names, f"{name} {one}: add {wanted}"
                if len(one) == 2 and one.startswith("-") and (name, one) not in ELSEWHERE:
                    assert long.get(one) in names, f"{name} {one}: means {long.get(one)}"


def test_a_length_of_time_is_never_a_bare_number() -> None:
    numbers = (click.FloatRange, click.types.FloatParamType)
    found = {
        f"{name} {option.opts[0]}"
        for name, one in commands(agiraph)
        for option in one.params
        if isinstance(option.type, numbers)
    }
    assert found == {"chaos --noise", "knowledge prune --below", "tokens add --rate"}


# --- how much is said ----------------------------------------------------------------------------


def test_quiet_hides_notes_and_keeps_the_result() -> None:
    assert command(FakeClient(), "questions").stderr == "no open questions\n"
    for words in (("-q", "questions"), ("questions", "--quiet")):
        told = command(FakeClient(), *words)
        assert (told.exit_code, told.stdout, told.stderr) == (0, "", "")


def test_quiet_run_prints_its_result_and_the_reason_of_a_failure() -> None:
    client = FakeClient(files={"_output.md": b"three tables"})
    client.script.append(client.end("completed"))
    told = command(client, "run", "-q", "Survey")
    assert (told.stdout, told.stderr) == ("three tables\n", "")
    client = FakeClient(record=summary(name="survey"))
    client.script.append(client.end("failed"))
    assert command(client, "-q", "run", "Survey").stderr == "survey failed\n"


def test_verbose_shows_the_traceback_of_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient()
    monkeypatch.setattr(client, "agents", lambda **_: 1 / 0)
    assert "-v shows where" in command(client, "agents").stderr
    assert "Traceback" in command(client, "-v", "agents").stderr
    assert "Traceback" not in command(client, "-v", "show", "nobody").stderr
