"""The settings files: what they hold, what is wrong with them, changing them; the doctor."""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from agiraph.http.api.base import ApiRequest, ApiView, JsonObject

SettingSource = Literal["default", "file", "start"]


class SettingsProblemView(ApiView):
    """What is wrong with a text, in which `line`; `key` is the place that begins in it, or ()."""

    line: int
    key: tuple[str | int, ...] = ()
    detail: str


class SettingView(ApiView):
    """One setting: its value in force, its default, and where the value comes from.

    `source`: the default, the `file`, or what the supervisor was started with (`start`: an option
    of its command line, or the file as it was then); then `after_restart` is what the file says,
    and `is_pending` is true. `about` says what it means.
    """

    key: tuple[str, ...]
    value: Any = None
    default: Any = None
    source: SettingSource
    after_restart: Any = None
    is_pending: bool = False
    about: str = ""


class SettingsFileView(ApiView):
    """One settings file of the home. `etag` is for `If-Match`, also where no file `exists` yet.

    `takes_effect` says when a change counts, `problems` what is wrong with the file as it is.
    """

    name: str
    about: str
    takes_effect: str
    path: str
    exists: bool
    etag: str
    problems: tuple[SettingsProblemView, ...] = ()


class SettingsContentView(SettingsFileView):
    """A settings file with what it holds.

    What is secret in `text` and in values is shown as `[redacted]`. `own` is what the file says,
    `settings` are the values in force, `sections` what is said of each group of them, `shape` is
    the JSON Schema of the file. `whole_rows`: a name in it replaces the shipped one with all that
    it says. `version_before` is what it held before its last change over the API, None if there was
    none.
    """

    text: str
    own: JsonObject
    settings: tuple[SettingView, ...]
    sections: dict[str, str] = Field(default_factory=dict)
    shape: JsonObject
    whole_rows: bool = False
    version_before: str | None = None


class SettingChange(ApiRequest):
    """A value for the place `key`, or its removal: then the default holds again.

    The number after the last item of a list adds one.
    """

    key: tuple[str | int, ...] = Field(min_length=1, max_length=16)
    value: JsonValue = None
    remove: bool = False


class EditSettingsRequest(ApiRequest):
    """A settings file as it should be: the whole `text`, `changes` of single values, or both.

    What is not in `changes` stays as it is written in the file, or in `text`, comments too.
    `[redacted]` stands for the secret that is there.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(str_strip_whitespace=False)

    text: str | None = Field(default=None, max_length=1_000_000)
    changes: tuple[SettingChange, ...] = Field(default=(), max_length=1000)


class SettingsCheckView(ApiView):
    """What a change would make of a file: its text, the difference (a unified diff), problems.

    `own` is what the text says, {} for one that is no YAML.
    """

    text: str
    own: JsonObject = Field(default_factory=dict)
    diff: str = ""
    problems: tuple[SettingsProblemView, ...] = ()


class SavedSettingsView(ApiView):
    """A settings file after a change: what changed, and when that `takes_effect`."""

    name: str
    etag: str
    diff: str = ""
    takes_effect: str


class DoctorCheckView(ApiView):
    """One check of `agiraph doctor`, and what to do about it if it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""


class DoctorView(ApiView):
    """What `agiraph doctor` says of this machine and this home. `ok`: no check has failed."""

    ok: bool
    home: str
    checks: tuple[DoctorCheckView, ...]
    checked_at: float
