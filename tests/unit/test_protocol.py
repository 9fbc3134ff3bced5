"""docs/protocol.md agrees with agiraph.messages."""

import inspect
import re
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agiraph.messages.authorization import MESSAGES
from transport import envelope, protocol
from transport.errors import NackReason

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
PREFIX = re.compile(r"^### `(\w+)\.?`", re.MULTILINE)


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each table of the page by the first cell of its head."""
    found: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    is_in_table = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            is_in_table = False
        elif not is_in_table:
            is_in_table, rows = True, found.setdefault(f"{cells[0]}/{len(cells)}", [])
        elif not line.startswith("| ---"):
            rows.append(cells)
    return found


def names(cell: str) -> list[str]:
    """Return the field names of a cell: its words in back quotes."""
    return re.findall(r"`(\w+)`", cell)


def records_in(model: type[BaseModel]) -> set[type[BaseModel]]:
    """Return all records that travel inside a record."""
    found: set[type[BaseModel]] = set()

    def look(annotation: Any) -> None:
        for argument in typing.get_args(annotation):
            look(argument)
        is_record = inspect.isclass(annotation) and issubclass(annotation, BaseModel)
        if is_record and annotation not in found:
            found.add(annotation)
            for hint in typing.get_type_hints(annotation, include_extras=True).values():
                look(hint)

    for hint in typing.get_type_hints(model, include_extras=True).values():
        look(hint)
    return found


def test_every_message_is_there_with_its_fields_and_class() -> None:
    told = {row[0].strip("`"): (row[2], sorted(names(row[4]))) for row in tables()["type/5"]}
    real = {
        message.TYPE: ("durable" if message.DURABLE else "passing", sorted(message.model_fields))
        for message in MESSAGES
    }
    assert told == real


def test_every_message_names_its_senders_and_answers() -> None:
    types = {message.TYPE for message in MESSAGES}
    for name, way, _, answer, _ in tables()["type/5"]:
        assert "→" in way, name
        assert set(re.findall(r"`([\w.]+)`", answer)) <= types, name
        assert re.search(rf"^- {re.escape(name)}: .", PAGE.read_text(), re.MULTILINE), name


def test_messages_are_grouped_by_their_prefix() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for part in PREFIX.split(text)[1:]:
        assert part
    prefixes = PREFIX.findall(text)
    assert prefixes == list(dict.fromkeys(m.TYPE.partition(".")[0] for m in MESSAGES))


def test_every_record_inside_a_message_is_there_with_its_fields() -> None:
    told = {row[0].strip("`"): sorted(names(row[1])) for row in tables()["record/2"]}
    real = {
        record.__name__: sorted(record.model_fields)
        for message in MESSAGES
        for record in records_in(message)
    }
    assert told == real


def test_the_envelope_is_the_one_of_the_transport() -> None:
    told = [row[0].strip("`") for row in tables()["field/3"]]
    assert told == list(envelope.Header.__dataclass_fields__)


def test_link_messages_and_refusals_match_the_transport() -> None:
    told = {row[0].strip("`") for row in tables()["type/3"]}
    spoken = {
        value
        for value in vars(protocol).values()
        if isinstance(value, str) and value.startswith("link.") and value != protocol.LINK_PREFIX
    }
    assert told == spoken
    reasons = {row[0].strip("`") for row in tables()["reason/2"]}
    assert reasons == set(typing.get_args(NackReason))
