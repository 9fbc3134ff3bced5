"""The command line, run in the test's own process.

A separate process spends most of its time on imports, so only tests about processes start one.
"""

import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from cli.main import agiraph


def run_here(
    args: tuple[str, ...], *, cwd: Path, environ: Mapping[str, str], stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run `agiraph ARGS...` to its end with these variables and no others."""
    hidden: dict[str, str | None] = {name: None for name in os.environ if name not in environ}
    with contextlib.chdir(cwd):
        done = CliRunner(env=hidden | dict(environ)).invoke(
            agiraph, args, input=stdin, prog_name="agiraph"
        )
    return subprocess.CompletedProcess(args, done.exit_code, done.stdout, done.stderr)
