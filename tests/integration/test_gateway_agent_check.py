"""The HTTP API over a real socket: an agent is checked before it is created."""

import os
from pathlib import Path
from typing import Any

import pytest

from agiraph.http.api import (
    AgentCheckView,
    CheckAgentRequest,
    CreateAgentRequest,
    FieldProblemView,
)
from agiraph.http.client import Client
from agiraph.messages.child import StartChild
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.model import CheckModel
from agiraph.models.prices import no_dollars
from tests.fakes.gateway import GatewayHome, refused
from transport.errors import DeadlineExceeded

PLAN = """nodes:
  - {id: tables, task: Look at the tables}
  - {id: report, task: Write it down, deps: [tabels]}
"""


def told(found: tuple[FieldProblemView, ...]) -> dict[str, str]:
    return {one.field: one.detail for one in found}


def test_each_invalid_field_is_named_and_nothing_is_created(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    found = client.check_agent(
        CheckAgentRequest(
            name="survey",
            input="/no/such/folder",
            model="nobody/none",
            worker_model="nobody/else",
            plan=PLAN,
            cycle_seconds=60,
            summary=True,
            tools=("no_such_tool",),
        )
    )
    problems = told(found.problems)
    assert (found.is_possible, found.estimate, found.model, found.nodes) == (
        False,
        None,
        None,
        None,
    )
    assert problems["goal"] == "give the goal of the team"
    assert "taken" in problems["name"]
    assert "existing folder" in problems["input"]
    assert problems["model"] == problems["worker_model"] == "unknown provider"
    assert problems["plan"].startswith("plan:3: nodes[1].deps[0]: unknown node 'tabels'")
    assert "no cycles" in problems["cycle_seconds"]
    assert "no_such_tool" in problems["tools"]
    assert problems["leader"] == "summary is for a run with the leader `plan`"
    assert len(client.agents()) == 1
    assert not [body for _, body in gateway_home.runtime.asked if isinstance(body, StartChild)]


STAGES = """stages:
  - {name: Look, roles: [{id: look, prompt: Look}]}
  - {name: Write, roles: [{id: write, prompt: Write}]}
contract: {coordinator_reconvenes: true}
"""


@pytest.mark.parametrize(
    ("asked", "told_of"),
    [
        ({}, "needs a plan"),
        ({"plan": STAGES}, "cannot reconvene"),
        ({"plan": PLAN, "output_schema": {}}, "no model that writes an answer"),
        ({"plan": PLAN, "mode": "infinite"}, "has no cycles"),
    ],
)
def test_a_run_that_no_plan_can_lead_is_refused(
    client: Client, asked: dict[str, Any], told_of: str
) -> None:
    given = {"goal": "Do it", "leader": "plan", **asked}
    found = client.check_agent(CheckAgentRequest.model_validate(given))
    assert told_of in told(found.problems)["leader"]


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("cycle_seconds", {"cycle_seconds": 60}),
        ("planning", {"approve_plan": True}),
        ("input", {"input": "no/absolute/path"}),
        ("plan", {"plan": PLAN}),
        ("leader", {"leader": "plan"}),
        ("mcp_servers", {"mcp_servers": ["none"]}),
        ("roles", {"roles": {"section": {"lead_role": "nobody"}}}),
        ("name", {"name": "survey"}),
        ("tools", {"tools": ["no_such_tool"]}),
        ("model", {"model": "nobody/none"}),
        ("worker_model", {"worker_model": "nobody/none"}),
    ],
)
def test_creating_an_agent_is_refused_with_the_first_problem_of_its_check(
    gateway_home: GatewayHome, client: Client, field: str, asked: dict[str, Any]
) -> None:
    gateway_home.add_agent()
    found = client.check_agent(CheckAgentRequest.model_validate({"goal": "Do it", **asked}))
    [problem] = found.problems
    assert problem.field == field
    error = refused(
        client.create_agent, CreateAgentRequest.model_validate({"goal": "Do it", **asked})
    )
    assert error.detail == problem.detail


def test_valid_request_returns_its_resolved_values_and_warnings(
    gateway_home: GatewayHome, client: Client, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    request = CheckAgentRequest(
        goal="Survey this folder now",
        input=str(folder),
        plan=PLAN.replace("tabels", "tables"),
        budget_tokens=10,
    )
    found: AgentCheckView = client.check_agent(request)
    assert found.is_possible
    assert (found.name, found.model, found.nodes) == ("survey-folder-now", "script/fake", 2)
    assert found.estimate is not None
    assert found.estimate.tokens[0] > 0
    assert found.estimate.text.startswith("at least ")
    warnings = told(found.warnings)
    assert warnings["input"] == "'data' is empty"
    assert warnings["budget_tokens"] == "this is less than such a run takes at least"
    os.mkdir(folder / "inner")
    again = client.check_agent(request.model_copy(update={"budget_tokens": None}))
    assert told(again.warnings) == {}, "the script costs nothing, so no budget is missed"


def test_dollars_without_a_price_are_refused_as_the_run_would_be(
    gateway_home: GatewayHome, client: Client
) -> None:
    refusal = RefusedReply(reason=no_dollars("script/fake"))
    gateway_home.runtime.answers[CheckModel] = lambda body: refusal if body.has_usd_budget else Ok()
    asked = CheckAgentRequest(goal="Survey", budget_usd=1, model="script/fake")
    found = client.check_agent(asked)
    assert (found.is_possible, told(found.problems)) == (False, {"budget_usd": refusal.reason})
    created = refused(client.create_agent, CreateAgentRequest(**asked.model_dump()))
    assert (created.status, created.detail) == (422, refusal.reason)


def test_unavailable_broker_is_not_the_problem_of_a_field(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.runtime.answers[CheckModel] = lambda body: DeadlineExceeded("broker")
    assert refused(client.check_agent, CheckAgentRequest(goal="x")).status == 504


def test_external_agents_are_listed_with_their_installation(client: Client) -> None:
    found = {one.name: one for one in client.external_agents()}
    assert {"claude-code", "codex"} <= found.keys()
    assert all(one.installed == (one.program is not None) for one in found.values())
    assert found["codex"].rules in ("asked", "denied", "sandbox")
