"""A home of an older release under today's supervisor, and one with a file of a newer version."""

import json
import shutil
import sqlite3
from pathlib import Path

from agiraph.http.client import Client
from agiraph.storage.home import Home
from agiraph.storage.journal import encode_record
from tests.fakes.forked import Forked
from tests.integration.commands import DEADLINE_SECONDS, SUPERVISOR, Commands

OLD = Path(__file__).parents[1] / "fixtures" / "homes" / "0.1"


def test_a_home_of_0_1_is_served_and_one_agents_newer_file_hides_that_agent_alone(
    tmp_path: Path,
) -> None:
    shutil.copytree(OLD, tmp_path / "home")
    newer = tmp_path / "home" / "agents" / "mill-2"
    shutil.copytree(tmp_path / "home" / "agents" / "shop-1", newer)
    (newer / "agent.json").write_text('{"version": 99}')
    (newer / "events.jsonl").write_bytes(encode_record({"version": 99}))
    commands = Commands(tmp_path / "home")
    with commands.supervisor(), Client.for_home(commands.home) as client:
        assert [agent.id for agent in client.agents()] == ["shop-1"]
        events = client.events("shop-1").events
        assert [event.seq for event in events[:2]] == [1, 2]
        assert {one.id: one.answer for one in client.questions(status="answered")} == {"q1": "yes"}
        told = commands.here("events", "mill-2")
        assert told.returncode == 1
        assert told.stderr.strip().endswith("its version is 99, this one knows up to 1")
        assert f"{newer / 'agent.json'} was written by a newer Agiraph" in told.stderr
    assert (newer / "events.jsonl").read_bytes() == encode_record({"version": 99})


def test_a_home_of_0_1_is_read_without_a_supervisor_and_stays_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(OLD, home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    commands = Commands(home)
    [agent] = json.loads(commands.here("agents", "--json").stdout)
    assert agent["id"] == "shop-1"
    answered = json.loads(commands.here("questions", "--all", "--json").stdout)
    assert {one["id"]: one["answer"] for one in answered} == {"q1": "yes", "q2": None}
    assert commands.here("usage").returncode == 0
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    with sqlite3.connect(Home(home).system.usage) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    told = commands.here("usage")
    assert told.returncode == 1
    assert f"{Home(home).system.usage} was written by a newer Agiraph" in told.stderr
    assert commands.here("agents").returncode == 0


def test_a_service_that_meets_a_newer_file_says_so_once_and_the_house_gives_up(
    tmp_path: Path,
) -> None:
    shutil.copytree(OLD, tmp_path / "home")
    usage = Home(tmp_path / "home").system.usage
    with sqlite3.connect(usage) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    function, *words = SUPERVISOR
    process = Forked(
        tuple(words),
        cwd=Path.cwd(),
        env=Commands(tmp_path / "home").environ,
        program=function,
    )
    _, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 70
    assert "Traceback" not in err
    assert (
        err.strip()
        .splitlines()[-1]
        .endswith(
            f"{usage} was written by a newer Agiraph: its version is 99, this one knows up to 1)"
        )
    )
    assert err.count("child=broker incarnation=2") == 0, "it is not started again and again"
