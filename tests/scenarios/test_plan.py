"""A plan in a file fills the board up front; the same nodes, the same workers."""

import json
from pathlib import Path

from agiraph.board.plans.graph import Graph
from tests.fakes.model_server import Reply, Script, SeenRequest, call, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, by_node, finish, node, publish, write

GRAPH = """
nodes:
  - {id: a, task: Research Company A, role: worker}
  - {id: b, task: Research Company B, role: worker}
  - {id: both, task: Synthesize the findings, role: manager, deps: [a, b]}
"""

COORDINATOR = [
    WAIT,
    call("reconvene", assessment="All three are done."),
    finish("The plan is carried out."),
]


def worker(seen: SeenRequest) -> Reply:
    """Write a file and publish it, for each node."""
    if seen.step % 2 == 0:
        return write("out.md", "findings")
    return publish("found it")


def test_a_graph_in_a_file_is_carried_out_in_its_order(live_home: LiveHome, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(GRAPH)
    live_home.plays(Script({"coordinator": COORDINATOR, "*": worker}))
    outcome = live_home.complete("Do it", "--plan", str(plan))
    done = [event["name"] for event in outcome.data("node.completed")]
    assert sorted(done[:2]) == ["a", "b"]
    assert done[2:] == ["both"]
    assert "estimate: " in outcome.progress, "it is said before the plan begins"


def test_a_plan_cannot_be_finished_before_its_nodes_have_ended(
    live_home: LiveHome, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(GRAPH)
    turns = [finish("Nothing to do."), WAIT, node("extra"), finish("All is done.")]
    live_home.plays(Script({"coordinator": turns, "*": worker}))
    outcome = live_home.complete("Do it", "--plan", str(plan))
    assert {event["name"] for event in outcome.data("node.completed")} >= {"a", "b", "both"}
    refused, finished = (
        event["preview"] for event in outcome.data("tool.result") if event["tool"] == "finish"
    )
    assert "a (" in refused
    assert "both (pending) have not ended" in refused
    assert "It cancelled the unfinished nodes: extra." in finished
    assert outcome.result["incomplete"] == []


def test_run_fails_if_its_plan_was_given_up(live_home: LiveHome, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(GRAPH)
    turns = [
        call("cancel_node", node_id="a"),
        call("cancel_node", node_id="a", reason="A is gone"),
        WAIT,
        finish("Only B."),
    ]
    live_home.plays(Script({"coordinator": turns, "*": worker}))
    outcome = live_home.lead("Do it", "--plan", str(plan))
    assert (outcome.code, outcome.result["status"]) == (1, "failed")
    assert "gave up nodes of the plan: a (cancelled: A is gone), both (" in outcome.result["reason"]
    assert (outcome.result["result"].strip(), outcome.result["failure_class"]) == (
        "Only B.",
        "plan",
    )
    agent = outcome.result["agent"]
    nodes = {row["name"]: row["failure_class"] for row in live_home.json("board", agent)}
    assert nodes == {"a": None, "b": None, "both": "dependency"}
    assert live_home.json("show", agent)["failure_class"] == "plan"
    [run] = live_home.json("show", agent, "--runs")
    assert run["failure_class"] == "plan"


def test_estimate_of_a_plan_is_a_range_and_starts_nothing(
    live_home: LiveHome, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(GRAPH)
    live_home.plays(Script({"coordinator": COORDINATOR, "*": worker}))
    live_home.complete("Do it once", "--plan", str(plan), "--model", "openai/dear")
    live_home.server.requests.clear()
    agents = live_home.json("agents")
    asked = ("run", "Do it again", "--plan", str(plan), "--estimate", "--model", "openai/dear")
    told = live_home.json(*asked)
    low, high = told["tokens"]
    assert 0 < low < high
    assert 0 < told["usd"][0] <= told["usd"][1]
    assert "3 nodes; from " in told["basis"]
    shown = live_home.command(*asked)
    assert (shown.returncode, shown.stdout.startswith("estimate: ")) == (0, True)
    assert (live_home.json("agents"), live_home.server.requests) == (agents, [])
    wrong = live_home.command("run", "x", "--estimate", "--model", "nope/x")
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_reconvening_plan_gives_the_coordinator_a_turn_before_each_stage(
    live_home: LiveHome, tmp_path: Path
) -> None:
    stages = [
        {"name": name, "roles": [{"id": role, "name": "ada", "prompt": f"Do the {role}"}]}
        for name, role in (("Research", "search"), ("Draft", "draft"), ("Report", "report"))
    ]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"stages": stages, "contract": {"coordinator_reconvenes": True}}))
    turns = [WAIT, call("reconvene", assessment="Enough is known."), WAIT]
    turns += [say("The draft is good."), WAIT, finish("All is done.")]
    live_home.plays(Script({"coordinator": turns, "*": worker}))
    outcome = live_home.complete("Do it", "--plan", str(plan))
    order = ("stage.started", "node.completed", "stage.reconvened")
    happened = [event["data"] for event in outcome.events() if event["type"] in order]
    shown = [data.get("stage") or data["name"] for data in happened]
    assert shown == [
        *("Research", "search", "Research"),
        *("Draft", "draft", "Draft"),
        *("Report", "report"),
    ]
    assert [data["assessment"] for data in happened if "assessment" in data] == [
        "Enough is known.",
        "The draft is good.",
    ]


def test_a_plan_that_cannot_be_followed_is_refused_before_anything_starts(
    live_home: LiveHome, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("nodes:\n- id: a\n  task: x\n  deps:\n  - zzz\n")
    before = sorted(live_home.home.glob("agents/*"))
    done = live_home.command("run", "Do it", "--model", "openai/fake", "--plan", str(plan))
    assert (done.returncode, done.stdout) == (2, "")
    told = f"agiraph: {plan}:5: nodes[0].deps[0]: unknown node 'zzz' (known: a)\n"
    assert done.stderr == told
    assert sorted(live_home.home.glob("agents/*")) == before


STRUCTURED = """
nodes:
  - id: score
    task: Score it
    tools: [write_file]
    retries: 1
    output_schema: {type: object, required: [value], properties: {value: {type: number}}}
  - id: one
    task: One number
    mode: single_inference
    output_schema: {type: integer}
"""


def scorer(seen: SeenRequest) -> Reply:
    """Fail the first attempt, publish a mismatching result, correct it."""
    if "# Assignment: one" in seen.said:
        return say("```json\n42\n```" if "is not the result" in seen.said else "forty-two")
    assert "bash" not in seen.tools
    if "This is attempt 2" not in seen.said:
        return say("I do not know.")
    written, refused = len(seen.results("write_file")), "is not of type 'number'" in seen.said
    if written == refused:
        return write("result.json", json.dumps({"value": 1 if refused else "high"}))
    return publish("scored")


def test_a_result_fits_its_schema_and_a_failed_node_is_done_again(
    live_home: LiveHome, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(STRUCTURED)
    live_home.plays(Script({"coordinator": [WAIT, finish("Scored.")], "*": scorer}))
    outcome = live_home.complete("Score it", "--plan", str(plan))
    [again] = outcome.data("node.retried")
    assert again["because"] == "retry 1 of 1"
    assert again["not_before"] > 0
    assert {event["name"] for event in outcome.data("node.completed")} == {"score", "one"}
    found = [*outcome.run.glob("nodes/*/published/result.json")]
    assert sorted(json.loads(one.read_text()) == 42 for one in found) == [False, True]


FLOW = """
nodes:
  - id: find
    task: Find the files
    mode: single_inference
    output_schema: {type: object, required: [files], properties: {files: {type: array}}}
  - id: look
    task: "Look at {item}"
    mode: single_inference
    for_each: {node: find, in: result.files}
  - {id: none, task: Say so, deps: [{node: find, when: not result.files}]}
  - {id: sum, task: Sum up, deps: [look, none], mode: single_inference}
"""


def test_a_plan_branches_and_repeats_by_the_results(live_home: LiveHome, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(FLOW)

    def one(seen: SeenRequest) -> Reply:
        if "# Assignment: find" in seen.said:
            return say('{"files": ["a", "b"]}')
        if "# Assignment: sum" in seen.said:
            assert {"seen: Look at a", "seen: Look at b"} <= set(seen.said.splitlines())
            return say("both")
        return say(f"seen: {seen.said.splitlines()[2]}")

    live_home.plays(Script({"coordinator": [WAIT, finish("Summed up.")], "*": one}))
    outcome = live_home.complete("Look", "--plan", str(plan))
    [expanded] = outcome.data("node.expanded")
    assert expanded["copies"] == ["look-1", "look-2"]
    [skipped] = outcome.data("node.skipped")
    assert (skipped["name"], skipped["reason"]) == (
        "none",
        "'not result.files' is false for 'find'",
    )
    [decided] = outcome.data("node.decided")
    [condition] = decided["conditions"]
    assert (condition["node"], condition["counts"]) == ("find", False)
    assert condition["result"] == '{"files": ["a", "b"]}'


def planned(*nodes: str) -> Reply:
    """Return a planner's answer: nodes one after the other."""
    waits = [[], *([name] for name in nodes)]
    rows = [
        {"id": name, "task": f"Do the {name}", "role": "worker", "deps": deps}
        for name, deps in zip(nodes, waits, strict=False)
    ]
    return say(json.dumps({"nodes": rows}))


def planner(seen: SeenRequest) -> Reply:
    """Answer first an invalid plan, then two nodes, and three if the human wants a review."""
    if "[Human]: Change the plan: Add a review." in seen.said:
        return planned("search", "report", "review")
    return planned("search", "report") if seen.step else say("First I would search.")


def test_a_static_plan_is_made_approved_and_run_and_can_be_exported(
    live_home: LiveHome, tmp_path: Path
) -> None:
    live_home.plays(Script({"planner": planner, "coordinator": COORDINATOR, "*": worker}))
    agent = live_home.begin("static", "--planning", "static", "--approve-plan", goal="Find it out")
    first = live_home.await_question("static")
    assert "└─ report (worker): Do the report" in first["question"]
    live_home.kill("coordinator static")
    live_home.json("respond", first["id"], "Add a review.")
    [second] = until(
        lambda: [q for q in live_home.json("questions", "static") if q["id"] != first["id"]],
        "changes",
    )
    assert "└─ review (worker): Do the review" in second["question"]
    [file] = agent.glob("runs/*/_plan.yaml")
    file.write_text(file.read_text().replace("Do the review", "Read it again"))
    live_home.json("respond", second["id"], "approve")
    live_home.await_end(agent)
    assert len(live_home.server.seen_by("planner")) == 3, "no answer was asked for twice"
    again = tmp_path / "again.yaml"
    again.write_text(live_home.command("plan", "export", "static").stdout)
    graph = Graph.load(again)
    assert [(node.id, tuple(node.deps)) for node in graph.nodes] == [
        ("search", ()),
        ("report", ("search",)),
        ("review", ("report",)),
    ]
    assert graph.nodes[2].task == "Read it again"
    assert live_home.command("plan", "check", str(again)).returncode == 0


def test_the_managers_of_a_hybrid_plan_lead_teams_of_their_own(live_home: LiveHome) -> None:
    skeleton = [
        {"id": "search", "task": "Search", "role": "manager", "deps": []},
        {"id": "report", "task": "Report", "role": "worker", "deps": ["search"]},
    ]

    make = [write("out.md", "findings"), publish("found it")]
    nodes = {"search": [node("detail", role="digger"), WAIT, *make], "detail": make, "report": make}
    work = by_node(COORDINATOR, nodes)
    plan = say(json.dumps({"nodes": skeleton}))
    live_home.plays(lambda seen: plan if seen.is_for("planner") else work(seen))
    outcome = live_home.complete("Find it out", "--planning", "hybrid")
    done = [event["name"] for event in outcome.data("node.completed")]
    assert done == ["detail", "search", "report"]
    parents = {event["name"]: event.get("parent_node") for event in outcome.data("node.created")}
    assert parents["detail"]
    assert not parents["report"]


def test_a_plan_for_a_goal_is_written_and_nothing_is_run(
    live_home: LiveHome, tmp_path: Path
) -> None:
    live_home.plays(Script({"planner": planner}))
    file = tmp_path / "plan.yaml"
    done = live_home.command("plan", "Find it out", "--model", "openai/fake", "--output", str(file))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [node.id for node in Graph.load(file).nodes] == ["search", "report"]
    assert live_home.command("plan", "show", str(file)).stdout.startswith("search (worker): Do the")
    assert len(live_home.server.seen_by("planner")) == 2
