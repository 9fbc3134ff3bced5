"""Facts about a model before the first call: its window, and whether it has tools."""

from pathlib import Path

import pytest

from agiraph.models.limits import SMALL_WINDOW, ModelLimits, limits_of
from agiraph.models.registry import UNKNOWN_WINDOW

OWN = (
    "lab: {api: openai, context: 8192, models: {writer: {tool_mode: none}, big: {context: 99999}}}"
)


@pytest.mark.parametrize(
    ("model", "limits", "is_small"),
    [
        ("lab/any", ModelLimits(8192), True),
        ("lab/big", ModelLimits(99_999), False),
        ("lab/writer", ModelLimits(8192, has_tools=False), True),
        ("text:lab/any", ModelLimits(8192), True),
        ("ollama/any", ModelLimits(UNKNOWN_WINDOW), False),
        ("local/smollm2", ModelLimits(8192, has_tools=False), True),
        ("nobody/any", ModelLimits(UNKNOWN_WINDOW), False),
    ],
)
def test_limits_of_a_model_come_from_the_tables(
    tmp_path: Path, model: str, limits: ModelLimits, is_small: bool
) -> None:
    own = tmp_path / "providers.yaml"
    own.write_text(OWN)
    assert limits_of(model, own) == limits
    assert limits.is_small == is_small


def test_window_of_the_settings_overrides_the_tables(tmp_path: Path) -> None:
    nowhere = tmp_path / "providers.yaml"
    assert limits_of("anthropic/any", nowhere, 8000).is_small
    assert not limits_of("local/smollm2", nowhere, SMALL_WINDOW + 1).is_small


def test_unreadable_table_gives_default_limits(tmp_path: Path) -> None:
    own = tmp_path / "providers.yaml"
    own.write_text("lab: 3")
    assert limits_of("lab/any", own) == ModelLimits()
