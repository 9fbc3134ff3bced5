"""A person and a team talk, line by line, about chip companies and a report on them.

Once without kills; once while the gateway, the coordinator and a worker are killed between the
lines. Every line is said in its order, reaches its recipients, and is said once.
"""

import threading
from collections.abc import Callable

import pytest

from agiraph.core.turns import AssistantTurn
from agiraph.http.api import ApiError, ConversationMessageView, NotReachable, SentView
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, finish, held, node, publish, spawn, tell, write

GOAL = "Research AI chip companies and write a report"
ON_IT = "On it. Setting up 3 researchers for NVIDIA, AMD, Intel."
QUALCOMM = "Also include Qualcomm"
GOT_IT = "Got it. Adding a 4th researcher for Qualcomm."
FOCUS = "Should I focus on data center or consumer GPUs?"
DATA_CENTER = "Data center only."
HARD = "AMD MI300X benchmarks are hard to find."
SCARCE = "Bob says AMD benchmarks are scarce. MLPerf data OK?"
MLPERF = "Yes, MLPerf is fine. Also try anandtech.com."
FORWARDED = "Human says MLPerf is fine. Also try anandtech.com."
STAGE_DONE = (
    "Stage 1 done. NVIDIA dominates training, AMD competitive on inference. Starting synthesis."
)
PRICING = "Make sure the report includes pricing data too."
TEAM = {"Alice": "nvidia", "Bob": "amd", "Cara": "intel", "Dan": "qualcomm"}
THREAD = [
    ("coordinator", "human", ON_IT),
    ("human", "coordinator", QUALCOMM),
    ("coordinator", "human", GOT_IT),
    ("Alice", "human", FOCUS),
    ("human", "Alice", DATA_CENTER),
    ("coordinator", "human", SCARCE),
    ("human", "coordinator", MLPERF),
    ("coordinator", "human", STAGE_DONE),
    ("human", "*", PRICING),
]


@pytest.fixture
def live_home(killable_home: LiveHome) -> LiveHome:
    """Return a running home whose processes may be killed."""
    return killable_home


def did(seen: SeenRequest, words: str) -> bool:
    """Whether the model has said or done something with these words before."""
    answers = (turn for turn in seen.turns if isinstance(turn, AssistantTurn))
    return any(words in str(call.arguments) for turn in answers for call in turn.tool_calls)


def hire(*names: str) -> list[Reply]:
    """Return the calls that hire workers, each with its node."""
    return [*(spawn(name) for name in names), *(node(TEAM[name], name) for name in names)]


def coordinator(seen: SeenRequest) -> Reply:
    """Make the calls for the next line; wait when there is none."""
    said = seen.said
    if not did(seen, ON_IT):
        return calls(tell("human", ON_IT), *hire("Alice", "Bob", "Cara"))
    if QUALCOMM in said and not did(seen, GOT_IT):
        return calls(tell("human", GOT_IT), *hire("Dan"))
    if HARD in said and not did(seen, SCARCE):
        return tell("human", SCARCE)
    if MLPERF in said and not did(seen, FORWARDED):
        return tell("Bob", FORWARDED)
    if not did(seen, STAGE_DONE):
        is_over = all(f"{node} found" in said for node in TEAM.values())
        return _synthesis() if is_over else WAIT
    is_written = all(f"{node} written" in said for node in TEAM.values())
    if is_written and PRICING in said:
        return finish("The report, with prices.")
    return WAIT


def _synthesis() -> Reply:
    closing = call("reconvene", assessment="All four are researched.")
    nodes = [node(f"{topic}-section", worker) for worker, topic in TEAM.items()]
    return calls(tell("human", STAGE_DONE), closing, *nodes)


def research(node: str, *before: Responder) -> Responder:
    """Return a worker that plays `before`, researches, then writes once it has prices."""

    def work(seen: SeenRequest) -> Reply:
        if not did(seen, f"{node} found"):
            for step in before:
                reply = step(seen)
                if reply.calls:
                    return reply
            found = write("notes.md", f"notes on {node}")
            return calls(found, publish(f"{node} found"))
        if PRICING not in seen.said:
            return WAIT
        section = write("section.md", f"{node}, with prices")
        return calls(section, publish(f"{node} written"))

    return work


def says_once(to: str, content: str, answer: str, turn: threading.Event) -> Responder:
    """Return a step that sends a text when its turn comes, then waits for the answer."""

    def step(seen: SeenRequest) -> Reply:
        if not did(seen, content):
            return held(tell(to, content), turn)
        return WAIT if answer not in seen.said else Reply()

    return step


class DialogueUser:
    """The person of the dialogue, over the HTTP API."""

    def __init__(self, live_home: LiveHome, agent: str) -> None:
        self.live_home = live_home
        self.agent = agent

    def thread(self) -> list[ConversationMessageView]:
        """Return the texts to and from the person."""
        found: list[ConversationMessageView]
        found = self.ask(lambda api: api.conversation(self.agent)).messages
        return [message for message in found if message.kind == "text"]

    def hears(self, sender: str, content: str) -> ConversationMessageView:
        """Wait for a line."""
        line = (sender, content)

        def found() -> ConversationMessageView | None:
            return next((m for m in self.thread() if (m.sender, m.content) == line), None)

        return until(found, f"{sender}: {content}")

    def says(self, content: str, to: str | None = None) -> tuple[str, ...]:
        """Say a line; return its recipients."""
        key = f"{self.agent} {content}"
        sent: SentView = self.ask(lambda c: c.send(self.agent, content, to=to, key=key))
        return sent.to

    def ask(self, act: Callable[[Client], object]):  # type: ignore[no-untyped-def]
        """Call the API, again while the gateway is restarted: the key makes it one message."""

        def tried() -> object:
            try:
                with Client.for_home(self.live_home.home) as client:
                    return act(client)
            except (NotReachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500:
                    raise
                return None

        return until(tried, "the gateway answers")


def heard(live_home: LiveHome, name: str, words: str) -> SeenRequest:
    """Wait until the model of an entity receives a conversation with these words."""
    return live_home.server.wait_for(lambda seen: seen.is_for(name) and words in seen.said)


@pytest.mark.parametrize("storm", [False, True], ids=["in peace", "while processes are killed"])
def test_dialogue_of_section_8_8_is_reproduced(live_home: LiveHome, storm: bool) -> None:
    alices_turn, bobs_turn = threading.Event(), threading.Event()
    name = "stormy" if storm else "chips"
    asks = says_once("human", FOCUS, DATA_CENTER, alices_turn)
    tells = says_once("coordinator", HARD, FORWARDED, bobs_turn)

    live_home.plays(
        coordinator=coordinator,
        Alice=research("nvidia", asks),
        Bob=research("amd", tells),
        Cara=research("intel"),
        Dan=research("qualcomm"),
    )

    def struck(title: str) -> None:
        if storm:
            live_home.kill(title)

    home = live_home.begin(name, goal=GOAL)
    person = DialogueUser(live_home, home.name)

    person.hears("coordinator", ON_IT)
    live_home.await_call(home, "wait")
    struck("human")
    assert person.says(QUALCOMM) == ("coordinator",)
    person.hears("coordinator", GOT_IT)
    until(lambda: "qualcomm" in _nodes(person), "a fourth node, in the middle of the stage")
    alices_turn.set()
    asked = person.hears("Alice", FOCUS)
    struck(f"coordinator {name}")
    assert person.says(DATA_CENTER, to="alice") == ("Alice",)
    seen = heard(live_home, "Alice", DATA_CENTER)
    assert f'[Message from human]: (replying to your "{FOCUS}") {DATA_CENTER}' in seen.said
    assert _last(person).in_reply_to == asked.id
    bobs_turn.set()
    heard(live_home, "coordinator", HARD)
    scarce = person.hears("coordinator", SCARCE)
    struck(f"worker {live_home.worker(home, 'bob').name}")
    struck("human")
    person.says(MLPERF)
    assert _last(person).in_reply_to == scarce.id
    struck(f"coordinator {name}")
    seen = heard(live_home, "Bob", FORWARDED)
    assert f'[Message from coordinator]: (replying to your "{HARD}") {FORWARDED}' in seen.said
    person.hears("coordinator", STAGE_DONE)
    struck("human")
    assert set(person.says(PRICING, to="*")) == {"coordinator", *TEAM}
    for entity in ("coordinator", *TEAM):
        assert f"[Message from human]: {PRICING}" in heard(live_home, entity, PRICING).said
    live_home.await_end(home)
    assert [(m.sender, m.to, m.content) for m in person.thread()] == THREAD
    assert len(_nodes(person)) == 8
    assert not live_home.server.problems
    [journal] = home.glob("runs/*/journal.jsonl")
    assert journal.read_text().count('"stage.reconvened"') == 1


def _last(person: DialogueUser) -> ConversationMessageView:
    return [m for m in person.thread() if m.sender == "human"][-1]


def _nodes(person: DialogueUser) -> list[str]:
    return [node.name for node in person.ask(lambda api: api.board(person.agent)).nodes]
