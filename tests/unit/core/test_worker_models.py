"""The text by which a person limits the models of workers."""

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.specs import ResolvedRunSpec, RunSpec
from agiraph.core.worker_models import WorkerModels, limit_of, read_worker_models

HAIKU, SONNET = "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        (None, [HAIKU, SONNET], []),
        ("Any ", [HAIKU, SONNET], []),
        (HAIKU, [HAIKU], [SONNET, "openai/gpt-5"]),
        (f"{HAIKU}, openai/gpt-5", [HAIKU, "openai/gpt-5"], [SONNET]),
        ("anthropic", [HAIKU, SONNET], ["openai/gpt-5"]),
        ("<=2", [HAIKU, "openai/gpt-5"], []),
    ],
)
def test_text_limits_models_by_name(
    text: str | None, allowed: list[str], refused: list[str]
) -> None:
    models = read_worker_models(text)
    assert not any(map(models.why_not, allowed))
    for model in refused:
        assert models.why_not(model) == (
            f"{model}: the human chose the model of the workers "
            f"(possible: {', '.join(models.names)})"
        )


@pytest.mark.parametrize("text", ["<=2.5", "<= $2.5", "<=$2.50"])
def test_text_limits_the_price(text: str) -> None:
    assert read_worker_models(text) == WorkerModels(most_usd=2.5)


@pytest.mark.parametrize("text", ["<2", "<=", "<=cheap", "a/b,,c/d", ","])
def test_text_of_another_form_is_refused_with_the_possible_forms(text: str) -> None:
    with pytest.raises(InvalidInput, match="possible: provider/model, several with commas"):
        read_worker_models(text)


def test_any_model_is_not_a_limit() -> None:
    assert (limit_of("any"), limit_of(None), limit_of(" a/b ")) == ("", "", "a/b")


@pytest.mark.parametrize(
    ("asked", "model", "limit"),
    [
        ({}, HAIKU, HAIKU),
        ({"model": "openai/gpt-5"}, "openai/gpt-5", ""),
        ({"worker_model": "any"}, HAIKU, ""),
        ({"worker_model": f"{SONNET},{HAIKU}"}, SONNET, f"{SONNET},{HAIKU}"),
        ({"worker_model": "<=5"}, HAIKU, "<=5"),
    ],
)
def test_limit_stays_in_the_next_run_until_models_are_named(
    asked: dict[str, str], model: str, limit: str
) -> None:
    last = ResolvedRunSpec(goal="a", model=SONNET, worker_model=HAIKU, worker_models=HAIKU)
    following = last.followed_by(RunSpec(goal="b", **asked))
    assert (following.worker_model, following.worker_models) == (model, limit)
