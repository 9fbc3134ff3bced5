"""Goals for a capable mind, each with an input folder made of a released package from PyPI."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

INSTALL_SECONDS: Final = 300
TABLES: Final = ("seattle-weather.csv", "stocks.csv", "us-employment.csv", "wheat.json")


@dataclass(frozen=True)
class Goal:
    """A goal in the words of the person, and the maker of its input folder (an empty folder)."""

    text: str
    fill: Callable[[Path], None]


def _humanize(folder: Path) -> None:
    """Unpack humanize 4.9.0 with its tests, as a git repository with one commit."""
    with tempfile.TemporaryDirectory() as made:
        sdist = _downloaded("humanize==4.9.0", Path(made), "--no-binary=:all:")
        with tarfile.open(sdist) as archive:
            archive.extractall(made, filter="data")
        shutil.copytree(Path(made, "humanize-4.9.0"), folder, dirs_exist_ok=True)
    author = ("-c", "user.name=Person", "-c", "user.email=person@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "humanize 4.9.0"]):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=INSTALL_SECONDS)


def _tables(folder: Path) -> None:
    """Place four data files of the package vega_datasets."""
    with tempfile.TemporaryDirectory() as made:
        wheel = _downloaded("vega_datasets==0.9.0", Path(made))
        with zipfile.ZipFile(wheel) as archive:
            for name in TABLES:
                (folder / name).write_bytes(archive.read(f"vega_datasets/_data/{name}"))


def _downloaded(requirement: str, folder: Path, *options: str) -> Path:
    """Return the file of a package, downloaded by pip; CalledProcessError if there is none."""
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options, requirement]
    before = set(folder.iterdir())
    subprocess.run([*words, "-d", str(folder)], check=True, timeout=INSTALL_SECONDS)
    [file] = set(folder.iterdir()) - before
    return file


GOALS: Final = {
    "repair": Goal(
        "The input folder is the Python package humanize 4.9.0. `naturalsize(999_999)` returns "
        "'1000.0 kB' instead of '1.0 MB', and other values just below a unit are wrong in the same "
        "way, also in other functions that choose a unit before they round. Mend the kind of fault "
        "with tests that fail before and pass after; all other tests still pass. Deliver a patch "
        "that `git apply` takes in the input folder. One worker writes it; another reviews it "
        "without trusting the author, and tries to break it.",
        _humanize,
    ),
    "report": Goal(
        "The input folder has four data files: seattle-weather.csv, stocks.csv, us-employment.csv "
        "and wheat.json. Write a report of at most two pages (Markdown) with the ten most telling "
        "facts of each file, each with its number. Every number is checked by somebody who did not "
        "compute it; the report says how each was computed, so that a reader can repeat it.",
        _tables,
    ),
}
