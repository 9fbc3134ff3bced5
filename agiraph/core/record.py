"""Record: the frozen pydantic base of everything that crosses a boundary."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, TypeAdapter


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
