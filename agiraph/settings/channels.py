"""The settings of `channels:` in agiraph.yaml; secrets are in variables, `${NAME}`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agiraph.core.errors import unknown
from agiraph.core.redaction import BLOT
from agiraph.settings.variables import VARIABLE, fill

ChannelKind = Literal["webhook", "email", "desktop"]
NoticeKind = Literal["questions", "approvals", "finished", "failed", "out_of_budget", "messages"]

BUILT_IN = ("cli", "console", "web")
"""Channels that every home has. A question for one of them goes to all channels for questions."""

SECRETS = ("secret", "password")
FIELDS: Mapping[ChannelKind, frozenset[str]] = {
    "webhook": frozenset({"url", "shape", "secret"}),
    "email": frozenset({"to", "sender", "server", "security", "user", "password"}),
    "desktop": frozenset(),
}
NEEDED: Mapping[ChannelKind, tuple[str, ...]] = {
    "webhook": ("url",),
    "email": ("to", "sender", "server"),
    "desktop": (),
}
OF_ALL = frozenset({"kind", "notices", "urgent_only"})


class ChannelConfig(BaseModel):
    """One channel. `notices` are the kinds it receives; the other valid fields depend on `kind`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    kind: ChannelKind
    notices: tuple[NoticeKind, ...] = (
        "questions", "approvals", "finished", "failed", "out_of_budget",
    )  # fmt: skip
    urgent_only: bool = False
    url: str = Field(default="", pattern=r"^(https?://\S+|\$\{\w+\})?$")
    shape: Literal["generic", "slack", "discord"] = "generic"
    secret: str = Field(default="", repr=False)
    to: str = Field(default="", pattern=r"^([^\s@,<>]+@[^\s@,<>]+)?$")
    sender: str = Field(default="", pattern=r"^([^\s@,<>]+@[^\s@,<>]+)?$")
    server: str = Field(default="", pattern=r"^([^\s:/]+(:\d{1,5})?)?$")
    security: Literal["starttls", "ssl", "none"] = "starttls"
    user: str = ""
    password: str = Field(default="", repr=False)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "ChannelConfig":
        own = FIELDS[self.kind]
        foreign = sorted(self.model_fields_set - own - OF_ALL)
        # Settings that were read back from a launch name every field; default values are ignored.
        foreign = [name for name in foreign if getattr(self, name) != _default_of(name)]
        if foreign:
            possible = ", ".join(sorted(own | OF_ALL))
            raise ValueError(f"{self.kind} has no '{foreign[0]}' (possible: {possible})")
        missing = [name for name in NEEDED[self.kind] if not getattr(self, name)]
        if missing:
            raise ValueError(f"{self.kind} needs '{missing[0]}'")
        if self.password and not self.user:
            raise ValueError("a password needs a 'user'")
        return self


def _default_of(name: str) -> Any:
    return ChannelConfig.model_fields[name].default


def channels_named(named: str, channels: Mapping[str, ChannelConfig]) -> list[str]:
    """Return the configured channels with a name or kind, none for another word."""
    if named in channels:
        return [named]
    return [name for name, settings in channels.items() if settings.kind == named]


def check_channel(named: str, channels: Mapping[str, ChannelConfig]) -> None:
    """Raise InvalidInput with the possible names unless a question can go to the named channel."""
    if named not in BUILT_IN and not channels_named(named, channels):
        kinds = [settings.kind for settings in channels.values()]
        raise unknown("channel", named, list(dict.fromkeys((*BUILT_IN, *channels, *kinds))))


class MissingChannelVariable(Exception):
    """A channel names a variable that is not set in the supervisor's environment."""


def filled_in(settings: ChannelConfig, environ: Mapping[str, str]) -> ChannelConfig:
    """Return the settings with every `${NAME}` replaced. Raises MissingChannelVariable."""

    def missing(name: str) -> MissingChannelVariable:
        return MissingChannelVariable(f"the variable {name} is not set")

    texts = {name: value for name, value in settings if isinstance(value, str)}
    changed = {name: fill(text, environ, missing) for name, text in texts.items()}
    return settings.model_copy(update=changed)


def without_secrets(channels: Mapping[str, Any]) -> dict[str, Any]:
    """Return channels (as plain values) with their secrets redacted, for people."""
    return {name: _blotted(settings) for name, settings in channels.items()}


def _blotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(settings)
    for name in SECRETS:
        if shown.get(name) and not VARIABLE.fullmatch(str(shown[name])):
            shown[name] = BLOT
    if shown.get("url"):
        shown["url"] = shown_url(str(shown["url"]))
    return shown


def shown_url(url: str) -> str:
    """Return a URL without its secret parts, for example the path of a Slack or Discord hook."""
    if VARIABLE.fullmatch(url):
        return url
    parts = urlsplit(url)
    _, userinfo, place = parts.netloc.rpartition("@")
    has_more = userinfo or parts.path.strip("/") or parts.query
    return f"{parts.scheme}://{place}/..." if has_more else url
