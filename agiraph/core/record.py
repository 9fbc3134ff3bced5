"""Record: the frozen pydantic base of everything that crosses a boundary."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen record; unknown fields are ignored, so that newer and older code can talk."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", json_schema_serialization_defaults_required=True
    )

    def shared_with(self, other: type["Record"]) -> dict[str, Any]:
        """Return the values of the fields that `other` has too, those that are None left out."""
        return {
            name: value for name, value in self if name in other.model_fields and value is not None
        }
