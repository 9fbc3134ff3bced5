"""Reading, checking and changing settings files for the API; refusals are ApiErrors."""

from collections.abc import Sequence
from typing import Any, Final

import yaml

from agiraph.api.settings.files import SETTINGS_FILES, SettingsFile, problems_of
from agiraph.api.settings.secrets import new_secrets, restored, shown, shown_values
from agiraph.api.settings.store import SettingsStore, StoredText, readable, unified_diff
from agiraph.api.settings.values import remarks, rows_of, values_in
from agiraph.core.errors import InvalidInput, Refused, listed
from agiraph.http.api import (
    ApiError,
    EditSettingsRequest,
    SavedSettingsView,
    SettingsCheckView,
    SettingsContentView,
    SettingsFileView,
    SettingsProblemView,
)
from agiraph.settings.config import Config
from agiraph.settings.yaml_edit import YamlChange, edited
from agiraph.storage.home import Home

CONFLICT: Final = 409
PRECONDITION_FAILED: Final = 412
UNPROCESSABLE: Final = 422
PRECONDITION_REQUIRED: Final = 428


def files(home: Home) -> list[SettingsFileView]:
    """Return the view of each settings file."""
    store = SettingsStore(home)
    return [
        SettingsFileView.model_validate(_described(store, about, _read(store, name)))
        for name, about in SETTINGS_FILES.items()
    ]


def content(home: Home, file: str, config: Config) -> SettingsContentView:
    """Return a file with its contents; `config` contains the settings in force."""
    about, store = _known(file), SettingsStore(home)
    stored = _read(store, file)
    own = values_in(file, stored.text)
    before = store.version_before(file)
    return SettingsContentView.model_validate(
        _described(store, about, stored)
        | {
            "text": shown(stored.text),
            "own": shown_values(own),
            "settings": rows_of(file, own, store.home / file, config),
            "sections": {path[0]: said for path, said in remarks().items() if len(path) == 1},
            "shape": about.schema(),
            "whole_rows": about.whole_rows,
            "version_before": None if before is None else shown(before),
        }
    )


def check(home: Home, file: str, body: EditSettingsRequest) -> SettingsCheckView:
    """Return the result of a change to a file, without writing it."""
    about, store = _known(file), SettingsStore(home)
    return _checked(store, about, body, _read(store, file))[1]


def save(
    home: Home, file: str, body: EditSettingsRequest, if_match: str | None
) -> SavedSettingsView:
    """Change a file whose etag is `if_match`, unless it is changed already; return the outcome."""
    about, store = _known(file), SettingsStore(home)
    before = _read(store, file)
    text, found = _checked(store, about, body, before)
    if text == before.text and before.exists:
        return _saved(about, before, "")
    _require(before, file, if_match)
    if found.problems:
        raise ApiError(UNPROCESSABLE, _in_words(file, found.problems))
    try:
        store.replace(file, text, before)
    except Refused as error:
        raise ApiError(CONFLICT, str(error)) from None
    return _saved(about, StoredText(text, True), found.diff)


def _known(file: str) -> SettingsFile:
    known = SETTINGS_FILES.get(file)
    if known is None:
        raise ApiError(404, f"there are no settings '{file}' (known: {listed(SETTINGS_FILES)})")
    return known


def _read(store: SettingsStore, file: str) -> StoredText:
    try:
        return store.read(file)
    except InvalidInput as error:
        raise ApiError(CONFLICT, str(error)) from None


def _described(store: SettingsStore, about: SettingsFile, stored: StoredText) -> dict[str, Any]:
    """Return the fields that all views of a settings file have: name, path, etag, problems ..."""
    found = problems_of(store.home, about.name, stored.text) if stored.exists else ()
    return {
        "name": about.name,
        "about": about.about,
        "takes_effect": about.takes_effect,
        "path": str(store.home / about.name),
        "exists": stored.exists,
        "etag": stored.etag,
        "problems": found,
    }


def _checked(
    store: SettingsStore, about: SettingsFile, body: EditSettingsRequest, before: StoredText
) -> tuple[str, SettingsCheckView]:
    """Return the changed text, and its view with the problems."""
    text = _text_of(body, before.text)
    found = [*new_secrets(text, before.text), *problems_of(store.home, about.name, text)]
    now, then = shown(before.text), shown(text)
    difference = unified_diff(about.name, now, then)
    own = shown_values(values_in(about.name, text))
    return text, SettingsCheckView(text=then, own=own, diff=difference, problems=tuple(found))


def _text_of(body: EditSettingsRequest, before: str) -> str:
    """Return the changed text of a file. Raises ApiError 422 for an impossible change."""
    if body.text is None and not body.changes:
        raise ApiError(UNPROCESSABLE, "name the text or changes")
    changes = [YamlChange(one.key, one.value, one.remove) for one in body.changes]
    try:
        text = before if body.text is None else restored(readable(body.text), before)
        return restored(edited(text, changes), before)
    except yaml.YAMLError as error:
        raise ApiError(UNPROCESSABLE, f"this is not YAML as it is ({error})") from None
    except (Refused, InvalidInput) as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def _require(before: StoredText, file: str, if_match: str | None) -> None:
    """Raise ApiError 428 without an etag, 412 unless it is that of the current file."""
    if if_match is None:
        raise ApiError(
            PRECONDITION_REQUIRED, f"name the etag of {file} that is changed in `If-Match`"
        )
    if if_match.strip().strip('"') != before.etag:
        detail = f"{file} was changed since it was read: look at it again"
        raise ApiError(PRECONDITION_FAILED, detail)


def _in_words(file: str, problems: Sequence[SettingsProblemView]) -> str:
    return "\n".join(f"{file}:{one.line}: {one.detail}" for one in problems)


def _saved(about: SettingsFile, stored: StoredText, diff: str) -> SavedSettingsView:
    return SavedSettingsView(
        name=about.name, etag=stored.etag, diff=diff, takes_effect=about.takes_effect
    )
