"""No calls at the LLM proxy, however many at once, spend more than the budget and one estimate.

A service of each format bills as the real services do: for each requested answer, up to the limit
in the request, at the price of the tier. It may report any counts.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Literal

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.broker.call_quarantine import CallQuarantine
from actors.broker.calls import ModelCalls
from actors.broker.llm_proxy.call import ProxyRequest
from actors.broker.llm_proxy.grant_table import ProxyGrant
from actors.broker.llm_proxy.proxy import LlmProxy
from actors.runtime.crash_counter import CrashCounter
from agiraph.core.clock import SystemClock
from agiraph.core.errors import InvalidInput
from agiraph.core.money import SpendingLimits
from agiraph.core.turns import JsonObject
from agiraph.llm.base import Provider
from agiraph.llm.connect import FORMATS
from agiraph.llm.provider_pool import ProviderPool
from agiraph.llm.providers.service import HttpService, ServiceProvider
from agiraph.llm.token_counts import LARGEST_WINDOW, LONGEST_TOKEN, MOST_HIDDEN_TOKENS
from agiraph.logs.log import logger
from agiraph.models.prices import Price
from agiraph.models.registry import ModelName, load_presets
from agiraph.settings.config import load_config
from agiraph.spending.agent_budgets import AgentBudgets
from agiraph.spending.ledger import UsageLedger
from agiraph.storage.home import Home
from tests.fakes.accounts import begin_run
from tests.unit.broker.stubs import quick_config

PRICE = Price(input=3, output=15)
PROVIDERS = {
    "anthropic": "anthropic", "openai": "openai", "responses": "openai-responses",
    "google": "google",
}  # fmt: skip
"""A provider for each format."""
UNLIMITED = 100_000
"""The length of an answer whose request has no limit."""
WITHIN_SECONDS = 90.0
Report = Literal["true", "none", "negative", "enormous", "at the bound", "one"]


@dataclass(frozen=True)
class GeneratedRequest:
    """One request: its format, its additions to a plain body, and the service's answer.

    `density` is the number of tokens in a byte of the input, `length` the share of the limit that
    the answer uses. The agent disconnects after `patience` rounds of the event loop, None: never.
    """

    api: str
    more: JsonObject
    text: int
    density: float
    length: float
    report: Report
    patience: int | None
    nested: tuple[JsonObject, ...] = ()
    """Further items of the conversation, or parts of its message."""
    document: int = 0
    """The number of tokens that the service bills for a small document; 0: there is none."""


STORED_TOKENS = 500_000
"""The number of tokens in the content to which a reference in a request leads."""


def references(value: Any) -> int:
    """Return how many references to content stored at the service are in a body, at any depth."""
    if isinstance(value, list):
        return sum(map(references, value))
    if not isinstance(value, dict):
        return 0
    named = {name.replace("_", "").lower() for name, inner in value.items() if inner is not None}
    kind = value.get("type")
    is_reference = "id" in named and kind in (None, "item_reference") and "role" not in named
    is_bare = "id" in named and (
        (kind == "image_generation_call" and not value.get("result"))
        or (kind == "reasoning" and not value.get("encrypted_content"))
    )
    found = len(named & {"fileid", "fileids", "containerid", "filedata", "googlesearch"})
    is_file = value.get("type") in ("file", "input_file")
    if is_file or isinstance(value.get("file_data"), str):  # a file in the request itself
        found -= "filedata" in named
    return found + is_reference + is_bare + sum(map(references, value.values()))


@dataclass
class BillingService:
    """A model service that answers with as many tokens as it is allowed to, and bills them."""

    waiting: list[GeneratedRequest] = field(default_factory=list)
    billed_usd: float = 0.0
    billed_tokens: int = 0
    answered_bytes: int = 0
    largest_bytes: int = 0
    largest_document: int = 0

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request of any format."""
        body = json.loads(request.content)
        asked = self.waiting[int(str(body).partition("call-")[2].partition("!")[0])]
        await asyncio.sleep(0)
        fields = {**body, **body.get("generationConfig", {})}
        answers = fields.get("n", 1) * fields.get("best_of", 1) * fields.get("candidateCount", 1)
        limits = [fields[name] for name in LIMITS if type(fields.get(name)) is int]
        longest = max(limits) if limits and min(limits) > 0 else UNLIMITED
        asked_tokens = int(len(request.content) * asked.density) + 1
        asked_tokens += STORED_TOKENS * references(body) + asked.document
        said_tokens = int(longest * asked.length) + 1
        tier = 2 if fields.get("service_tier") == "priority" or fields.get("speed") else 1
        cost = asked_tokens * PRICE.input + answers * said_tokens * PRICE.output
        self.billed_usd += tier * cost / 1e6
        self.billed_tokens += asked_tokens + answers * said_tokens
        self.largest_document = max(self.largest_document, asked.document)
        self.largest_bytes = max(self.largest_bytes, len(request.content))
        if body.get("background"):
            return httpx2.Response(200, json={"status": "queued", "output": []})
        text = "word" * min(said_tokens, 500)
        self.answered_bytes += len(text)
        reported = _reported(asked, asked_tokens, answers * said_tokens, longest)
        return httpx2.Response(200, json=_answer(asked.api, text, *reported))


LIMITS = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens",
    "max_output_tokens",
)  # fmt: skip


def _reported(
    asked: GeneratedRequest, true_input: int, true_output: int, longest: int
) -> tuple[Any, Any]:
    """Return the counts of input and output that the service reports."""
    return {
        "true": (true_input, true_output),
        "none": (None, None),
        "negative": (-true_input, -true_output),
        "enormous": (10**25, 10**25),
        "at the bound": (true_input * 4, longest),
        "one": (1, 1),
    }[asked.report]


def _answer(api: str, text: str, asked: Any, said: Any) -> JsonObject:
    usage = {"input_tokens": asked, "output_tokens": said}
    match api:
        case "anthropic":
            content = [{"type": "text", "text": text}]
            return {"content": content, "stop_reason": "end_turn", "usage": usage}
        case "openai":
            choice = {"message": {"content": text}, "finish_reason": "stop"}
            counts = {"prompt_tokens": asked, "completion_tokens": said}
            return {"choices": [choice], "usage": counts}
        case "responses":
            message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
            return {"output": [message], "usage": usage}
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
    counts = {"promptTokenCount": asked, "candidatesTokenCount": said}
    return {"candidates": [candidate], "usageMetadata": counts}


class BillingServices(ProviderPool):
    """Services of all formats, which are one BillingService."""

    def __init__(self, service: BillingService) -> None:
        environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
        super().__init__(quick_config(), load_presets(), {}, environ)
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(service.answer))

    async def _service(self, name: ModelName) -> Provider:
        preset = self.presets[name.provider]
        service = HttpService(
            name=name.provider,
            wire=FORMATS[preset.of(name.name).api],
            url="http://127.0.0.1",
            key="k",
            client=self.client,
        )
        return ServiceProvider(service, preset)


def body_of(asked: GeneratedRequest, number: int) -> JsonObject:
    text = f"call-{number}!" + "x" * asked.text
    plain: JsonObject = {"model": "any", "stream": False}
    documents = [DOCUMENTS[asked.api]] if asked.document else []
    match asked.api:
        case "responses":
            content = [{"type": "input_text", "text": text}, *documents]
            items = [{"role": "user", "content": content if documents else text}, *asked.nested]
            plain["input"] = items if asked.nested or documents else text
        case "google":
            plain["contents"] = [{"parts": [{"text": text}, *documents, *asked.nested]}]
        case _:
            parts = [{"type": "text", "text": text}, *documents, *asked.nested]
            is_plain = not asked.nested and not documents
            plain["messages"] = [{"role": "user", "content": text if is_plain else parts}]
    return plain | asked.more


DATA = "JVBERi0xLjcK" * 250
URL = f"data:application/pdf;base64,{DATA}"
DOCUMENTS: dict[str, JsonObject] = {
    "anthropic": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
    },
    "openai": {"type": "file", "file": {"filename": "a.pdf", "file_data": URL}},
    "responses": {"type": "input_file", "filename": "a.pdf", "file_data": URL},
    "google": {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
}
"""A document of three kilobytes in each format."""
MOST_DOCUMENT_TOKENS = 190_000
"""Fits into the windows of the models, beside the text of a call."""


async def spend(
    calls: Sequence[GeneratedRequest], limits: SpendingLimits
) -> tuple[BillingService, float, int]:
    """Make all calls at once; return the service, and the dollars and tokens that are booked."""
    service = BillingService(list(calls))
    services = BillingServices(service)
    with TemporaryDirectory() as folder, UsageLedger(Path(folder) / "usage.db") as ledger:
        home = Home(Path(folder) / "home")
        begin_run(home.path)
        prices = {f"{name}/m": PRICE for name in PROVIDERS.values()}
        model_calls = ModelCalls(quick_config(), services, prices, ledger, SystemClock())
        runtime: Any = SimpleNamespace(
            config=load_config(), home=home, log=logger(), clock=SystemClock(),
            post=lambda *message: None,
        )  # fmt: skip
        quarantine = CallQuarantine(CrashCounter(Path(folder), "calls", 1, ""))
        proxy = LlmProxy(
            runtime, services, model_calls, quarantine, AgentBudgets(home), lambda *event: None
        )

        async def one(number: int, asked: GeneratedRequest) -> None:
            grant = ProxyGrant(
                entity="shop-1/ada", incarnation=1, opened_by="00", run_id="run-1", node_id="n",
                model=f"{PROVIDERS[asked.api]}/m", bounds=limits,
            )  # fmt: skip
            request = ProxyRequest(
                FORMATS[asked.api], "token", grant, body_of(asked, number),
                digest=number.to_bytes(16), headers={}, query="",
            )  # fmt: skip

            async def send(message: Any) -> None:
                pass

            async def disconnected() -> None:
                if asked.patience is None:
                    await asyncio.Event().wait()
                for _ in range(asked.patience or 0):
                    await asyncio.sleep(0)

            try:
                await proxy.call(request, send, disconnected)
            except InvalidInput:
                pass

        async with asyncio.timeout(WITHIN_SECONDS):
            await asyncio.gather(*(one(*pair) for pair in enumerate(calls)))
        await ledger.written()
        spent = ledger.by_entity("run-1").values()
        usd = sum(usage.cost_usd or 0.0 for usage in spent)
        tokens = sum(usage.tokens for usage in spent)
        await services.client.aclose()
        quarantine.close()
        assert all(usage.input_tokens >= 0 and usage.output_tokens >= 0 for usage in spent)
        return service, usd, tokens


numbers = st.sampled_from([None, 1, 2, 128, 0, -1, 1.0, True, "9", 100_000])
parameters = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("n", "best_of", "candidate_count", "samples"), numbers),
        **dict.fromkeys((*LIMITS, "thinking_budget"), numbers),
        "generationConfig": st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("candidateCount", "maxOutputTokens"), numbers)
        ),
        "service_tier": st.sampled_from(["priority", "default"]),
        "speed": st.just("fast"),
        "background": st.booleans(),
        "tools": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from(["function", "custom", None]),
                    "function": st.just({"name": "look"}),
                    "google_search": st.just({}),
                    "container_id": st.just("c"),
                },
            ),
            min_size=1,
            max_size=2,
        ),
    },
)
kinds = st.sampled_from([
    None, "message", "item_reference", "reasoning", "image_generation_call", "text", "image",
    "code_interpreter_call", "function_call_output", "tool_result", "input_image", "input_file",
    "file", "document", "web_fetch_tool_result", "made_up",
])  # fmt: skip
leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": kinds,
        "role": st.sampled_from(["user", None]),
        "text": st.just("a"),
        **dict.fromkeys(("id", "file_id", "container_id", "result"), st.just("i") | st.none()),
        "file_ids": st.just(["f"]),
        "fileData": st.just({"fileUri": "u"}),
    },
)
places = ("content", "output", "source", "parts", "function_response", "file", "attachments")
nested = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda item, place, held: item | {place: held},
        leaves,
        st.sampled_from(places),
        inner | st.lists(inner, min_size=1, max_size=2),
    ),
    max_leaves=4,
)
"""Items, blocks and parts with references in them, valid and invalid in the formats."""


def asked(reports: st.SearchStrategy[Report], patience: st.SearchStrategy[int | None]) -> Any:
    return st.builds(
        GeneratedRequest,
        api=st.sampled_from(sorted(PROVIDERS)),
        more=st.one_of(st.just({}), parameters, parameters.map(_one_of)),
        text=st.integers(0, 20_000),
        density=st.floats(0.2, 1.0),
        length=st.floats(0, 0.9999),
        report=reports,
        patience=patience,
        nested=st.just(()) | st.lists(nested, max_size=1).map(tuple),
        document=st.just(0) | st.integers(1, MOST_DOCUMENT_TOKENS),
    )


def _one_of(more: JsonObject) -> JsonObject:
    """Return one of the parameters, so that not every request is refused."""
    return dict(list(more.items())[:1])


def one_estimate(service: BillingService) -> int:
    """Return by how many tokens the input of one call can be larger than its estimate."""
    return service.largest_bytes + MOST_HIDDEN_TOKENS + service.largest_document


@settings(max_examples=25, deadline=None)
@given(
    st.lists(asked(st.just("true"), st.none()), min_size=1, max_size=16),
    st.floats(0.001, 1.0),
)
def test_no_calls_cost_more_than_the_budget_and_one_estimate(
    calls: list[GeneratedRequest], budget: float
) -> None:
    service, booked, _ = asyncio.run(spend(calls, SpendingLimits(usd=budget)))
    assert service.billed_usd <= budget + one_estimate(service) * PRICE.input / 1e6
    assert abs(service.billed_usd - booked) < 1e-9


reports: st.SearchStrategy[Report] = st.sampled_from(
    ["true", "none", "negative", "enormous", "at the bound", "one"]
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(asked(reports, st.none() | st.integers(0, 200)), min_size=1, max_size=16),
    st.integers(1000, 300_000),
)
def test_booked_spending_never_exceeds_the_budget_and_one_estimate(
    calls: list[GeneratedRequest], budget: int
) -> None:
    service, _, booked = asyncio.run(spend(calls, SpendingLimits(tokens=budget)))
    # A false count of a document that the window allows is believed.
    assert (
        0
        <= booked
        <= budget + one_estimate(service) + LARGEST_WINDOW * any(call.document for call in calls)
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(
            GeneratedRequest,
            api=st.sampled_from(sorted(PROVIDERS)),
            more=st.just({}),
            text=st.integers(0, 5000),
            density=st.just(0.2),
            length=st.floats(0, 0.9999),
            report=st.sampled_from(["true", "none"]),
            patience=st.none() | st.integers(0, 200),
            document=st.integers(1, MOST_DOCUMENT_TOKENS),
        ),
        min_size=2,
        max_size=16,
    ),
    st.integers(1000, 300_000),
)
def test_documents_that_are_billed_by_pages_cost_no_more_than_the_budget_and_one_estimate(
    calls: list[GeneratedRequest], budget: int
) -> None:
    service, _, _ = asyncio.run(spend(calls, SpendingLimits(tokens=budget)))
    assert service.billed_tokens <= budget + one_estimate(service)


@settings(max_examples=25, deadline=None)
@given(st.lists(asked(st.just("one"), st.none()), min_size=1, max_size=8))
def test_a_service_that_reports_one_token_for_each_answer_is_booked_for_its_text(
    calls: list[GeneratedRequest],
) -> None:
    service, _, booked = asyncio.run(spend(calls, SpendingLimits(tokens=10**8)))
    assert booked >= service.answered_bytes // LONGEST_TOKEN
