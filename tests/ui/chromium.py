"""A headless Chromium: this machine's, otherwise from the npm package `@sparticuz/chromium`.

AGIRAPH_CHROMIUM names another one by its path, or has that of the package taken by `npm`.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from frontend.build import environment
from tests.fakes.real_agents import CannotInstall, Release, alone, installed

PACKAGE: Final = Release(
    "files", "@sparticuz/chromium", "147.0.0", "@sparticuz/chromium/bin/chromium.br", 20
)
NAMES: Final = (
    "chromium-headless-shell",  # draws no window of its own: a quarter less processor time
    *("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"),
)
ARGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--mute-audio"),
    "--process-per-site",  # a tab beside another need not compile the same page again
)
UNPACK: Final = "import('@sparticuz/chromium').then((package) => package.default.executablePath())"
FONTS: Final = """\
<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{folder}/fonts</dir>
<cachedir>{folder}/font-cache</cachedir></fontconfig>
"""
UNPACK_SECONDS: Final = 120


@dataclass(frozen=True)
class Chromium:
    """A program, and the variables that it needs beside ours."""

    path: Path
    environ: dict[str, str] = field(default_factory=dict)


def chromium() -> Chromium:
    """Return a Chromium, installed if need be; skip the test if none runs on this system."""
    named = os.environ.get("AGIRAPH_CHROMIUM", "")
    found = named if named != "npm" else None
    found = found or next(filter(None, map(shutil.which, NAMES if not named else ())), None)
    if found is not None:
        return Chromium(Path(found))
    if not (sys.platform.startswith("linux") and os.uname().machine == "x86_64"):
        pytest.skip("no Chromium here: install one, or name it by AGIRAPH_CHROMIUM")
    return _of_package()


def _of_package() -> Chromium:
    """Return the Chromium of the npm package, with the libraries and the font that it brings."""
    installed(PACKAGE)
    folder = PACKAGE.folder / "unpacked"
    program, fonts = folder / "chromium", folder / "fonts.conf"
    with alone(PACKAGE.folder):
        if not fonts.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _unpack(folder)
            fonts.write_text(FONTS.format(folder=folder))
    libraries = os.pathsep.join([str(folder / "al2023" / "lib"), str(folder)])
    return Chromium(program, {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": str(fonts)})


def _unpack(folder: Path) -> None:
    # The second variable has it unpack libraries, too, that a bare system may lack.
    environ = {"TMPDIR": str(folder), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
    done = subprocess.run(
        ["node", "--eval", UNPACK],
        cwd=PACKAGE.folder,
        env=environment() | environ,
        capture_output=True,
        text=True,
        timeout=UNPACK_SECONDS,
        check=False,
    )
    if done.returncode:
        raise CannotInstall(f"{PACKAGE.package} cannot be unpacked: {done.stderr[-500:]}")
