"""The provider check against services that do all, and services that fail one probe each."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from agiraph.core.turns import Usage
from agiraph.llm.base import FailureKind, ProviderError
from agiraph.testing import provider
from agiraph.testing.probes import (
    CITIES,
    NO_SUCH_MODEL,
    PROBES,
    TOOL,
    Finding,
    judge_error,
    judge_overflow_error,
)
from tests.fakes.model_server import (
    Call,
    FakeModelServer,
    Reply,
    Responder,
    SeenRequest,
    call,
    calls,
    rate_limited,
    say,
    too_long,
)

APIS = ("openai", "responses", "anthropic", "google")
NAMES = [name for probe in PROBES for name in probe.names]
KEY = "CHECKED_SERVICE_KEY"


def probe_of(seen: SeenRequest) -> str:
    """Return the probe that a request belongs to."""
    if seen.model == NO_SUCH_MODEL:
        return "errors"
    if seen.tools:
        return "tool results" if seen.step else "tools"
    for words, name in (("colour", "images"), ("lighthouse", "answer limit"), ("code", "overflow")):
        if words in seen.said[-200:]:
            return name
    return "answers"


GOOD: dict[str, Reply] = {
    "answers": say("\n".join(map(str, range(1, 31)))),
    "tools": calls(*(call(TOOL.name, city=city) for city in CITIES)),
    "tool results": say("Paris has 17 degrees, Oslo 4."),
    "answer limit": Reply(text="There once was a", stop_reason="max_tokens"),
    "images": say("Red."),
    "overflow": too_long(),
}


def service(**odd: Reply) -> Responder:
    """Return a service that answers as it should, but for these probes."""
    replies = GOOD | {name.replace("_", " "): reply for name, reply in odd.items()}
    return lambda seen: replies[probe_of(seen)]


Check = Callable[..., tuple[int, dict[str, Finding]]]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Check]:
    """Return a function that checks a service and returns the exit code and the findings."""
    with FakeModelServer(service()) as server:
        monkeypatch.setenv(KEY, server.key)

        def run(
            responder: Responder, api: str = "openai", *more: str
        ) -> tuple[int, dict[str, Finding]]:
            server.responder = responder
            url = f"{server.url}/v1" if api in ("openai", "responses") else server.url
            options = ["--api", api, "--key-env", KEY, "--model", "fake", "--json"]
            options += ["--context", "2000", *more]
            code = provider.main([url, *options])
            found = json.loads(capsys.readouterr().out)["findings"]
            assert not server.problems
            return code, {one["probe"]: Finding(**one) for one in found}

        yield run


@pytest.mark.parametrize("api", APIS)
def test_every_probe_of_a_complete_service_works(check: Check, api: str) -> None:
    code, found = check(service(), api)
    assert {one.probe: one.outcome for one in found.values()} == dict.fromkeys(NAMES, "works")
    assert code == provider.DONE


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_tools_as_text_are_checked(check: Check, api: str) -> None:
    written = "".join(
        f'<tool_call>{{"name": "{TOOL.name}", "arguments": {{"city": "{city}"}}}}</tool_call>\n'
        for city in CITIES
    )

    def responder(seen: SeenRequest) -> Reply:
        if "temperatures" not in seen.said:
            return service()(seen)
        return GOOD["tool results"] if seen.step else say(written)

    code, found = check(responder, api, "--model", "text:fake")
    outcomes = {one.probe: one.outcome for one in found.values()}
    assert outcomes == dict.fromkeys(NAMES, "works") | {"images": "unknown"}
    assert code == provider.DONE


LONG = say("The lighthouse stood on a rock. " * 30)
ONE = call(TOOL.name, city="Paris")
TOO_MANY = Usage(input_tokens=10**9, output_tokens=40)
TOO_FEW = Usage(input_tokens=7, output_tokens=40)
IMPOSSIBLY_FEW = Usage(input_tokens=1, output_tokens=40)
BROKEN = Reply(calls=(Call(TOOL.name, raw='{"city": "Paris'),))
UNLIKE = Reply(status=400, error=("invalid", "bad value"))

FAULTS: dict[str, tuple[dict[str, Reply], str, str, str]] = {
    "the answer is empty": ({"answers": Reply(text=" ")}, "answers", "limited", "stop reason"),
    "the text comes in one piece": ({"answers": say("3")}, "streaming", "limited", "one piece"),
    "nothing is counted": (
        {"answers": replace(GOOD["answers"], is_counted=False)}, "usage", "limited", "no tokens"),
    "too many tokens are counted": (
        {"answers": replace(GOOD["answers"], usage=TOO_MANY)}, "usage", "limited", "cannot be"),
    "too few tokens are counted": (
        {"answers": replace(GOOD["answers"], usage=TOO_FEW)}, "usage", "limited", "too few"),
    "fewer tokens are counted than can be": (
        {"answers": replace(GOOD["answers"], usage=IMPOSSIBLY_FEW)}, "usage", "limited",
        "cannot be"),
    "no tool is called": ({"tools": say("17 and 4.")}, "tools", "fails", "text:NAME"),
    "arguments are cut": ({"tools": BROKEN}, "tools", "fails", "no JSON object"),
    "another tool is called": ({"tools": call("ask")}, "tools", "fails", "'ask'"),
    "arguments are others": ({"tools": call(TOOL.name, town="x")}, "tools", "limited", "None"),
    "only one tool is called": ({"tools": ONE}, "parallel calls", "limited", "1 call in"),
    "tools are refused": ({"tools": UNLIKE}, "tools", "fails", "bad value"),
    "calls are repeated": ({"tool_results": ONE}, "tool results", "limited", "called again"),
    "results are ignored": ({"tool_results": say("Warm.")}, "tool results", "fails", "Warm."),
    "results are refused": ({"tool_results": UNLIKE}, "tool results", "fails", "bad value"),
    "the limit is ignored": ({"answer_limit": LONG}, "answer limit", "fails", "ignored"),
    "a cut answer seems whole": ({"answer_limit": say("Once")}, "answer limit", "fails", "half"),
    "pictures are refused": ({"images": UNLIKE}, "images", "limited", "bad value"),
    "pictures are not seen": ({"images": say("I see none")}, "images", "limited", "i see none"),
    "the window is larger": ({"overflow": say("Heron")}, "overflow", "unknown", "--context"),
    "the conversation is cut": ({"overflow": say("ten")}, "overflow", "fails", "without a word"),
    "overflow is not recognised": ({"overflow": UNLIKE}, "overflow", "fails", "bad_request"),
    "a probe meets a busy service": ({"tools": rate_limited()}, "tools", "unknown", "run it again"),
}  # fmt: skip


@pytest.mark.parametrize(("odd", "probe", "outcome", "detail"), FAULTS.values(), ids=FAULTS)
def test_fault_of_a_service_is_found(
    check: Check, odd: dict[str, Reply], probe: str, outcome: str, detail: str
) -> None:
    code, found = check(service(**odd))
    assert found[probe].outcome == outcome
    assert detail in found[probe].detail
    assert code == (provider.FAILED if outcome == "fails" else provider.DONE)
    assert list(found) == NAMES


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("unknown_model", "works"), ("bad_request", "limited"), ("overloaded", "fails")],
)
def test_error_finding_follows_from_its_kind(kind: FailureKind, outcome: str) -> None:
    found = judge_error(ProviderError(kind, "no such model"))
    assert found.outcome == outcome
    assert "no such model" in found.detail


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("context_too_long", "works"), ("timed_out", "unknown"), ("overloaded", "fails")],
)
def test_finding_on_a_refused_long_request_follows_from_its_kind(
    kind: FailureKind, outcome: str
) -> None:
    assert judge_overflow_error(ProviderError(kind, "too much")).outcome == outcome


def test_service_that_answers_nothing_is_asked_once(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "wrong-key")
    code, found = check(service())
    assert code == provider.FAILED
    assert "bad_key" in found["answers"].detail
    assert "wrong-key" not in found["answers"].detail
    others = [found[name].outcome for name in NAMES if name != "answers"]
    assert others == ["unknown"] * len(others)


def test_busy_service_is_asked_once_and_fails(check: Check) -> None:
    code, found = check(service(answers=rate_limited()))
    assert code == provider.FAILED
    assert "run it again" in found["answers"].detail
    assert "not tried" in found["tools"].detail


def test_call_with_more_tokens_than_allowed_is_not_made(check: Check) -> None:
    code, found = check(service(), "openai", "--most-tokens", "1000")
    assert code == provider.DONE
    assert (found["overflow"].outcome, "--most-tokens" in found["overflow"].detail) == (
        "unknown",
        True,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--service", "antropic"], "unknown service 'antropic' (known: anthropic, openai,"),
        (["--key-env", "NO_SUCH_KEY"], "no key for compatible: set NO_SUCH_KEY"),
        (["--context", "0"], "'0' is no number above 0"),
        (["--api", "soap"], "invalid choice: 'soap'"),
        ([], "which model? name one with --model"),
    ],
)
def test_wrong_usage_is_refused_before_a_call(
    capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    model = ["--model", "fake"] if options else []
    with pytest.raises(SystemExit) as ended:
        provider.main(["http://127.0.0.1:9/v1", *model, *options])
    assert ended.value.code == provider.WRONG_USAGE
    assert expected in capsys.readouterr().err


def test_single_model_of_a_service_is_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeModelServer(service()) as server:
        monkeypatch.setenv(KEY, server.key)
        monkeypatch.setenv("COLUMNS", "60")
        options = ["--key-env", KEY, "--context", "2000"]
        assert provider.main([f"{server.url}/v1", *options]) == provider.DONE
    shown = capsys.readouterr()
    assert "compatible/fake" in shown.err
    assert "7 times at most" in shown.err
    assert max(map(len, [*shown.out.splitlines(), *shown.err.splitlines()])) <= 60


def test_control_characters_in_a_service_message_are_not_printed() -> None:
    found = Finding("errors", "limited", "no\x1b[2J such\u202e model\n" + "x" * 200)
    shown = provider.row(found, 80)
    assert all(c.isprintable() for c in shown.replace("\n", ""))
    assert max(map(len, shown.splitlines())) <= 80


def test_known_service_is_asked_by_its_preset() -> None:
    options = provider._parser().parse_args(["https://api.openai.com/v1", "--model", "gpt-5.2"])
    target = provider.target_of(options, {"OPENAI_API_KEY": "k"})
    assert (str(target.model), target.subject.api) == ("openai/gpt-5.2", "responses")
    assert target.preset.max_tokens_field == "max_completion_tokens"
