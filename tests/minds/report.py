"""The report of an examination: turns, tokens and lost turns of each entity, from its files."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

BYTES_A_TOKEN: Final = 4
"""A rough measure, the same before and after."""


@dataclass
class Played:
    """The turns of one entity; `lost` are the reasons for turns that were lost to the product."""

    turns: int = 0
    input_bytes: int = 0
    first_bytes: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)


def played(folder: Path) -> dict[str, Played]:
    """Return the turns of each entity whose requests were answered in this folder."""
    entities: dict[str, Played] = {}
    for file in sorted(folder.glob("*.answer.yaml")):
        name = file.name.removesuffix(".answer.yaml")
        entity = entities.setdefault(name.rpartition("-")[0], Played())
        body = json.loads((folder / f"{name}.json").read_text("utf-8"))
        size = len(json.dumps(body, ensure_ascii=False).encode())
        entity.turns += 1
        entity.input_bytes += size
        entity.first_bytes = entity.first_bytes or size
        try:
            answer = yaml.safe_load(file.read_text("utf-8")) or {}
        except yaml.YAMLError:
            continue
        entity.tools.update(one.get("name", "") for one in answer.get("calls") or ())
        entity.lost += [str(answer["lost"])] if answer.get("lost") else []
    return entities


def table(folder: Path) -> Iterator[str]:
    """Yield the lines of the report."""
    entities = played(folder)
    yield f"{'entity':20} {'turns':>5} {'lost':>4} {'first KB':>8} {'input tokens':>12}  tools"
    for name, one in sorted(entities.items()):
        tools = ", ".join(f"{tool} {count}" for tool, count in one.tools.most_common())
        tokens = one.input_bytes // BYTES_A_TOKEN
        yield (
            f"{name:20} {one.turns:5} {len(one.lost):4} {one.first_bytes / 1000:8.1f} "
            f"{tokens:12,}  {tools}"
        )
    every = [*entities.values()]
    turns, lost = sum(one.turns for one in every), sum(len(one.lost) for one in every)
    tokens = sum(one.input_bytes for one in every) // BYTES_A_TOKEN
    yield f"{'all':20} {turns:5} {lost:4} {'':8} {tokens:12,}"
    for name, one in sorted(entities.items()):
        yield from (f"lost by {name}: {reason}" for reason in one.lost)
