"""Make the README's picture again: run the survey for real and draw what it printed.

python docs/pictures.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
WIDTH = 108
MOST_LINES = 42


def run_survey(home: str) -> list[str]:
    """Return what one run printed: progress and result, a line each."""
    command = [sys.executable, "-P", "-m", "agiraph", "run", "Survey this folder"]
    done = subprocess.run(
        [*command, "--home", home, "--input", "configs/sample"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def draw(lines: list[str]) -> str:
    """Return the lines as the SVG picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(Text('$ agiraph run "Survey this folder"', style="bold"))
    for line in lines[:MOST_LINES]:
        name, gap, said = line.partition("  ")
        style = "cyan" if gap and name and " " not in name else ""
        shown = Text.assemble((name, style), gap + said)
        shown.truncate(WIDTH, overflow="ellipsis")
        console.print(shown)
    return console.export_svg(title="agiraph")


def main() -> None:
    """Write docs/run.svg."""
    with tempfile.TemporaryDirectory() as home:
        lines = run_survey(home)
    (ROOT / "docs" / "run.svg").write_text(draw(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
