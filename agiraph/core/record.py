"""Record: the frozen pydantic base of everything that crosses a boundary."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen record; unknown fields are ignored, so that newer and older code can talk."""

    model_config = ConfigDict(frozen=True, extra="ignore")
