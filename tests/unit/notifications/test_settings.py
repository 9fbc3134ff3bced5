"""Channels in agiraph.yaml: accepted settings; secrets are never shown."""

from pathlib import Path

import pytest

from actors.entity.messenger import Messenger
from actors.entity.questions import ArrivedAnswers
from actors.runtime.environment import environment_for, holds_secrets
from agiraph.core.errors import InvalidInput
from agiraph.settings.channels import (
    ChannelConfig,
    MissingChannelVariable,
    filled_in,
    shown_url,
    without_secrets,
)
from agiraph.settings.config import Config, load_config
from agiraph.settings.variables import variables_in
from agiraph.tools.ports import NewQuestion
from tests.unit.entity.contexts import entity_context
from tests.unit.notifications.notices import webhook


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{kind: webhook}", r"yaml:1: channels.phone: webhook needs 'url'"),
        ("{kind: pigeon}", r"yaml:1: channels.phone.kind: .*'webhook', 'email' or 'desktop'"),
        ("{kind: desktop, url: 'http://x'}", r"desktop has no 'url' \(possible: kind, notices"),
        ("{kind: webhook, urll: 'http://x'}", r"unknown key 'channels.phone.urll' .*, url, user"),
        ("{kind: webhook, url: 'ftp://x'}", r"channels.phone.url: String should match"),
        ("{kind: email, to: 'a b@c', sender: a@b, server: x}", r"channels.phone.to: "),
    ],
)  # fmt: skip
def test_error_names_its_place(tmp_path: Path, text: str, expected: str) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text(f"channels: {{phone: {text}}}\n")
    with pytest.raises(InvalidInput, match=expected):
        load_config(own)


async def test_question_for_an_unknown_channel_is_refused_with_the_known_ones(
    tmp_path: Path,
) -> None:
    context, line = entity_context(tmp_path, "shop-1/ada-1")
    line.config = line.config.model_copy(update={"channels": {"phone": webhook()}})
    messenger = Messenger(context, ArrivedAnswers())
    known = r"unknown channel 'pager' \(known: cli, console, phone, web, webhook\)"
    with pytest.raises(InvalidInput, match=known):
        await messenger.ask_human("call-1", NewQuestion(question="Which?", channel="pager"))


def test_error_beside_a_secret_does_not_show_it(tmp_path: Path) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text("channels: {m: {kind: email, password: hunter2}}\n")
    with pytest.raises(InvalidInput) as refused:
        load_config(own)
    assert "hunter2" not in str(refused.value)


def test_settings_survive_the_way_to_a_process(tmp_path: Path) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text("channels: {d: {kind: desktop}, w: {kind: webhook, url: 'http://x/'}}\n")
    config = load_config(own)
    assert Config.model_validate(config.model_dump(mode="json")) == config


def test_variables_are_filled_in_where_the_channel_is_opened_and_nowhere_else() -> None:
    settings = webhook(url="${HOOK_URL}", secret="${HOOK_SECRET}")
    channels = {"phone": settings.model_dump(mode="json")}
    environ = {"HOOK_URL": "https://x/y", "HOOK_SECRET": "s", "OTHER_SECRET": "o", "PATH": "/bin"}
    assert variables_in(channels) == {"HOOK_URL", "HOOK_SECRET"}
    assert filled_in(settings, environ).url == "https://x/y"
    with pytest.raises(MissingChannelVariable, match="HOOK_URL is not set"):
        filled_in(settings, {"HOOK_SECRET": "s"})
    assert environment_for("human", environ, channels) == {
        "HOOK_URL": "https://x/y",
        "HOOK_SECRET": "s",
        "PATH": "/bin",
    }
    assert environment_for("worker", environ, channels) == {"PATH": "/bin"}
    assert holds_secrets("human", channels)
    assert not holds_secrets("worker", channels)


def test_shown_settings_contain_no_secret() -> None:
    plain = webhook(url="https://hooks.slack.com/services/T0/B0/xyz", secret="hush")
    shown = without_secrets({"phone": plain.model_dump(mode="json")})["phone"]
    assert shown["secret"] == "[redacted]"
    assert shown["url"] == "https://hooks.slack.com/..."
    assert "hush" not in repr(plain)
    named = webhook(url="${HOOK_URL}", secret="${S}")
    kept = without_secrets({"phone": named.model_dump(mode="json")})["phone"]
    assert (kept["url"], kept["secret"]) == ("${HOOK_URL}", "${S}")


def test_url_with_a_password_is_shown_without_it() -> None:
    assert shown_url("https://user:pw@host:8/") == "https://host:8/..."
    assert ChannelConfig.model_fields["password"].repr is False
