"""Providers by name: known, usable, and the default."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.models.registry import check_folder, load_presets, parse_model, pick_default, usable
from agiraph.settings.config import Config, load_config


@pytest.fixture
def config() -> Config:
    return load_config()


def with_default(config: Config, model: str) -> Config:
    models = config.models.model_copy(update={"default": model})
    return config.model_copy(update={"models": models})


def test_the_shipped_presets_are_whole() -> None:
    presets = load_presets()
    assert {"anthropic", "openai", "openrouter", "moonshot", "minimax"} < set(presets)
    assert {"ollama", "llamacpp", "localai", "script"} < set(presets)
    for name, preset in presets.items():
        has_place = preset.base_url or preset.base_url_env
        assert preset.api in ("script", "local", "replay") or has_place, name
        assert preset.local or preset.key_env, name
        assert preset.default_model or preset.local or not preset.base_url, name


def test_first_set_key_variable_counts() -> None:
    google = load_presets()["google"]
    assert google.key({"GEMINI_API_KEY": "gemini", "GOOGLE_API_KEY": "google"}) == "google"
    environ = {"GEMINI_API_KEY": "gemini", "GOOGLE_API_KEY": ""}
    assert google.key(environ) == "gemini"
    reasons = {row["name"]: row["reason"] for row in usable({"google": google}, environ)}
    assert reasons == {"google": "GEMINI_API_KEY is set"}
    model, _ = pick_default(load_config(), load_presets(), {"GOOGLE_API_KEY": "k"})
    assert model is not None
    assert model.startswith("google/gemini")


def test_a_model_is_a_provider_and_a_name_that_may_have_slashes() -> None:
    name = parse_model("openrouter/anthropic/claude-sonnet-4.5", load_presets())
    assert (name.provider, name.name) == ("openrouter", "anthropic/claude-sonnet-4.5")
    assert str(name) == "openrouter/anthropic/claude-sonnet-4.5"


def test_a_provider_alone_means_its_default_model() -> None:
    assert str(parse_model("script", load_presets())) == "script/survey"


@pytest.mark.parametrize("text", ["anthropic/", "text:anthropic/", " anthropic/ "])
def test_an_empty_name_is_not_the_default_model(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"which one.*anthropic alone for anthropic/claude"):
        parse_model(text, load_presets())


@pytest.mark.parametrize("model", ["script/survey", "script", "text:script/survey"])
def test_a_survey_needs_a_folder(model: str) -> None:
    check_folder(model, "/data")
    check_folder("script/chaos", None)
    with pytest.raises(InvalidInput, match="surveys a folder, and none is named"):
        check_folder(model, None)


def test_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        InvalidInput, match=r"unknown provider 'gogle', did you mean 'google'.*anthropic.*more"
    ):
        parse_model("gogle/gemini", load_presets())


def test_own_provider_comes_from_the_home(tmp_path: Path) -> None:
    own = tmp_path / "providers.yaml"
    own.write_text(
        "lab: {api: openai, base_url: 'http://10.0.0.5/v1', local: true}\n"
        "anthropic: {default_model: claude-haiku-4-5}\n"
    )
    presets = load_presets(own)
    assert presets["lab"].url({}) == "http://10.0.0.5/v1"
    assert presets["anthropic"].default_model == "claude-haiku-4-5"
    assert presets["anthropic"].key_env == "ANTHROPIC_API_KEY"
    with pytest.raises(InvalidInput, match="which one"):
        parse_model("lab", presets)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lab: {api: grpc}", "lab.api"),
        ("lab: 5", "lab: expected"),
        ("- lab", "expected `name:`"),
        ("lab: {api: openai, nonsense: 1}", "lab.nonsense"),
        ("lab: [", "yaml:2: is not YAML"),
    ],
)
def test_broken_table_is_refused_with_file_and_key(
    tmp_path: Path, text: str, expected: str
) -> None:
    own = tmp_path / "providers.yaml"
    own.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_presets(own)
    assert str(own) in str(caught.value)
    assert expected in str(caught.value)


def test_base_url_variable_overrides_the_preset() -> None:
    preset = load_presets()["openai"]
    assert preset.url({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}) == "http://127.0.0.1:1/v1"
    assert preset.url({"OPENAI_BASE_URL": ""}) == "https://api.openai.com/v1"


def test_usable_gives_a_reason_and_never_shows_a_key() -> None:
    rows = {row["name"]: row for row in usable(load_presets(), {"OPENAI_API_KEY": "sk-secret"})}
    assert rows["openai"]["usable"]
    assert rows["openai"]["reason"] == "OPENAI_API_KEY is set"
    assert not rows["anthropic"]["usable"]
    assert rows["anthropic"]["reason"] == "ANTHROPIC_API_KEY is not set"
    assert rows["script"]["usable"]
    assert "sk-secret" not in repr(rows)


def test_the_default_is_the_settings_then_the_first_key_and_no_script(config: Config) -> None:
    presets = load_presets()
    keys = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"}
    own = with_default(config, "ollama/qwen3")
    assert pick_default(own, presets, keys) == ("ollama/qwen3", "models.default in the settings")
    model, why = pick_default(config, presets, keys)
    assert model is not None
    assert model.startswith("anthropic/")
    assert why == "ANTHROPIC_API_KEY is set"
    model, _ = pick_default(config, presets, {"OPENAI_API_KEY": "x"})
    assert model is not None
    assert model.startswith("openai/")
    model, why = pick_default(config, presets, {})
    assert model is None
    for way in ("no provider's key is set", "_API_KEY=", "--model ollama/", "script/survey"):
        assert way in why
    script = with_default(config, "script/survey")
    assert pick_default(script, presets, keys)[0] == "script/survey"
    with pytest.raises(InvalidInput, match="unknown provider"):
        pick_default(with_default(config, "nobody/x"), presets, keys)


def test_only_local_models_are_usable_offline() -> None:
    keys = {"OPENAI_API_KEY": "k", "OLLAMA_BASE_URL": "http://models.example/v1"}
    rows = {row["name"]: row for row in usable(load_presets(), keys, offline=True)}
    assert not rows["openai"]["usable"]
    assert "models.offline" in rows["openai"]["reason"]
    assert not rows["ollama"]["usable"]
    assert rows["llamacpp"]["usable"]
    assert rows["script"]["usable"]
    config = load_config()
    offline = config.models.model_copy(update={"offline": True})
    config = config.model_copy(update={"models": offline})
    model, why = pick_default(config, load_presets(), keys)
    assert model is None
    assert "models.offline is set" in why
    assert "KEY" not in why


def test_local_model_without_a_name_is_the_configured_file(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text("local: {model: ~/models/qwen.gguf}")
    presets = load_presets(tmp_path / "providers.yaml")
    assert str(parse_model("local", presets)) == "local/qwen"
    assert str(parse_model("local/smollm2", presets)) == "local/smollm2"
    assert str(parse_model("local", load_presets())) == "local/smollm2"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("gpt-5", "openai/gpt-5"),
        ("gtp-5", "openai/gpt-5"),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("text:gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("opnai", "openai"),
        ("opnai/gpt-5", "openai"),
    ],
)
def test_model_without_a_provider_gets_a_suggestion_with_the_full_name(
    text: str, meant: str
) -> None:
    with pytest.raises(InvalidInput, match=f"unknown provider .*, did you mean '{meant}'"):
        parse_model(text, load_presets())
