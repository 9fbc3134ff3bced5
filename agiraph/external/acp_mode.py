"""SessionMode: the mode of an ACP session, in which it asks before it acts, or is held otherwise.

Agents tell their modes in two ways, many in both: as `modes` with `session/set_mode`, and as a
choice among `configOptions` with `session/set_config_option`, whose answer says what holds now.
Which mode a session begins in is the agent's own choice, and a session that is taken up again may
begin in another one: so each is put into its mode, and whatever tells of a mode is looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject

SET_MODE = "session/set_mode"
SET_OPTION = "session/set_config_option"
NOTICE_OF_QWEN = "qwen/notify/session/mode-update"


class WrongMode(InvalidInput):
    """A session is in another mode than the one that was wanted, or cannot be put into it."""


@dataclass(frozen=True, slots=True)
class Modes:
    """What an agent tells of its modes; `option` is the configuration option that sets them."""

    current: str
    known: tuple[str, ...]
    option: str = ""


class SessionMode:
    """The mode of one session, without input or output."""

    def __init__(self, wanted: tuple[str, ...], further: tuple[str, ...] = ()) -> None:
        """Want the first of `wanted` that the agent has, nothing if there is none.

        `further` are modes that it may change to by itself.
        """
        self._wanted = wanted
        self._further = further
        self._mode = ""

    def request(self, session: str, begun: JsonObject) -> tuple[str, JsonObject] | None:
        """Return the method and parameters that set the mode of a session that has begun.

        None if no mode is wanted. WrongMode if the agent has none of those that are.
        """
        self._mode = ""
        if not self._wanted:
            return None
        modes = modes_in(begun)
        mode = self._choice(modes)
        if modes is not None and modes.option:
            named = {"sessionId": session, "configId": modes.option, "value": mode}
            return SET_OPTION, named
        return SET_MODE, {"sessionId": session, "modeId": mode}

    def _choice(self, modes: Modes | None) -> str:
        if modes is None:
            return self._wanted[0]  # it has not told them: it will refuse what it does not know
        for mode in self._wanted:
            if mode in modes.known:
                return mode
        known = ", ".join(modes.known) or "none"
        raise WrongMode(f"it has no mode {self._shown}, in which it is to work (it has: {known})")

    @property
    def _shown(self) -> str:
        return " or ".join(f"'{mode}'" for mode in self._wanted)

    def was_set(self, request: JsonObject, answer: JsonObject) -> None:
        """Take the answer to a request. WrongMode if it says that another mode holds."""
        self._mode = str(request.get("value", request.get("modeId")))
        self.check(answer)

    def refused(self, text: str) -> WrongMode:
        """Return what a refused request means."""
        return WrongMode(f"it refused its mode {self._shown}, in which it is to work: {text}")

    def check(self, told: JsonObject) -> None:
        """Look at what may tell of a mode. WrongMode if it is one that the session must not have.

        Before the mode was set, the agent may be in any.
        """
        now = mode_in(told)
        if self._mode and now and now != self._mode and now not in self._further:
            raise WrongMode(f"it is in its mode '{now}', and is to work in '{self._mode}' alone")


def mode_in(told: JsonObject) -> str:
    """Return the mode that an answer or an update tells, '' if it tells none."""
    if isinstance(current := told.get("currentModeId"), str):
        return current
    modes = modes_in(told)
    return modes.current if modes else ""


def modes_in(told: JsonObject) -> Modes | None:
    """Return the modes that a session's beginning or an update tells, None if it tells none."""
    for option in _rows(told.get("configOptions")):
        if option.get("category") == "mode" and isinstance(option.get("id"), str):
            known = tuple(str(one["value"]) for one in _choices(option) if "value" in one)
            return Modes(str(option.get("currentValue", "")), known, str(option["id"]))
    modes = told.get("modes")
    if not isinstance(modes, dict):
        return None
    known = tuple(str(one.get("id")) for one in _rows(modes.get("availableModes")))
    return Modes(str(modes.get("currentModeId", "")), known)


def _choices(option: JsonObject) -> Iterator[JsonObject]:
    """Yield what an option can be set to; choices may stand in groups."""
    for row in _rows(option.get("options")):
        yield from _rows(row["options"]) if "options" in row else (row,)


def _rows(value: Any) -> list[JsonObject]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
