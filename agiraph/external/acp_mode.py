"""SessionMode: the mode of an ACP session, in which the agent asks before it acts, or is confined.

Agents report their modes in two ways, many in both: as `modes` with `session/set_mode`, and as an
entry of `configOptions` with `session/set_config_option`, whose response contains the new values.
The agent chooses the mode in which a new or resumed session begins. Therefore the mode of each
session is set, and every report of a mode is checked.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.external.text import mapping, rows

SET_MODE = "session/set_mode"
SET_OPTION = "session/set_config_option"


class WrongMode(InvalidInput):
    """A session is not in the required mode, or the mode cannot be set."""


@dataclass(frozen=True, slots=True)
class ReportedModes:
    """The modes that an agent reports; `option` is the configuration option that sets them."""

    current: str
    known: tuple[str, ...]
    option: str = ""


class SessionMode:
    """The mode of one session: the first mode of `wanted` that the agent supports.

    () allows any mode. `further` are modes that the agent may switch to by itself.
    """

    def __init__(self, wanted: tuple[str, ...], further: tuple[str, ...] = ()) -> None:
        self._wanted = wanted
        self._further = further
        self._mode = ""

    def request(self, session: str, response: JsonObject) -> tuple[str, JsonObject] | None:
        """Return the method and parameters that set the mode of a session that has begun.

        Returns None if no mode is wanted. Raises WrongMode if the agent supports none of the wanted
        modes.
        """
        self._mode = ""
        if not self._wanted:
            return None
        modes = modes_in(response)
        mode = self._choose(modes)
        if modes is not None and modes.option:
            return SET_OPTION, {"sessionId": session, "configId": modes.option, "value": mode}
        return SET_MODE, {"sessionId": session, "modeId": mode}

    def _choose(self, modes: ReportedModes | None) -> str:
        if modes is None:
            return self._wanted[0]  # none is reported: the agent refuses an unknown one
        for mode in self._wanted:
            if mode in modes.known:
                return mode
        known = ", ".join(modes.known) or "none"
        raise WrongMode(f"it has no mode {self._names}, in which it is to work (it has: {known})")

    @property
    def _names(self) -> str:
        return " or ".join(f"'{mode}'" for mode in self._wanted)

    def confirm(self, request: JsonObject, response: JsonObject) -> None:
        """Record a successful request. Raises WrongMode if the response reports another mode."""
        self._mode = str(request.get("value", request.get("modeId")))
        self.check(response)

    def refused(self, text: str) -> WrongMode:
        """Return the error for a refused request to set the mode; `text` is the agent's reason."""
        return WrongMode(f"it refused its mode {self._names}, in which it is to work: {text}")

    def check(self, report: JsonObject) -> None:
        """Raise WrongMode if a message reports a mode that is not allowed for the session.

        Before the mode was set, all modes are allowed.
        """
        current = report.get("currentModeId")
        if not isinstance(current, str):
            modes = modes_in(report)
            current = modes.current if modes else ""
        if self._mode and current and current not in (self._mode, *self._further):
            raise WrongMode(f"it is in its mode '{current}', and is to work in '{self._mode}' only")


def modes_in(report: JsonObject) -> ReportedModes | None:
    """Return the modes that a response or an update reports, None if it reports none."""
    for option in rows(report.get("configOptions")):
        if option.get("category") == "mode" and isinstance(option.get("id"), str):
            known = tuple(str(one["value"]) for one in _choices(option) if "value" in one)
            return ReportedModes(str(option.get("currentValue", "")), known, str(option["id"]))
    modes = mapping(report.get("modes"))
    if not modes:
        return None
    known = tuple(str(one.get("id")) for one in rows(modes.get("availableModes")))
    return ReportedModes(str(modes.get("currentModeId", "")), known)


def _choices(option: JsonObject) -> Iterator[JsonObject]:
    """Yield the values of a configuration option, which may be grouped."""
    for row in rows(option.get("options")):
        yield from rows(row["options"]) if "options" in row else (row,)
