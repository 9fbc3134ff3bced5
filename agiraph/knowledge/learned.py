"""KnowledgeUpdate: the nodes and edges of a finished run, of either way of working. Pure.

    the run                                  task
    a completed or failed node               task, part of the run's
    a failure, and its correction            mistake
    a decision of the team or the person     decision
    a worker's insight for later runs        pattern
    code in the results                      code_snippet
    a rule that the person stated            preference
    messages of the person and the team      conversation

Ids are derived from the content of a node: the same run recorded twice changes nothing, and the
same failure in another run of the same project is the same mistake, with its last correction.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from agiraph.core.record import Record
from agiraph.knowledge.records import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    EdgeKind,
    KnowledgeEdge,
    KnowledgeKind,
    KnowledgeNode,
    node_id,
    project_node_id,
    shortened,
)

MOST_NODES: Final = 60
MOST_SNIPPETS: Final = 8
MOST_SAID: Final = 200
LONGEST_FACT: Final = 2000
FEWEST_LINES, MOST_LINES = 3, 200
FENCE: Final = re.compile(
    r"^(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w+#.-]*)[^\n]*\n(?P<code>.*?)^(?P=fence)[ \t]*$",
    re.M | re.S,
)
ALWAYS: Final = re.compile(
    r"\b(always|never|from now on|i prefer|we prefer|i'd rather|i want you to|we use|do not ever"
    r"|don't ever|in (?:the )?future|immer|niemals|nie|ab jetzt|künftig|in zukunft|ich bevorzuge"
    r"|wir bevorzugen|wir verwenden)\b",
    re.I,
)
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
SHORTEST_RULE, LONGEST_RULE = 12, 400
VARYING: Final = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+|(?:/[\w.-]+)+", re.I)


class FinishedAttempt(Record):
    """An attempt at a node that failed: the reason and the time."""

    reason: str
    at: float = 0.0


class FinishedNode(Record):
    """An ended node of a run; `failures` are its failed attempts.

    If the node failed, the last attempt is among them.
    """

    id: str
    name: str
    role: str = ""
    task: str = ""
    status: str = "completed"
    summary: str = ""
    worker: str = ""
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    failures: tuple[FinishedAttempt, ...] = ()


class FinishedTurn(Record):
    """One turn of an Agentic Team; `is_decision`: it decides something for the other roles."""

    number: int
    from_role: str
    to_role: str
    message: str
    is_success: bool = True


class SaidByHuman(Record):
    """A message of the person in a run; with a `question`, the answer to it."""

    id: str
    text: str
    at: float
    question: str = ""
    asked_by: str = ""


class RunDecision(Record):
    """A decision of the team, and its reason, for example at the end of a stage."""

    id: str
    title: str
    rationale: str = ""
    by: str = ""
    at: float = 0.0


class RunInsight(Record):
    """An insight of a worker for later runs."""

    id: str
    text: str
    by: str = ""
    at: float = 0.0


class FinishedRun(Record):
    """The data of an ended run from which knowledge is made.

    `reason` is the reason of a failure.
    """

    agent: str
    run: str
    goal: str
    outcome: Literal["completed", "failed", "stopped"]
    result: str = ""
    reason: str = ""
    started: float
    ended: float
    is_of_roles: bool = False
    model: str = ""
    project_id: str | None = None
    nodes: tuple[FinishedNode, ...] = ()
    turns: tuple[FinishedTurn, ...] = ()
    human: tuple[SaidByHuman, ...] = ()
    decisions: tuple[RunDecision, ...] = ()
    insights: tuple[RunInsight, ...] = ()


class KnowledgeUpdate(Record):
    """The nodes and edges to write."""

    nodes: tuple[KnowledgeNode, ...] = ()
    edges: tuple[KnowledgeEdge, ...] = ()


def learned(run: FinishedRun) -> KnowledgeUpdate:
    """Return the nodes and edges of a finished run."""
    book = _Book(run)
    book.add_run()
    for node in run.nodes[:MOST_NODES]:
        book.add_node(node)
    for decision in run.decisions:
        book.add_decision(decision)
    for said in run.human:
        book.add_said(said)
    for insight in run.insights:
        book.add_insight(insight)
    book.add_snippets()
    book.add_conversation()
    return KnowledgeUpdate(nodes=tuple(book.nodes.values()), edges=tuple(dict.fromkeys(book.edges)))


def rules_in(text: str) -> Iterator[str]:
    """Yield the sentences of a person that state a permanent rule."""
    for sentence in SENTENCE.split(text):
        rule = sentence.strip(" \t-*>")
        is_long_enough = SHORTEST_RULE <= len(rule) <= LONGEST_RULE
        if is_long_enough and ALWAYS.search(rule) and not rule.endswith("?"):
            yield rule


def code_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (language, code, the line before it) of each fenced block worth keeping."""
    for found in FENCE.finditer(text):
        code = found["code"].strip("\n")
        if FEWEST_LINES <= code.count("\n") + 1 <= MOST_LINES:
            before = text[: found.start()].rstrip().rpartition("\n")[2]
            yield found["language"].lower(), code, before.strip(" #:*-")


def alike(text: str) -> str:
    """Return an error's text without numbers and paths, equal for errors of the same kind."""
    return " ".join(VARYING.sub("*", text.casefold()).split())[:LONGEST_TITLE]


class _Book:
    """The nodes and edges learned from a run so far."""

    def __init__(self, run: FinishedRun) -> None:
        self.run = run
        self.nodes: dict[str, KnowledgeNode] = {}
        self.edges: list[KnowledgeEdge] = []
        self.task = node_id("task", run.agent, run.run)

    def put(
        self,
        kind: KnowledgeKind,
        of: Iterable[str],
        title: str,
        text: str,
        importance: float,
        *,
        at: float = 0.0,
        tags: Iterable[str] = (),
        **data: object,
    ) -> str:
        """Add a knowledge node and return its id; an empty title becomes the beginning of `text`.

        `of` are the words that identify the node within its kind, `at` is its Unix time (0: the end
        of the run).
        """
        id, when = node_id(kind, *of), at or self.run.ended
        words = " ".join((title.strip() or text.strip() or kind).split())
        self.nodes[id] = KnowledgeNode(
            id=id,
            kind=kind,
            title=shortened(words, LONGEST_TITLE),
            text=shortened(text.strip(), LONGEST_TEXT),
            project_id=self.run.project_id,
            tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
            importance=importance,
            created=when,
            updated=when,
            agent=self.run.agent,
            run=self.run.run,
            data={key: _bounded(value) for key, value in data.items() if value not in ("", 0)},
        )
        return id

    def link(self, source: str, kind: EdgeKind, target: str, weight: float = 1.0) -> None:
        """Add an edge of a kind from the node `source` to the node `target` (ids)."""
        self.edges.append(KnowledgeEdge(source=source, target=target, kind=kind, weight=weight))

    def add_run(self) -> None:
        """Add the run as a task node, part of the project's node."""
        run = self.run
        text = "\n\n".join(filter(None, (run.goal, _titled("Result", run.result or run.reason))))
        way = "roles" if run.is_of_roles else "graph"
        self.put(
            "task", (run.agent, run.run), run.goal, text, 0.6, tags=(run.outcome, way),
            outcome=run.outcome, duration_seconds=round(max(0.0, run.ended - run.started), 1),
            nodes=len(run.nodes), turns=len(run.turns), model=run.model, reason=run.reason,
        )  # fmt: skip
        if run.project_id is not None:
            self.link(self.task, "part_of", project_node_id(run.project_id))
        if run.outcome == "failed" and run.reason:
            self.add_mistake(run.goal, run.reason, "", self.task, run.ended)

    def add_node(self, node: FinishedNode) -> None:
        """Add a node of the board as a task node, and each of its failures as a mistake."""
        id = node_id("task", self.run.agent, self.run.run, node.id)
        if not self.run.is_of_roles and len(self.run.nodes) > 1:
            text = "\n\n".join(filter(None, (node.task, _titled("Result", node.summary))))
            self.put(
                "task", (self.run.agent, self.run.run, node.id), node.task or node.name, text, 0.4,
                tags=(node.status, node.role), outcome=node.status, name=node.name,
                duration_seconds=round(node.seconds, 1), files=list(node.files)[:20],
            )  # fmt: skip
            self.link(id, "part_of", self.task)
        else:
            id = self.task
        good = node.summary if node.status == "completed" else ""
        for failure in node.failures:
            self.add_mistake(node.task or node.name, failure.reason, good, id, failure.at)

    def add_mistake(self, task: str, error: str, correction: str, of: str, at: float) -> None:
        """Add the failure of `task` by `error`, with its `correction` ('' if there is none).

        `of` is the id of the knowledge node of that task, `at` the Unix time of the failure.
        """
        first = next(filter(None, map(str.strip, error.splitlines())), "")
        if not first:
            return
        parts = (f"While doing: {shortened(task, 500)}", _titled("Error", error),
                 _titled("What made it good", correction))  # fmt: skip
        where = self.run.project_id or self.run.agent
        id = self.put(
            "mistake", (where, alike(first)), first, "\n\n".join(filter(None, parts)),
            0.7 if correction else 0.5, at=at, tags=("corrected" if correction else "open",),
            error=error, correction=correction,
        )  # fmt: skip
        self.link(id, "made_in", of)
        if correction:
            self.link(of, "corrects", id)

    def add_decision(self, decision: RunDecision) -> None:
        """Add a decision of the team."""
        id = self.put(
            "decision", (self.run.agent, self.run.run, decision.id), decision.title,
            "\n\n".join(filter(None, (decision.title, decision.rationale))), 0.6, at=decision.at,
            tags=(decision.by,), rationale=decision.rationale, by=decision.by,
        )  # fmt: skip
        self.link(id, "made_in", self.task)

    def add_said(self, said: SaidByHuman) -> None:
        """Add an answer of the person as a decision, and stated rules as preferences."""
        if said.question:
            text = f"{said.question}\n\nThe person: {said.text}"
            id = self.put(
                "decision", (self.run.agent, self.run.run, said.id), said.question, text, 0.8,
                at=said.at, tags=("human",), rationale=said.text, by="human",
                asked_by=said.asked_by,
            )  # fmt: skip
            self.link(id, "made_in", self.task)
        for rule in rules_in(said.text):
            where = self.run.project_id or self.run.agent
            id = self.put("preference", (where, rule.casefold()), rule, rule, 0.8, at=said.at,
                          tags=("human",))  # fmt: skip
            self.link(id, "made_in", self.task)

    def add_insight(self, insight: RunInsight) -> None:
        """Add a worker's insight for later runs, as a pattern of the project."""
        if not insight.text.strip():
            return
        where = self.run.project_id or self.run.agent
        title = insight.text.strip().splitlines()[0].strip(" #*-")
        id = self.put("pattern", (where, insight.text.strip()), title, insight.text, 0.6,
                      at=insight.at, tags=(insight.by,), by=insight.by)  # fmt: skip
        self.link(id, "made_in", self.task)

    def add_snippets(self) -> None:
        """Add the code in the delivered texts: the result, then the summaries of the nodes."""
        texts = [self.run.result, *(node.summary for node in self.run.nodes)]
        texts += [insight.text for insight in self.run.insights]
        found = dict.fromkeys(block for text in texts for block in code_in(text))
        where = self.run.project_id or self.run.agent
        for language, code, before in list(found)[:MOST_SNIPPETS]:
            title = before or f"{language or 'code'}: {code.strip().splitlines()[0].strip()}"
            id = self.put(
                "code_snippet", (where, code), title, f"```{language}\n{code}\n```", 0.5,
                tags=(language,), language=language,
            )  # fmt: skip
            self.link(id, "made_in", self.task)

    def add_conversation(self) -> None:
        """Add one node with the person's messages and the team's turns, if there were any."""
        said = [(one.at, _line("human", one)) for one in self.run.human]
        turns = [f"**{turn.from_role} → {turn.to_role}:** {turn.message.strip()}"
                 for turn in self.run.turns]  # fmt: skip
        lines = [*turns, *(line for _, line in sorted(said))][:MOST_SAID]
        if not lines:
            return
        id = self.put(
            "conversation", (self.run.agent, self.run.run), f"Conversation: {self.run.goal}",
            "\n\n".join(shortened(line, 1500) for line in lines), 0.3,
            messages=len(said), turns=len(turns),
        )  # fmt: skip
        self.link(id, "made_in", self.task)


def _bounded(value: object) -> object:
    return shortened(value, LONGEST_FACT) if isinstance(value, str) else value


def _titled(title: str, text: str) -> str:
    return f"{title}: {text.strip()}" if text.strip() else ""


def _line(who: str, said: SaidByHuman) -> str:
    asked = f"**{said.asked_by or 'team'}:** {said.question.strip()}\n\n" if said.question else ""
    return f"{asked}**{who}:** {said.text.strip()}"
