"""Poison: a message that ends its receiver again and again is set aside; the receiver lives on."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.integration.house import House, running, until
from tests.integration.probe import DEAD, HEARD


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with running(tmp_path_factory.mktemp("home")) as house:
        yield house


def say(house: House, content: str) -> None:
    house.ask("shop/ada", "text", content=content, from_name="human")


def lines(house: House, name: str) -> list[str]:
    file = house.home / name
    return file.read_text().splitlines() if file.exists() else []


def test_a_message_that_kills_three_times_is_set_aside_and_can_be_sent_back(house: House) -> None:
    house.start("shop/ada")
    house.await_row("shop/ada", state="ready")
    say(house, "die")
    say(house, "hello")
    until(lambda: lines(house, DEAD), "the message is a dead letter")
    until(lambda: lines(house, HEARD) == ["hello"], "what came behind it is heard")
    assert house.row("shop/ada")["incarnation"] == 4
    assert "this text has ended shop/ada 3 times: killed by SIGSEGV" in lines(house, DEAD)[0]
    house.ask("shop/ada", "control.retry")
    until(lambda: len(lines(house, DEAD)) == 2, "it is as bad as before")
    say(house, "still here")
    until(lambda: lines(house, HEARD) == ["hello", "still here"], "the receiver lives on")


def test_kills_from_outside_blame_no_message(house: House) -> None:
    house.start("shop/ada")
    for incarnation in range(1, 5):
        row = house.await_row("shop/ada", state="ready", incarnation=incarnation)
        say(house, f"message {incarnation}")
        os.kill(row["pid"], signal.SIGKILL)
    house.await_row("shop/ada", state="ready", incarnation=5)
    said = {f"message {number}" for number in range(1, 5)}
    until(lambda: set(lines(house, HEARD)) == said, "every message is heard")
    assert lines(house, DEAD) == []
