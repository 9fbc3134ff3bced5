"""Which model a name means to the LLM proxy."""

import pytest

from actors.broker.llm_proxy.grant_table import ProxyGrant, model_for
from agiraph.core.errors import InvalidInput
from agiraph.models.registry import load_presets

GRANT = ProxyGrant(
    entity="shop-1/ada",
    incarnation=1,
    opened_by="00",
    run_id="r",
    node_id="n",
    model="anthropic/claude-sonnet-4-6",
    models=("openai/gpt-5-mini", "text:ollama/gemma3"),
)


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("anthropic/claude-sonnet-4-6", GRANT.model),
        ("claude-sonnet-4-6", GRANT.model),
        ("claude-opus-5", GRANT.model),
        ("any", GRANT.model),
        ("gpt-5-codex", GRANT.model),
        ("unheard-of/model", GRANT.model),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        (" openai/gpt-5-mini ", "openai/gpt-5-mini"),
        ("gemma3", "text:ollama/gemma3"),
    ],
)
def test_only_granted_names_and_aliases_are_accepted(asked: str, got: str) -> None:
    assert model_for(asked, GRANT, load_presets()) == got


@pytest.mark.parametrize("asked", ["openai/gpt-5.2", "text:openai/gpt-5.2", "script/survey"])
def test_a_full_name_that_was_not_granted_is_refused(asked: str) -> None:
    with pytest.raises(InvalidInput, match="not granted to shop-1/ada"):
        model_for(asked, GRANT, load_presets())
