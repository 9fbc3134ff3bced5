"""Models available on this machine: models of local servers, playbooks, and recordings."""

import http
import http.client
import socket
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agiraph.core.json_text import parse_json
from agiraph.foreign.http import why_not_followed
from agiraph.models.registry import BUILT_IN, JsonObject, ProviderPreset
from agiraph.settings.config import configs_folder
from agiraph.storage.files import entries
from agiraph.storage.home import Home

LOOK_SECONDS = 1.5
REDIRECTS = (301, 302, 303, 307, 308)
LONGEST_LIST = 1 << 20
NAMED = 3
MOST_RECORDINGS = 20


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A local model server's models, or the problem for which they are not known."""

    models: tuple[str, ...] = ()
    problem: str = ""

    @property
    def in_words(self) -> str:
        """The answer as text: `answers: qwen3, gemma3 and 2 others`."""
        if self.problem:
            return self.problem
        others = len(self.models) - NAMED
        more = f" and {others} other{'s' if others > 1 else ''}" if others > 0 else ""
        return f"answers: {', '.join(self.models[:NAMED])}{more}"


def find_servers(
    presets: Mapping[str, ProviderPreset], environ: Mapping[str, str]
) -> dict[str, LocalServer]:
    """Return the models of each configured service on this machine, by its name.

    All are asked in parallel; the call takes LOOK_SECONDS at most.
    """
    urls = {
        name: url
        for name, preset in presets.items()
        if preset.local and preset.api not in BUILT_IN and (url := preset.url(environ))
    }
    with ThreadPoolExecutor(max(1, len(urls))) as pool:
        found = pool.map(lambda name: _ask(urls[name], presets[name].key(environ)), urls)
        return dict(zip(urls, found, strict=True))


def _ask(url: str, key: str | None) -> LocalServer:
    place = f"{url.rstrip('/')}/models"
    try:
        status, location, data = _get(place, {"authorization": f"Bearer {key}"} if key else {})
    except ValueError:
        return LocalServer(problem=f"is no URL: {url}")
    except (OSError, http.client.HTTPException):
        return LocalServer(problem=f"does not answer: {url}")
    if location:
        return LocalServer(problem=why_not_followed(place, location))
    if status != http.HTTPStatus.OK:
        return LocalServer(problem=f"answers with HTTP {status}: {url}")
    try:
        models = tuple(str(one["id"]) for one in parse_json(data)["data"])
    except (ValueError, LookupError, TypeError):
        return LocalServer(problem=f"answers, but with no list of models: {url}")
    return LocalServer(models) if models else LocalServer(problem=f"serves no model: {url}")


def _get(url: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
    """Return the status of an answer, the target of its redirect ("" if none) and its body.

    No redirect is followed, no proxy used, and the call takes LOOK_SECONDS at most, however slowly
    the answer arrives. Raises ValueError for a URL that is not HTTP, OSError, HTTPException.
    """
    parts = urlsplit(url)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise ValueError(url)
    connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=LOOK_SECONDS)
    connection.connect()
    deadline = threading.Timer(LOOK_SECONDS, _cut, [connection.sock])
    deadline.daemon = True
    deadline.start()
    try:
        connection.request("GET", parts.path, headers=dict(headers))
        answer = connection.getresponse()
        location = answer.getheader("location", "") if answer.status in REDIRECTS else ""
        return answer.status, location, answer.read(LONGEST_LIST)
    finally:
        deadline.cancel()
        connection.close()


def _cut(connected: socket.socket) -> None:
    """Shut down a connection from another thread: its reader then reaches the end."""
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def with_answers(
    rows: Iterable[JsonObject], found: Mapping[str, LocalServer]
) -> tuple[JsonObject, ...]:
    """Return rows of `registry.usable` with the models that the local servers `found` report."""
    return tuple(
        _as_answered(row, found[row["name"]]) if row["name"] in found else row for row in rows
    )


def with_files(rows: Iterable[JsonObject], home: Path) -> tuple[JsonObject, ...]:
    """Return rows of `registry.usable` with playbooks and recordings as models.

    These are all playbooks, and the recorded runs of the home.
    """
    played = {"script": playbook_names(configs_folder() / "playbooks"), "replay": _recorded(home)}
    return tuple(_with_models(row, played.get(row["name"], ())) for row in rows)


def playbook_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the playbooks in a folder."""
    files = folder.glob("*.yaml")  # plain: shipped with the package
    return tuple(sorted(path.stem for path in files))


def _recorded(home: Path) -> tuple[str, ...]:
    """Return the paths of the last MOST_RECORDINGS recordings of a home, the newest first."""
    folder = Home(home).system.recordings
    try:
        names = [one.name for one in entries(folder) if one.name.endswith(".jsonl")]
    except OSError:
        return ()
    return tuple(str(folder / name) for name in names[: -MOST_RECORDINGS - 1 : -1])


def _with_models(row: JsonObject, names: Iterable[str]) -> JsonObject:
    """Return a row with further models (`names`) that cost nothing; known ones stay unchanged.

    The models are in this order, the existing ones first.
    """
    known = {one["name"]: one for one in row.get("models", ())}
    for name in names:
        free = {"strength": None, "vision": None, "context": row["context"]}
        free |= {"input": 0.0, "output": 0.0}
        known.setdefault(f"{row['name']}/{name}", {"name": f"{row['name']}/{name}"} | free)
    return row | {"models": tuple(known.values())}


def _as_answered(row: JsonObject, server: LocalServer) -> JsonObject:
    told = row | {"usable": row["usable"] and not server.problem, "reason": server.in_words}
    usual = str(row["default_model"] or "").partition("/")[2]
    if server.models and usual not in server.models:
        told["default_model"] = f"{row['name']}/{server.models[0]}"
    if not server.models:
        return told
    served = {f"{row['name']}/{name}" for name in server.models}
    known = tuple(one for one in row.get("models", ()) if one["name"] in served)
    return _with_models(told | {"models": known}, server.models)
