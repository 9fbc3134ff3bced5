"""The models and external agents that a coordinator's prompt lists."""

from actors.coordinator.prompt_facts import AvailableAgent, usable_models
from agiraph.agent.prompts import node_limits, system_prompt
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.core.turns import JsonObject
from agiraph.llm.recording.request_matching import SYSTEM, RequestPart
from agiraph.models.prices import catalog, load_prices
from agiraph.models.registry import load_presets
from agiraph.settings.config import load_config

HEADING = "## Models and external agents"


def models(*own: str, **environ: str) -> tuple[JsonObject, ...]:
    return usable_models(catalog(load_presets(), environ, load_prices()), own)


def prompt(
    rows: tuple[JsonObject, ...] = (),
    agents: tuple[AvailableAgent, ...] = (),
    guidance: str = "",
) -> str:
    agent = Agent(
        id=AgentId("a-1"),
        name="a",
        goal="Count",
        model="anthropic/claude-sonnet-4-6",
        worker_model="anthropic/claude-haiku-4-5",
        created_at=1.0,
        updated_at=1.0,
    )
    return system_prompt(
        "coordinator",
        agent=agent,
        input_dir=None,
        soul="calm",
        goal="Count",
        memory="",
        skills="",
        guidance=guidance,
        today="2026-11-22",
        max_concurrent=3,
        limits=node_limits(load_config().run),
        models=rows,
        agents=agents,
        notes="",
    )


def test_a_model_is_listed_with_its_strength_vision_window_and_price() -> None:
    rows = {row["name"]: row for row in models(ANTHROPIC_API_KEY="k")}
    assert rows["anthropic/claude-opus-4-6"] == {
        "name": "anthropic/claude-opus-4-6",
        "strength": "strong",
        "vision": True,
        "context": 200_000,
        "input": 5.0,
        "output": 25.0,
    }
    assert rows["anthropic/claude-haiku-4-5"]["strength"] == "light"
    line = "| anthropic/claude-haiku-4-5 | light | yes | 200000 | 1.0 / 5.0 |"
    assert line in prompt(tuple(rows.values()))


def test_only_usable_models_are_listed_with_those_of_the_run_first() -> None:
    assert models() == ()
    names = [
        row["name"]
        for row in models("openai/gpt-5-mini", ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    ]
    assert names[0] == "openai/gpt-5-mini"
    assert {name.partition("/")[0] for name in names} == {"anthropic", "openai"}


def test_local_model_is_listed_if_the_run_uses_it() -> None:
    [row] = models("ollama/llama3.1")
    assert (row["name"], row["input"], row["output"]) == ("ollama/llama3.1", 0, 0)


def test_external_agents_are_listed_by_the_name_that_a_worker_is_created_with() -> None:
    text = prompt(agents=(AvailableAgent(name="codex", about="OpenAI's coding agent"),))
    assert HEADING in text
    assert "- `codex`: OpenAI's coding agent" in text


def test_a_prompt_lists_nothing_where_there_is_nothing_to_choose() -> None:
    assert HEADING not in prompt()


def test_replay_compares_prompts_without_models_and_machine() -> None:
    rows = models("openai/gpt-5-mini", ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    machine = "### This machine\n\n- Network: no.\n\n### bash\n\nRun shell commands."
    shown = [
        RequestPart(SYSTEM, text).compared
        for text in (
            prompt(rows, guidance=machine),
            prompt(guidance="### bash\n\nRun shell commands."),
        )
    ]
    assert shown[0] == shown[1]
    assert "Run shell commands." in shown[0]
