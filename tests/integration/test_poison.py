"""Poison: a message that ends its receiver again and again is set aside; the receiver lives on."""

import os
import signal

from tests.integration.house import House, until
from tests.integration.probe import DEAD, HEARD


def say(house: House, to: str, content: str) -> None:
    house.ask(to, "text", content=content, from_name="human")


def told(house: House, name: str, about: str) -> list[str]:
    """Return the lines of a file of the home that speak of somebody."""
    file = house.home / name
    text = file.read_text() if file.exists() else ""
    return [line for line in text.splitlines() if about in line]


def test_a_message_that_kills_three_times_is_set_aside_and_can_be_sent_back(house: House) -> None:
    house.start("poison/ada")
    house.await_row("poison/ada", state="ready")
    say(house, "poison/ada", "die")
    say(house, "poison/ada", "hello")
    until(lambda: told(house, DEAD, "poison/ada"), "the message is a dead letter")
    until(
        lambda: told(house, HEARD, "poison/ada") == ["poison/ada: hello"],
        "what came behind it is heard",
    )
    assert house.row("poison/ada")["incarnation"] == 4
    assert (
        "this text has ended poison/ada 3 times: killed by SIGSEGV"
        in told(house, DEAD, "poison/ada")[0]
    )
    house.ask("poison/ada", "control.retry")
    until(lambda: len(told(house, DEAD, "poison/ada")) == 2, "it is as bad as before")
    say(house, "poison/ada", "still here")
    until(lambda: told(house, HEARD, "poison/ada: still here"), "the receiver lives on")


def test_kills_from_outside_blame_no_message(house: House) -> None:
    house.start("poison/bob")
    for incarnation in range(1, 5):
        row = house.await_row("poison/bob", state="ready", incarnation=incarnation)
        say(house, "poison/bob", f"message {incarnation}")
        os.kill(row["pid"], signal.SIGKILL)
    house.await_row("poison/bob", state="ready", incarnation=5)
    said = {f"poison/bob: message {number}" for number in range(1, 5)}
    until(lambda: set(told(house, HEARD, "poison/bob")) == said, "every message is heard")
    assert told(house, DEAD, "poison/bob") == []
