"""DoctorCheck: the result of one check of `agiraph doctor`; DoctorContext: its subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agiraph.settings.config import Config, load_config
from agiraph.settings.yaml_text import present
from agiraph.storage.home import HOME_VARIABLE, Home

Status = Literal["ok", "warn", "fail"]
MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The result of one check, and a remedy if it is not `ok`."""

    status: Status
    detail: str
    advice: str = ""


def ok(detail: str, advice: str = "") -> DoctorCheck:
    """Return the result of a check that found no problem."""
    return DoctorCheck("ok", detail, advice)


def warn(detail: str, advice: str = "") -> DoctorCheck:
    """Return the result of a check that found a possible problem."""
    return DoctorCheck("warn", detail, advice)


def fail(detail: str, advice: str = "") -> DoctorCheck:
    """Return the result of a check that found a problem."""
    return DoctorCheck("fail", detail, advice)


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """The subject of the checks: a home and an environment."""

    home: Home
    environ: Mapping[str, str]

    def settings(self) -> Config:
        """Return the settings in force. Raises InvalidInput if the home's own cannot be read."""
        return load_config(*present(self.home.config))

    @property
    def nearest_folder(self) -> Path:
        """The home, or the nearest folder above it that exists."""
        path = self.home.path
        return next(folder for folder in (path, *path.parents) if folder.is_dir())


def first_of(found: Sequence[str]) -> str:
    """Return the first findings in one text, with the number of the others."""
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return "; ".join(found[:MOST_SHOWN]) + more


def other_home() -> str:
    """Return the advice to use another home."""
    return f"name another home with --home or {HOME_VARIABLE}"


def listed(rows: Mapping[str, str]) -> str:
    """Return names with a remark on each, in one line."""
    return ", ".join(f"{name} ({remark})" if remark else name for name, remark in rows.items())
