"""`python -m tests.minds GOAL --dir D`: play a goal; each model request is answered by hand."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from tests.fakes.model_server import FakeModelServer
from tests.minds.by_hand import AnswersByHand
from tests.minds.goals import GOALS
from tests.minds.report import table

DAY_SECONDS: Final = 86_400
SETTINGS: Final = {
    "broker": {"timeout_seconds": DAY_SECONDS},
    "run": {"node_timeout_seconds": DAY_SECONDS},
}
"""A person takes minutes for an answer; all else is as shipped."""


def main(words: Sequence[str] | None = None) -> int:
    """Play one goal, or print the report of a play; return the exit code of `agiraph run`."""
    wanted = _read(words)
    folder = wanted.dir.resolve()
    requests = folder / "requests"
    if wanted.report:
        print(*table(requests), sep="\n")
        return 0
    for one in (requests, folder / "home", folder / "input"):
        one.mkdir(parents=True, exist_ok=True)
    goal = GOALS[wanted.goal]
    if not any((folder / "input").iterdir()):
        goal.fill(folder / "input")
    (folder / "home" / "agiraph.yaml").write_text(yaml.safe_dump(SETTINGS), "utf-8")
    hand = AnswersByHand(requests)
    print(f"requests appear in {requests}: answer NAME.md in NAME.answer.yaml", file=sys.stderr)
    with FakeModelServer(hand) as server:
        model = ["--model", "anthropic/by-hand", "--worker-model", "anthropic/by-hand"]
        words = ["run", goal.text, "--input", str(folder / "input"), *model, *wanted.options]
        environ = os.environ | server.env("anthropic") | {"AGIRAPH_HOME": str(folder / "home")}
        done = subprocess.run(
            [sys.executable, "-m", "agiraph", *words], env=environ, check=False, timeout=DAY_SECONDS
        )
        hand.close()
    print(*table(requests), sep="\n")
    return done.returncode


def _read(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.minds", description=__doc__)
    parser.add_argument("goal", choices=[*GOALS], help="the goal to play")
    parser.add_argument(
        "--dir", type=Path, required=True, help="requests, answers, home and input are there"
    )
    parser.add_argument("--report", action="store_true", help="print the table of a play again")
    parser.add_argument(
        "options", nargs="*", metavar="OPTION", help="options of `agiraph run`, after --"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
