"""A launch and the names of things at a process's birth."""

import os
from pathlib import Path

import pytest

from actors.runtime.child import framed_launch, read_launch, title_of
from actors.runtime.kinds import KINDS, entry_named, resolve
from actors.runtime.launch import ActorLaunch
from agiraph.core.errors import InvalidInput
from agiraph.storage.home import Home

LAUNCH = ActorLaunch(
    address="shop/ada-1",
    kind="worker",
    incarnation=3,
    ticket=b"\x00\xffsecret",
    router_url="ipc:///x",
    home=Path("/home/é"),
    args={"key": b"\xff", "list": [1, None]},
    config={"a": {"b": 1.5}},
)


def test_a_launch_survives_its_journey() -> None:
    assert ActorLaunch.unpack(LAUNCH.pack()) == LAUNCH


def test_a_launch_is_read_from_a_pipe_with_the_supervisors_pid() -> None:
    read, write = os.pipe()
    os.write(write, framed_launch(LAUNCH, 4711))
    assert read_launch(read) == (4711, LAUNCH)
    os.close(read)
    os.close(write)


def test_a_launch_does_not_show_its_secrets() -> None:
    assert "secret" not in repr(LAUNCH)
    assert "args" not in repr(LAUNCH)


@pytest.mark.parametrize(
    ("kind", "address", "title"),
    [
        ("router", "router", "agiraph: router"),
        ("coordinator", "shop-1/coordinator", "agiraph: coordinator shop-1"),
        ("worker", "shop-1/ada-2", "agiraph: worker ada-2"),
    ],
)
def test_title_names_the_kind_and_address_of_a_process(kind: str, address: str, title: str) -> None:
    assert title_of(kind, address) == title


def test_logs_are_named_by_address() -> None:
    assert Home(Path("/h")).system.errors("shop/ada") == Path("/h/system/logs/shop.ada.log")


def test_unknown_kind_of_process_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"unknown kind of process 'x' \(known: broker, clock, "):
        entry_named("x")
    assert entry_named("router") == KINDS["router"]


def test_an_entry_is_found_by_its_name() -> None:
    assert resolve("actors.runtime.child:title_of").__name__ == "title_of"
