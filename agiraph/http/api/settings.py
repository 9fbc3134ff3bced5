"""The settings files: contents, problems and changes; and the report of `agiraph doctor`."""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from agiraph.http.api.base import ApiRequest, ApiView, JsonObject

SettingSource = Literal["default", "file", "start"]


class SettingsProblemView(ApiView):
    """A problem of a text, in `line`; `key` is the key that begins in that line, or ()."""

    line: int
    key: tuple[str | int, ...] = ()
    detail: str


class SettingView(ApiView):
    """One setting: its value in force, its default, and the source of the value.

    `source`: the default, the `file`, or the state when the supervisor started (`start`: a command
    line option, or the file as it was then). For `start`, `after_restart` is the value of the file
    now, and `is_pending` is true. `about` explains the setting.
    """

    key: tuple[str, ...]
    value: Any = None
    default: Any = None
    source: SettingSource
    after_restart: Any = None
    is_pending: bool = False
    about: str = ""


class SettingsFileView(ApiView):
    """One settings file of the home. `etag` is for `If-Match`, also if no file `exists` yet.

    `takes_effect` says when a change applies, `problems` lists the problems of the current file.
    """

    name: str
    about: str
    takes_effect: str
    path: str
    exists: bool
    etag: str
    problems: tuple[SettingsProblemView, ...] = ()


class SettingsContentView(SettingsFileView):
    """A settings file with its contents.

    Secrets in `text` and in values are shown as `[redacted]`. `own` has the values of the file,
    `settings` the values in force, `sections` the remarks on each group of them, `shape` is the
    JSON Schema of the file. `whole_rows`: a name in it replaces the whole shipped row.
    `version_before` is the text before its last change over the API, None if there was none.
    """

    text: str
    own: JsonObject
    settings: tuple[SettingView, ...]
    sections: dict[str, str] = Field(default_factory=dict)
    shape: JsonObject
    whole_rows: bool = False
    version_before: str | None = None


class SettingChange(ApiRequest):
    """A value for the place `key`, or its removal: then the default applies again.

    The index after the last item of a list appends an item.
    """

    key: tuple[str | int, ...] = Field(min_length=1, max_length=16)
    value: JsonValue = None
    remove: bool = False


class EditSettingsRequest(ApiRequest):
    """A new version of a settings file: the whole `text`, `changes` of single values, or both.

    Everything that `changes` does not name stays as written in the file, or in `text`, comments
    included. `[redacted]` stands for the stored secret.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(str_strip_whitespace=False)

    text: str | None = Field(default=None, max_length=1_000_000)
    changes: tuple[SettingChange, ...] = Field(default=(), max_length=1000)


class SettingsCheckView(ApiView):
    """The result of a change to a settings file: the new `text`, a unified `diff`, the `problems`.

    `own` has the values that `text` sets, {} if `text` is not YAML.
    """

    text: str
    own: JsonObject = Field(default_factory=dict)
    diff: str = ""
    problems: tuple[SettingsProblemView, ...] = ()


class SavedSettingsView(ApiView):
    """A settings file after a change: the difference, and when it `takes_effect`."""

    name: str
    etag: str
    diff: str = ""
    takes_effect: str


class DoctorCheckView(ApiView):
    """One check of `agiraph doctor`, and advice if it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""


class DoctorView(ApiView):
    """The report of `agiraph doctor` on this machine and this home. `ok`: no check has failed."""

    ok: bool
    home: str
    checks: tuple[DoctorCheckView, ...]
    checked_at: float
