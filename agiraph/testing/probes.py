"""Probes: the requests of the provider check, and the findings that follow from answers. Pure."""

import base64
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from agiraph.core.turns import (
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolSchema,
    ToolTurn,
    UserTurn,
)
from agiraph.llm.base import RETRYABLE, PartialUsage, ProviderError
from agiraph.llm.token_counts import believed_usage, input_size
from agiraph.models.registry import Api

Outcome = Literal["works", "limited", "fails", "unknown"]
"""`limited`: Agiraph works without it, or with an estimate. `fails`: a team cannot rely on it.
`unknown`: the probe was not made, or its call failed in a way that may pass."""

ANSWER_TOKENS: Final = 2048
"""The longest answer of a probe; a reasoning model needs some of it before its first word."""
CUT_TOKENS: Final = 16
CUT_CHARACTERS: Final = 400
"""An answer of CUT_TOKENS is shorter."""
LONGEST_TOKEN: Final = 8
"""More characters than an average token of English has (4 to 5)."""
OVERFILL: Final = 1.25
WORDS: Final = "one two three four five six seven eight nine ten "
"""Each word is about one token for every tokenizer."""
CODE_WORD: Final = "heron"
SAYS_NOTHING: Final = ("rate_limited", "no_credit", "timed_out")
"""The failures of a long request that do not say how the service refuses one."""
NO_SUCH_MODEL: Final = "no-such-model-agiraph"
CITIES: Final = {"Paris": 17, "Oslo": 4}
TOOL: Final = ToolSchema(
    name="look_up_temperature",
    description="Return the temperature of a city, in degrees Celsius.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The name of one city."}},
        "required": ["city"],
    },
)
QUESTION: Final = (
    "What are the temperatures in Paris and in Oslo? Call look_up_temperature for both cities in "
    "one answer, before you read a result. Then answer in one sentence."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a probe; `detail` is the observation, and how Agiraph deals with it."""

    probe: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """One call: its request, and its answer or its error.

    `pieces` is the number of streamed pieces of text, `so_far` the usage reported before the end.
    """

    request: ModelRequest
    answer: ModelResponse | None = None
    error: ProviderError | None = None
    pieces: int = 0
    so_far: PartialUsage | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """The checked model (`service/name`), its wire format and its context window."""

    model: str
    api: Api
    window: int

    def request(self, text: str, *, max_tokens: int = ANSWER_TOKENS) -> ModelRequest:
        """Return a request with one turn."""
        turns = (UserTurn(content=text),)
        return ModelRequest(
            model=self.model, system="Answer briefly.", turns=turns, max_tokens=max_tokens
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """One call, and the findings that follow from it; `names` are the names of its findings.

    `ask` returns the request, None if an earlier attempt (by the name of its probe) rules it out.
    """

    names: tuple[str, ...]
    ask: Callable[[Subject, dict[str, ProbeCall]], ModelRequest | None]
    judge: Callable[[ProbeCall, ModelResponse], Iterable[Finding]]
    judge_error: Callable[[ProviderError], Finding] | None = None

    @property
    def name(self) -> str:
        """The name of its first finding."""
        return self.names[0]

    def findings(self, attempt: ProbeCall) -> list[Finding]:
        """Return a finding for each of the probe's names, from its call."""
        if attempt.answer is not None:
            return list(self.judge(attempt, attempt.answer))
        assert attempt.error is not None
        first = (self.judge_error or self._failed)(attempt.error)
        return [first, *without(self.names[1:], f"{self.name}: see above")]

    def _failed(self, error: ProviderError) -> Finding:
        outcome: Outcome = "unknown" if error.is_retryable else "fails"
        again = "; run it again later" if error.is_retryable else ""
        return Finding(self.name, outcome, f"{error.kind}: {error}{again}")


def without(names: Iterable[str], why: str) -> list[Finding]:
    """Return the findings of probes that were not made."""
    return [Finding(name, "unknown", f"not tried ({why})") for name in names]


# --- text, streaming, usage ----------------------------------------------------------------------


def _ask_to_count(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    return subject.request("Write the numbers from 1 to 30 in digits, one in each line.")


def judge_text(attempt: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Return findings about a list of 30 numbers: whether it is complete, streamed, and metered."""
    text = answer.text or ""
    if "30" in text:
        yield Finding("answers", "works", "the answer came whole")
    else:
        detail = f"expected the numbers to 30; stop reason {answer.stop_reason}: {text[-80:]!r}"
        yield Finding("answers", "limited" if text else "fails", detail)
    if attempt.pieces > 1:
        detail = f"{attempt.pieces} pieces of text"
        yield Finding("streaming", "works", detail)
    else:
        detail = "the text came in one piece: it is shown when the answer is complete"
        yield Finding("streaming", "limited", detail)
    yield _judge_usage(attempt)


def _judge_usage(attempt: ProbeCall) -> Finding:
    assert attempt.so_far is not None
    counted, request = attempt.so_far.usage, attempt.request
    believed = believed_usage(attempt.so_far, input_size(request), request.max_tokens)
    told = f"{counted.input_tokens} tokens of input, {counted.output_tokens} of the answer"
    if not counted.tokens:
        detail = "the service counts no tokens: Agiraph bills an estimate"
    elif believed.is_estimate:
        detail = f"cannot be true: {told}; Agiraph bills an estimate"
    elif counted.input_tokens * LONGEST_TOKEN < sum(map(len, _texts(request))):
        detail = f"too few: {told}; Agiraph measures the conversation by its own estimate"
    else:
        return Finding("usage", "works", told)
    return Finding("usage", "limited", detail)


def _texts(request: ModelRequest) -> list[str]:
    return [request.system, *(t.content for t in request.turns if isinstance(t, UserTurn))]


# --- tools ---------------------------------------------------------------------------------------


def _ask_for_calls(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    return subject.request(QUESTION).model_copy(update={"tools": (TOOL,)})


def judge_calls(_: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Return findings about an answer that should call a tool twice."""
    calls = answer.tool_calls
    if not calls:
        text = f"no call, but text: {(answer.text or '')[:80]!r}; try it with --model text:NAME"
        yield Finding("tools", "fails", text)
        yield from without(["parallel calls"], "there was no call")
        return
    broken = [call for call in calls if call.malformed is not None]
    wrong = [call for call in calls if call.name != TOOL.name]
    cities = {str(call.arguments.get("city")).partition(",")[0] for call in calls}
    strange = sorted(cities - CITIES.keys())
    if broken:
        detail = f"arguments that are no JSON object: {broken[0].malformed!r:.80}"
        yield Finding("tools", "fails", detail)
    elif wrong:
        detail = f"a call of {wrong[0].name!r:.60} instead of {TOOL.name}"
        yield Finding("tools", "fails", detail)
    elif strange:
        detail = f"the argument city is {strange[0]!r:.60}, expected Paris or Oslo"
        yield Finding("tools", "limited", detail)
    else:
        yield Finding("tools", "works", "name and arguments are right")
    if len(calls) == len(CITIES) and not (broken or wrong or strange):
        detail = f"{len(calls)} calls in one answer"
        yield Finding("parallel calls", "works", detail)
    else:
        detail = f"{len(calls)} call{'s' * (len(calls) > 1)} in the answer, expected 2"
        outcome: Outcome = "fails" if broken or len(calls) > 2 else "limited"
        yield Finding("parallel calls", outcome, detail)


def _give_results(subject: Subject, earlier: dict[str, ProbeCall]) -> ModelRequest | None:
    asked = earlier["tools"]
    if asked.answer is None or not asked.answer.tool_calls:
        return None
    results = [
        ToolTurn(
            call_id=call.id,
            name=call.name,
            content=f"{CITIES.get(str(call.arguments.get('city')).partition(',')[0], 9)} degrees",
        )
        for call in asked.answer.tool_calls
    ]
    turns = (*asked.request.turns, asked.answer.turn(), *results)
    return asked.request.model_copy(update={"turns": turns})


def judge_results(_: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Return the finding whether the results of calls were accepted and read."""
    text = answer.text or ""
    if any(str(degrees) in text for degrees in CITIES.values()):
        yield Finding("tool results", "works", "accepted and read")
    elif answer.tool_calls:
        detail = "accepted; the model called again instead of answering"
        yield Finding("tool results", "limited", detail)
    else:
        detail = f"accepted, but not in the answer: {text[:80]!r}"
        yield Finding("tool results", "fails", detail)


# --- limits --------------------------------------------------------------------------------------


def _ask_for_too_much(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    text = "Write a story of 300 words about a lighthouse."
    return subject.request(text, max_tokens=CUT_TOKENS)


def judge_cut(_: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Return the finding whether an answer that was cut at its limit reports that."""
    length = len(answer.text or "")
    if answer.stop_reason == "max_tokens":
        detail = "an answer at its limit says that it is cut"
        yield Finding("answer limit", "works", detail)
    elif length > CUT_CHARACTERS:
        detail = f"ignored: {length} characters for {CUT_TOKENS} tokens; budgets may be exceeded"
        yield Finding("answer limit", "fails", detail)
    else:
        detail = f"an answer cut at its limit has the stop reason {answer.stop_reason}: half a file"
        yield Finding("answer limit", "fails", f"{detail} would seem whole")


def _ask_beyond_window(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    times = int(subject.window * OVERFILL / len(WORDS.split())) + 1
    text = f"The code word is {CODE_WORD}.\n{WORDS * times}\nWhat is the code word?"
    return subject.request(text, max_tokens=256)


def judge_overflow(_: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Return the finding about an answer to a too long input, which should have been refused."""
    counted = answer.usage.input_tokens
    if CODE_WORD in (answer.text or "").lower():
        detail = f"{counted:,} tokens of input were read: the window is larger; see --context"
        yield Finding("overflow", "unknown", detail)
    else:
        detail = (
            f"no refusal, and the beginning was not read ({counted:,} tokens counted): the service "
            "cuts long conversations without a word; set `context` to its window"
        )
        yield Finding("overflow", "fails", detail)


def judge_overflow_error(error: ProviderError) -> Finding:
    """Return the finding whether Agiraph recognises a refusal of an input that is too long."""
    if error.kind == "context_too_long":
        detail = f"recognised; the conversation is compacted and sent again: {error}"
        return Finding("overflow", "works", detail)
    outcome: Outcome = "unknown" if error.kind in SAYS_NOTHING else "fails"
    return Finding("overflow", outcome, f"taken for {error.kind}: {error}")


# --- errors --------------------------------------------------------------------------------------


def _ask_unknown_model(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    service = subject.model.partition("/")[0]
    return Subject(f"{service}/{NO_SUCH_MODEL}", subject.api, subject.window).request("Say yes.")


def judge_any_model(_: ProbeCall, _answer: ModelResponse) -> Iterable[Finding]:
    """Yield the finding for an answer of a model that does not exist."""
    detail = "answers for any name of a model: a wrong name is not noticed"
    yield Finding("errors", "limited", detail)


def judge_error(error: ProviderError) -> Finding:
    """Return the finding for the error of a model that does not exist."""
    if error.kind in RETRYABLE:
        detail = f"taken for {error.kind}, so that the call is made again: {error}"
        return Finding("errors", "fails", detail)
    if error.kind == "unknown_model":
        return Finding("errors", "works", f"understood: {error}")
    detail = f"an unknown model is taken for {error.kind}: {error}"
    return Finding("errors", "limited", detail)


# --- images --------------------------------------------------------------------------------------


def _ask_about_picture(subject: Subject, _: dict[str, ProbeCall]) -> ModelRequest:
    return subject.request("Which colour has this picture? Answer with one word.")


def picture_body(request: ModelRequest, api: Api) -> JsonObject:
    """Return a request with a picture as an external agent sends it, for the LLM proxy to forward.

    So it is sent whether or not the preset says that the model has vision.
    """
    data = base64.b64encode(red_picture()).decode()
    url, turn = f"data:image/png;base64,{data}", request.turns[0]
    assert isinstance(turn, UserTurn)
    text = turn.content
    if api == "google":
        inline = {"inlineData": {"mimeType": "image/png", "data": data}}
        return {"stream": True, "contents": [{"role": "user", "parts": [inline, {"text": text}]}]}
    content: list[JsonObject]
    if api == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content = [{"type": "image", "source": source}, {"type": "text", "text": text}]
    elif api == "responses":
        content = [{"type": "input_image", "image_url": url}, {"type": "input_text", "text": text}]
    else:
        picture = {"type": "image_url", "image_url": {"url": url}}
        content = [picture, {"type": "text", "text": text}]
    turns = "input" if api == "responses" else "messages"
    return {"stream": True, turns: [{"role": "user", "content": content}]}


def red_picture(side: int = 64) -> bytes:
    """Return a red square as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows = (b"\0" + b"\xff\x00\x00" * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def judge_picture(_: ProbeCall, answer: ModelResponse) -> Iterable[Finding]:
    """Judge whether a picture was seen."""
    text = (answer.text or "").lower()
    if "red" in text:
        yield Finding("images", "works", "a red square was seen as red")
    else:
        detail = f"accepted, but a red square was seen as: {text[:80]!r}"
        yield Finding("images", "limited", detail)


def judge_picture_error(error: ProviderError) -> Finding:
    """Return the finding for a refused picture; the model needs `vision: false`."""
    outcome: Outcome = "unknown" if error.is_retryable else "limited"
    detail = f"none can be sent, so `vision` must be false: {error.kind}: {error}"
    return Finding("images", outcome, detail)


PROBES: Final = (
    Probe(("answers", "streaming", "usage"), _ask_to_count, judge_text),
    Probe(("tools", "parallel calls"), _ask_for_calls, judge_calls),
    Probe(("tool results",), _give_results, judge_results),
    Probe(("answer limit",), _ask_for_too_much, judge_cut),
    Probe(("images",), _ask_about_picture, judge_picture, judge_picture_error),
    Probe(("errors",), _ask_unknown_model, judge_any_model, judge_error),
    Probe(("overflow",), _ask_beyond_window, judge_overflow, judge_overflow_error),
)
"""In the order in which they are made: if the first fails, the others would fail alike."""
