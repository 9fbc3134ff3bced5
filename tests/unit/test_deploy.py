"""deploy/: its commands exist, and its scripts join a home once."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agiraph.settings.config import load_config
from tests.unit.test_shown_commands import parse, parsing_alone

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = ("serve-home", "join-home")
LINE = "agiraph-invitation:1:abc"

__all__ = ["parsing_alone"]  # a fixture of every test here


def documents() -> list[Any]:
    """Return every document of compose and of Kubernetes."""
    files = [DEPLOY / "compose.yaml", *sorted(DEPLOY.glob("kubernetes*/*.yaml"))]
    return [found for file in files for found in yaml.safe_load_all(file.read_text("utf-8"))]


def strings_at(value: Any, *keys: str) -> Iterator[list[str]]:
    """Yield the lists of words under any of these keys, wherever they are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and isinstance(inner, list) and all(isinstance(w, str) for w in inner):
                yield inner
            yield from strings_at(inner, *keys)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_at(inner, *keys)


def test_every_command_of_a_container_is_one() -> None:
    found = list(strings_at(documents(), "command", "args"))
    assert len(found) > 8
    for words in found:
        if words[0] in SCRIPTS:
            assert words[1:] in ([], ["--only"], ["--config", "/etc/agiraph/agiraph.yaml"])
        else:
            parse(words)


def test_every_command_of_the_scripts_is_one() -> None:
    for script in SCRIPTS:
        text = (
            (DEPLOY / script)
            .read_text("utf-8")
            .replace(' "$@"', "")
            .replace("${line##* }", "$line")
        )
        subprocess.run(["sh", "-n", DEPLOY / script], check=True)
        commands = [line for part in text.splitlines() if (line := _command_in(part))]
        assert len(commands) >= 2
        for line in commands:
            parse(shlex.split(line))


def _command_in(line: str) -> str:
    before, mark, rest = line.partition("agiraph")
    if not mark or before.lstrip().startswith("#") or "/" in before or rest[:1] not in (" ", "-"):
        return ""
    return (
        (mark + rest)
        .partition(" >")[0]
        .partition(" |")[0]
        .partition(" &")[0]
        .partition(";")[0]
        .rstrip(")")
    )


def test_the_settings_of_the_deployments_are_settings(tmp_path: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    own = tmp_path / "agiraph.yaml"
    own.write_text(compose["configs"]["settings"]["content"])
    for file in (own, *DEPLOY.glob("kubernetes*/agiraph.yaml")):
        config = load_config(file)
        assert config.http.why_refused() is None
        assert config.hosts.advertise.endswith(":7400")


def test_a_home_is_joined_once_by_an_invitation_that_others_cannot_read(tmp_path: Path) -> None:
    programs, invitations = tmp_path / "bin", tmp_path / "invitations"
    programs.mkdir()
    invitations.mkdir()
    did = tmp_path / "did"
    stub = f"""#!/bin/sh
echo "$(basename "$0") $*" >>{did}
case "$2" in
invite) echo "agiraph host join {LINE}" ;;
list) echo '[{{"name": "east"}}]' ;;
join) mkdir -p "$AGIRAPH_HOST_FOLDER" && touch "$AGIRAPH_HOST_FOLDER/host.json" ;;
esac
"""
    for name in ("agiraph", "agiraph-supervisor"):
        (programs / name).write_text(stub)
        (programs / name).chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    environ |= {"AGIRAPH_INVITE": "north east", "AGIRAPH_HOST_FOLDER": str(tmp_path / "host")}
    script = tmp_path / "serve-home"
    script.write_text((DEPLOY / "serve-home").read_text().replace("/invitations", str(invitations)))
    subprocess.run(["sh", script, "--config", "x"], env=environ, check=True, capture_output=True)
    (made,) = invitations.iterdir()
    assert (made.name, made.read_text(), stat.S_IMODE(made.stat().st_mode)) == (
        "north",
        f"{LINE}\n",
        0o600,
    )
    for _ in range(2):
        joins = environ | {"AGIRAPH_INVITATION": str(made)}
        subprocess.run(["sh", DEPLOY / "join-home"], env=joins, check=True, capture_output=True)
    calls = did.read_text().splitlines()
    assert calls.count(f"agiraph host join --no-run {LINE}") == 1
    assert sum(call == "agiraph host run" for call in calls) == 2


@pytest.mark.parametrize("name", ["home.yaml", "hosts.yaml"])
def test_pods_have_minimal_rights(name: str) -> None:
    text = (DEPLOY / "kubernetes" / name).read_text("utf-8")
    workloads = [one for one in yaml.safe_load_all(text) if "template" in one.get("spec", {})]
    for workload in workloads:
        pod = workload["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
