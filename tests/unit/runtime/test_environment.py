"""The environment variables of each kind of process."""

import os
from pathlib import Path

import pytest

from actors.runtime.environment import addresses_in, environment_for, secret_names
from actors.supervisor.processes.launcher import further_variables
from agiraph.api.doctor import ELSEWHERE, _environment
from agiraph.storage.home import Home
from agiraph.storage.supervisor_note import write_note
from tests.fakes.launches import launch_of

ENVIRON = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "AGIRAPH_HOME": "/h",
    "AGIRAPH_API_TOKEN": "t",
    "ANTHROPIC_API_KEY": "k",
    "GOOGLE_API_KEY": "g",
    "OPENAI_BASE_URL": "http://x",
    "BRAVE_API_KEY": "b",
    "HTTPS_PROXY": "http://user:secret@proxy",
    "https_proxy": "http://user:secret@proxy",
    "AWS_SECRET_ACCESS_KEY": "s",
    "DATABASE_PASSWORD": "p",
    "LD_PRELOAD": "/x.so",
}
KEYS = {"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL"}
PROXIES = {"HTTPS_PROXY", "https_proxy"}
PLAIN = {"PATH", "LC_ALL", "AGIRAPH_HOME"}


def test_only_the_broker_sees_keys_and_addresses_of_providers() -> None:
    assert set(environment_for("broker", ENVIRON)) == PLAIN | KEYS | PROXIES
    for kind in ("worker", "coordinator", "human", "router", "recorder", "spawner"):
        assert set(environment_for(kind, ENVIRON)) == PLAIN


def test_only_the_web_process_sees_keys_of_search_services_and_no_other() -> None:
    assert set(environment_for("web", ENVIRON)) == PLAIN | PROXIES | {"BRAVE_API_KEY"}


def test_names_of_set_secrets_are_listed() -> None:
    assert secret_names(ENVIRON | {"EMPTY_API_KEY": ""}) == (
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "BRAVE_API_KEY",
        "DATABASE_PASSWORD",
        "GOOGLE_API_KEY",
    )


def test_doctor_of_the_gateway_checks_the_addresses_of_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    home.system.path.mkdir()
    home.system.lock.write_text(str(os.getpid()))
    environ = ENVIRON | {"FARM_BASE_URL": "http://me:secret@farm:1/v1", "EMPTY_BASE_URL": ""}
    write_note(
        home,
        1.0,
        ends_with_command=False,
        belongs_to_users=False,
        variables=secret_names(environ),
        addresses=addresses_in(environ),
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://ours")
    seen = _environment(tmp_path)
    assert "secret" not in home.system.note.read_text()
    assert (seen["ANTHROPIC_API_KEY"], seen["OPENAI_BASE_URL"]) == (ELSEWHERE, "http://ours")
    assert (seen["FARM_BASE_URL"], seen.get("EMPTY_BASE_URL")) == ("http://farm:1/v1", None)


def test_values_are_handed_on_unchanged() -> None:
    assert environment_for("worker", ENVIRON)["PATH"] == "/bin"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("broker", KEYS | PROXIES),
        ("web", {"BRAVE_API_KEY"} | PROXIES),
        ("worker", set()),
        ("coordinator", set()),
        ("recorder", set()),
    ],
)
def test_further_variables_follow_from_the_kind_of_process(kind: str, names: set[str]) -> None:
    assert further_variables(launch_of(Path("/"), kind), ENVIRON) == names
