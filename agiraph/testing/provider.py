"""The provider check: calls a model service as Agiraph does, and reports which features work.

    python -m agiraph.testing.provider https://models.example.com/v1 --model NAME

Each probe is a call through Agiraph's own provider of the service's wire format, so that a team
would meet the same. `agiraph.testing.probes` has the requests and the judgements.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import textwrap
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, get_args
from urllib.parse import urlsplit

from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.turns import ModelRequest, Usage
from agiraph.llm.base import PartialUsage, Provider, ProviderError, UsageSoFar
from agiraph.llm.connect import adapted, connect
from agiraph.llm.providers.forwarding import ForwardingProvider
from agiraph.llm.providers.service import ServiceProvider
from agiraph.llm.token_counts import InputSize, input_size
from agiraph.models.local_servers import find_servers
from agiraph.models.registry import (
    BUILT_IN,
    Api,
    ModelName,
    ProviderPreset,
    load_presets,
    parse_model,
)
from agiraph.testing.probes import PROBES, Finding, ProbeCall, Subject, picture_body, without

DONE, FAILED, WRONG_USAGE, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
OTHER_SERVICE: Final = "compatible"
MOST_TOKENS: Final = 100_000
SECONDS: Final = 120.0
NAME_WIDTH, OUTCOME_WIDTH = 16, 9
NARROWEST: Final = 40
APIS: Final = tuple(api for api in get_args(Api) if api not in BUILT_IN)
EXAMPLES: Final = """\
examples:
  python -m agiraph.testing.provider http://127.0.0.1:11434/v1 --model qwen3
  python -m agiraph.testing.provider https://models.example.com/v1 --model large --key-env LAB_KEY
  python -m agiraph.testing.provider https://api.anthropic.com --model claude-haiku-4-5
  python -m agiraph.testing.provider http://127.0.0.1:8000/v1 --context 131072 --most-tokens 400000
  python -m agiraph.testing.provider http://127.0.0.1:8080/v1 --model text:tiny --json

outcomes: works; limited (Agiraph works without it); fails (a team cannot rely on it);
unknown (not tried, or busy). Exit codes: 0 no probe fails, 1 a probe fails or no call is
answered, 2 wrong usage.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """The service to check: its name and preset, and the model to call."""

    preset: ProviderPreset
    model: ModelName
    window: int

    @property
    def subject(self) -> Subject:
        """The facts about the target that the probes need."""
        return Subject(self.model.plain, self.preset.of(self.model.name).api, self.window)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return asyncio.run(_check(options))
    except AgiraphError as error:
        parser.exit(WRONG_USAGE, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted\n")
    except BrokenPipeError:  # the reader has gone; the last flush would fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # plain: the null device
        return CLOSED_PIPE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agiraph.testing.provider",
        description="Call a model service as Agiraph does, and say what works. Costs a few calls.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", metavar="URL", help="the base URL of the service")
    parser.add_argument("--model", help="model to ask (text:NAME describes tools in the prompt)")
    parser.add_argument("--api", choices=APIS, help="wire format (default: that of the service)")
    parser.add_argument(
        "--service", help="use the preset of this service (default: the one with this URL)"
    )
    parser.add_argument("--key-env", metavar="VARIABLE", help="the variable that holds the key")
    parser.add_argument(
        "--context", type=_count, metavar="TOKENS", help="the context window of the model"
    )
    parser.add_argument(
        "--most-tokens", type=_count, default=MOST_TOKENS, metavar="TOKENS",
        help=f"do not make a call with more tokens of input (default: {MOST_TOKENS})",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=_count, default=SECONDS, metavar="SECONDS",
        help=f"wait this long for an answer (default: {SECONDS:.0f})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)


# --- the target ----------------------------------------------------------------------------------


def target_of(options: argparse.Namespace, environ: Mapping[str, str]) -> Target:
    """Return the service and the model that the options name. Raises InvalidInput."""
    presets = load_presets()
    name = options.service or _service_at(options.url, presets)
    if name not in presets or presets[name].api in BUILT_IN:
        known = ", ".join(one for one, preset in presets.items() if preset.api not in BUILT_IN)
        raise InvalidInput(f"--service: unknown service '{name}' (known: {known})")
    changes: dict[str, object] = {"base_url": options.url, "base_url_env": None}
    if options.api:
        rows = presets[name].models.items()
        others = {model: {k: v for k, v in row.items() if k != "api"} for model, row in rows}
        changes |= {"api": options.api, "models": others}
    if options.key_env:
        changes |= {"key_env": options.key_env, "needs_key": True, "local": False}
    preset = presets[name].model_copy(update=changes)
    usual = None if preset.local else preset.usual_model
    asked = options.model or usual or _only_model(name, preset, environ)
    in_text, bare = asked.startswith("text:"), asked.removeprefix("text:")
    model = parse_model(f"{'text:' * in_text}{name}/{bare}", {name: preset})
    return Target(preset, model, options.context or preset.window(bare))


def _service_at(url: str, presets: Mapping[str, ProviderPreset]) -> str:
    """Return the service whose preset has this host and port, else `compatible`."""
    place = urlsplit(url).netloc
    at = (name for name, one in presets.items() if urlsplit(one.base_url or "").netloc == place)
    return next(at, OTHER_SERVICE) if place else OTHER_SERVICE


def _only_model(name: str, preset: ProviderPreset, environ: Mapping[str, str]) -> str:
    """Return the only model that a service serves. Raises InvalidInput unless there is exactly
    one.
    """
    listed = find_servers({name: preset.model_copy(update={"local": True})}, environ)[name]
    if len(listed.models) == 1:
        return listed.models[0]
    served = ", ".join(listed.models[:20])
    why = f"it serves: {served}" if served else f"its list of models: {listed.problem}"
    raise InvalidInput(f"which model? name one with --model ({why})")


# --- calls ---------------------------------------------------------------------------------------


async def _check(options: argparse.Namespace) -> int:
    target = await asyncio.to_thread(target_of, options, os.environ)
    name = target.model.provider
    service = await asyncio.to_thread(
        connect, name, {name: target.preset}, os.environ,
        timeout_seconds=options.timeout, model=target.model.name,
    )  # fmt: skip
    _announce(target, options.most_tokens)
    attempts: dict[str, ProbeCall] = {}
    findings: list[Finding] = []
    try:
        async for finding in _probe(service, target, options.most_tokens, attempts):
            findings.append(finding)
            if not options.json:
                print(row(finding, shutil.get_terminal_size().columns), flush=True)
    finally:
        await service.close()
    usages = (one.so_far.usage for one in attempts.values() if one.so_far is not None)
    usage = sum(usages, start=Usage())
    if options.json:
        about = {"url": options.url, "service": name, "api": target.subject.api}
        about |= {"model": target.model.name, "calls": len(attempts)}
        counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        print(json.dumps(about | counts | {"findings": [asdict(one) for one in findings]}))
    else:
        print(f"{len(attempts)} calls, {usage.input_tokens:,} tokens of input and "
              f"{usage.output_tokens:,} of answers")  # fmt: skip
    is_answered = findings[0].outcome != "unknown"
    return DONE if is_answered and all(one.outcome != "fails" for one in findings) else FAILED


def _announce(target: Target, most_tokens: int) -> None:
    requests = [probe.ask(target.subject, {}) for probe in PROBES[:2] + PROBES[3:]]
    sizes = [input_size(one).guess for one in requests if one is not None]
    tokens = sum(size for size in sizes if size <= most_tokens)
    answers = sum(one.max_tokens for one in requests if one is not None)
    said = (
        f"asks {target.model} {len(PROBES)} times at most: about {tokens:,} tokens of input, at "
        f"most {answers:,} of answers (a refused request is usually free)"
    )
    print(textwrap.fill(said, max(NARROWEST, shutil.get_terminal_size().columns)), file=sys.stderr)


async def _probe(
    service: Provider, target: Target, most_tokens: int, attempts: dict[str, ProbeCall]
) -> AsyncIterator[Finding]:
    """Make the probes one after the other, adding to `attempts`; yield their findings."""
    provider = adapted(service, target.model, target.preset)
    for number, probe in enumerate(PROBES):
        request = probe.ask(target.subject, attempts)
        size = 0 if request is None else input_size(request).guess
        findings: Sequence[Finding]
        if request is None:
            findings = without(probe.names, "no call came before it")
        elif size > most_tokens:
            findings = without(probe.names, f"about {size:,} tokens; see --most-tokens")
        elif probe.name == "images" and target.model.in_text:
            findings = without(probe.names, "external agents use no model with tools as text")
        else:
            asked = _with_picture(service, target, request) if probe.name == "images" else provider
            attempts[probe.name] = await _attempt(asked, request)
            findings = probe.findings(attempts[probe.name])
        for finding in findings:
            yield finding
        if not number and findings[0].outcome in ("fails", "unknown"):
            names = [name for other in PROBES[1:] for name in other.names]
            for finding in without(names, "nothing is answered"):
                yield finding
            return


async def _attempt(provider: Provider, request: ModelRequest) -> ProbeCall:
    pieces: list[str] = []
    metered: list[UsageSoFar] = []
    try:
        answer = await provider.generate(request, pieces.append, metered.append)
    except ProviderError as error:
        return ProbeCall(request, error=error)
    so_far: PartialUsage | None = metered[0]() if metered else None
    return ProbeCall(request, answer=answer, pieces=len(pieces), so_far=so_far)


class _Nowhere:
    """A sink for a forwarded answer that ignores the answer's bytes."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Ignore the head."""

    async def write(self, data: bytes) -> None:
        """Ignore a piece."""


def _with_picture(service: Provider, target: Target, request: ModelRequest) -> Provider:
    """Return a provider that sends `request` with a picture, as the LLM proxy forwards it."""
    assert isinstance(service, ServiceProvider)
    wire = service.service.wire
    return ForwardingProvider(
        service.service,
        wire.rules.checked(picture_body(request, target.subject.api)),
        _Nowhere(),
        size=InputSize(0, 0),
        traits=target.preset.of(target.model.name),
        headers={},
        query="",
    )


# --- output --------------------------------------------------------------------------------------


def row(finding: Finding, width: int) -> str:
    """Return a finding as lines of at most `width` characters, without control characters."""
    detail = "".join(c if c.isprintable() else " " for c in finding.detail)
    margin = NAME_WIDTH + OUTCOME_WIDTH
    lines = textwrap.wrap(detail, max(NARROWEST, width - 1) - margin) or [""]
    head = f"{finding.probe:<{NAME_WIDTH}}{finding.outcome:<{OUTCOME_WIDTH}}"
    return f"\n{' ' * margin}".join([head + lines[0], *lines[1:]])


if __name__ == "__main__":
    sys.exit(main())
