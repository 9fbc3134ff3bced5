"""The tool of a coordinator in infinite mode: the end of a cycle."""

from typing import Any

from pydantic import Field, field_validator

from agiraph.tools.base import COORDINATORS, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext


class EndCycleParams(ToolParams):
    """Parameters of `end_cycle`."""

    notes: str = Field(
        min_length=1, description="what was done, and what the next cycle must know of it"
    )
    next_in: str | None = Field(
        default=None, description="when the next cycle begins: as 30s, 5m, 2h"
    )

    @field_validator("next_in", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Take a number of seconds, which models write too."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if is_number else value


async def end_cycle(context: ToolContext, params: EndCycleParams) -> str:
    """End the cycle and sleep; return {"cycle", "next_cycle_at"}."""
    ended = await context.team.end_cycle(context.call_id, params.notes, params.next_in)
    return as_json(ended)


END_CYCLE = Tool(
    name="end_cycle",
    description="End this cycle: leave notes for the next one, and sleep until it begins.",
    params=EndCycleParams,
    run=end_cycle,
    idempotent=True,
    kinds=COORDINATORS,
    is_essential=True,
)
