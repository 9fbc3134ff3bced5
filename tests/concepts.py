"""Concepts: count the names that a newcomer to the product meets.

    python -m tests.concepts

Classes are counted by the top of their family, so a record counts once wherever it is declared.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel

from agiraph.agent.records import RECORD as CONVERSATION_RECORD
from agiraph.board.events import BOARD_EVENT
from agiraph.core.event_types import EVENT_TYPES
from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.messages.body import MessageBody
from agiraph.settings.config import Config

ROOT = Path(__file__).parents[1]
PRODUCT = ("agiraph", "actors", "transport", "cli")


def counts() -> dict[str, int]:
    """Return the counts, by the name of the concept."""
    sources = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
    for package in PRODUCT:
        _import_all(importlib.import_module(package))
    api = {*_below(ApiRequest), *_below(ApiView)}
    return {
        "message types": sum("TYPE" in vars(kind) for kind in _below(MessageBody)),
        "event types": len(EVENT_TYPES),
        "API records": len(api),
        "journal records": _members(CONVERSATION_RECORD) + _members(BOARD_EVENT),
        "exceptions": sum(_is_ours(kind) for kind in {*_below(Exception)}),
        "settings": sum(1 for _ in _settings(Config)),
        "files": len(sources),
        "lines": sum(len(path.read_text().splitlines()) for path in sources),
        "public classes": sum(_public_classes(path) for path in sources),
    }


def _import_all(package: ModuleType) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _below(kind: type) -> Iterator[type]:
    below: list[type] = kind.__subclasses__()
    for one in below:
        yield one
        yield from _below(one)


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] in PRODUCT


def _members(adapter: Any) -> int:
    """Return how many records a union has."""
    union = adapter._type  # pydantic has no public name for it
    return len(get_args(get_args(union)[0]))


def _settings(section: type[BaseModel]) -> Iterator[str]:
    """Yield the name of each setting of a section and those below it."""
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (f"{name}.{below}" for below in _settings(kind))
        else:
            yield name


def _public_classes(path: Path) -> int:
    tree = ast.parse(path.read_text())
    named = (one.name for one in tree.body if isinstance(one, ast.ClassDef))
    return sum(not name.startswith("_") for name in named)


if __name__ == "__main__":
    for concept, count in counts().items():
        print(f"{concept:16}{count:>8,}")
