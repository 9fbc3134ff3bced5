"""Record: the frozen pydantic base of everything that crosses a boundary."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
UnixTime = Annotated[float, Field(ge=0, le=253_402_300_799)]
"""Seconds since the epoch, up to the end of the year 9999."""


class Record(BaseModel):
    """A frozen record; unknown fields are ignored, so that newer and older code can talk.

    What validates it is built when it is first used: most processes use few of the records that
    they import.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="ignore",
        json_schema_serialization_defaults_required=True,
        defer_build=True,
    )

    def shared_with(self, other: type["Record"]) -> dict[str, Any]:
        """Return the values of the fields that `other` has too, those that are None left out."""
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
"""The required kind of value, by pydantic's type of error; its own texts name its internals."""
LENGTHS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "string_too_short": ("at least {min_length}", "character"),
        "string_too_long": ("at most {max_length}", "character"),
        "too_short": ("at least {min_length}", "entry"),
        "too_long": ("at most {max_length}", "entry"),
    }
)


def misfit_in_words(problem: Mapping[str, Any]) -> str:
    """Return the fault of a value in words, from an error of pydantic's ValidationError."""
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
    """Return what validates a union of records; it is built when it is first used."""
    made = TypeAdapter[Any](union, config=ConfigDict(defer_build=True))
    _unions.append(made)
    return made


def build_records() -> None:
    """Build what validates the records that are imported, those that others embed first."""
    for record in _below(Record):
        record.model_rebuild()
    for union in _unions:
        union.rebuild()


def _below(record: type[Record]) -> Iterator[type[Record]]:
    for one in record.__subclasses__():
        yield one
        yield from _below(one)
