"""Record: the frozen pydantic base class of all exchanged records, and storable JSON values."""

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agiraph.core.json_text import parse_json

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
UnixTime = Annotated[float, Field(ge=0, le=253_402_300_799)]
"""Seconds since the epoch, up to the end of the year 9999."""


class Record(BaseModel):
    """A frozen record; unknown fields are ignored, so that different versions can communicate.

    The validator is built at the first use: most processes use few of the records that they import.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="ignore",
        json_schema_serialization_defaults_required=True,
        defer_build=True,
    )

    def shared_with(self, other: type["Record"]) -> dict[str, Any]:
        """Return the values of the fields that the record class `other` also has, by field name.

        None values are omitted.
        """
        return {
            name: value for name, value in self if name in other.model_fields and value is not None
        }


MISFITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), "a list"),
        **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping"),
        **dict.fromkeys(("dataclass_type", "mapping_type"), "a mapping"),
        "sequence_str": "a list, not a text",
        "string_type": "a text",
        **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
        **dict.fromkeys(("float_type", "float_parsing"), "a number"),
        "finite_number": "a finite number",
        **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
        "greater_than": "above {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than": "below {lt}",
        "less_than_equal": "at most {le}",
        "literal_error": "{expected}",
        "enum": "{expected}",
        "none_required": "empty",
    }
)
"""The expected kind of value, by pydantic's error type. pydantic's own texts contain names of its
internals, which are no help to a person."""
LENGTHS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "string_too_short": ("at least {min_length}", "character"),
        "string_too_long": ("at most {max_length}", "character"),
        "too_short": ("at least {min_length}", "entry"),
        "too_long": ("at most {max_length}", "entry"),
    }
)


def misfit_in_words(problem: Mapping[str, Any]) -> str:
    """Return a validation error as text, from an error of pydantic's ValidationError."""
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind in MISFITS:
        return f"must be {MISFITS[kind].format(**context)}"
    if kind in LENGTHS:
        bound, unit = LENGTHS[kind]
        is_one = 1 in (context.get("min_length"), context.get("max_length"))
        units = unit if is_one else {"entry": "entries"}.get(unit, f"{unit}s")
        return f"must have {bound.format(**context)} {units}"
    others = {"missing": "is missing", "extra_forbidden": "is an unknown key"}
    return others.get(kind) or str(problem["msg"]).removeprefix("Value error, ")


_unions: list[TypeAdapter[Any]] = []


def union_adapter(union: Any) -> TypeAdapter[Any]:
    """Return the validator for a union of records; pydantic builds it at its first use."""
    made = TypeAdapter[Any](union, config=ConfigDict(defer_build=True))
    _unions.append(made)
    return made


def build_records() -> None:
    """Build the validators of all imported records, embedded records first.

    The spawner calls this, so that its forked processes share them.
    """
    for record in _below(Record):
        record.model_rebuild()
    for union in _unions:
        union.rebuild()


def _below(record: type[Record]) -> Iterator[type[Record]]:
    for one in record.__subclasses__():
        yield one
        yield from _below(one)


# --- JSON that can be sent and stored ---
# Python's JSON parser accepts `NaN`, turns `1e999` into infinity, and reads integers of any size.
# Such a value cannot be written as JSON again: its record would be damaged.

NESTING: Final = 64
"""The maximum nesting of JSON from an external program. pydantic reads at most 190 levels but
writes more: a deeper record would damage its journal."""
SHOWN_CHARACTERS: Final = 40


def read_strict(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError if it cannot be stored."""
    value = parse_json(text, parse_constant=refuse_constant, parse_float=finite)
    if why := why_not_stored(value):
        raise ValueError(f"it has {why}")
    return value


def why_not_stored(value: Any) -> str:
    """Return which part of a JSON value cannot be stored or sent, '' if there is none."""
    if _is_nested_too_deep(value):
        return f"more than {NESTING} levels of lists and objects"
    return _odd_number(value)


def finite(number: str) -> float:
    """Return the number in a JSON text; raises ValueError if it is too large for a float."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:SHOWN_CHARACTERS]} is not a finite number")
    return value


def refuse_constant(constant: str) -> float:
    """Raise ValueError for NaN and Infinity, which are not valid JSON."""
    raise ValueError(f"{constant} is not JSON")


def _is_nested_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(NESTING):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _inside(one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def _odd_number(value: Any) -> str:
    """Return the kind of number in a value that cannot be stored, '' if there is none."""
    match value:
        case dict() | list():
            return next(filter(None, map(_odd_number, _inside(value))), "")
        case int() if not -(1 << 63) <= value < 1 << 64:
            return "an integer of more than 64 bits"
        case float() if not math.isfinite(value):
            return "a number that is not finite"
    return ""


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
