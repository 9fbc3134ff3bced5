"""ModelLimits: the known limits of a model before it is called: its window, its tool support.

A model with a small window is given short prompts: its tools by name and one line each, and their
runbooks on demand. A model without tools can only write: its answer is the result.
"""

from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.models.registry import UNKNOWN_WINDOW, load_presets, parse_model

SMALL_WINDOW = 16_384
"""With fewer tokens the long prompts and runbooks would leave too little room for the work."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """How many tokens a model's window has, and whether it can call tools."""

    window: int = UNKNOWN_WINDOW
    has_tools: bool = True

    @property
    def is_small(self) -> bool:
        """Whether the window is so small that the model needs short prompts."""
        return self.window <= SMALL_WINDOW


def limits_of(model: str, own: Path, context_tokens: int | None = None) -> ModelLimits:
    """Return the limits of `model`; `own` is the person's table of providers.

    `context_tokens` overrides the window. An unknown model gets the usual limits: the broker
    reports the error in the name, or in the table, when the model is called.
    """
    try:
        presets = load_presets(own)
        name = parse_model(model, presets)
    except InvalidInput:
        return ModelLimits(context_tokens or UNKNOWN_WINDOW)
    preset = presets[name.provider]
    has_tools = preset.of(name.name).tool_mode != "none"
    return ModelLimits(context_tokens or preset.window(name.name), has_tools)
