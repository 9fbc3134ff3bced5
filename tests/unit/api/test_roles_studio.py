"""The Studio's part of the API: the owner of an agent, the team in agents.yaml, earlier runs."""

from collections.abc import Iterator

import pytest

from agiraph.board.commands import StartRun
from agiraph.board.store import BoardStore
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.core.roles import RoleTeamTerms, roles_of
from agiraph.http.api import (
    CheckRolesRequest,
    CreateAgentRequest,
    CreateTokenRequest,
    EditSettingsRequest,
    RoleTeamRequest,
    SaveRolesRequest,
    StartRunRequest,
)
from agiraph.http.api.access import Scope
from agiraph.http.client import Client
from agiraph.storage.files import replace_file
from tests.fakes.gateway import RUN, GatewayHome, refused, running_gateway

OWN = """\
# who works for us
helper:
  command: [helper]   # on the PATH
agentic_team:
  max_turns: 9        # short tasks
  roles:
    qa_engineer: {agent: script/one}
    writer:
      title: Writer   # of the docs
      agent: script/two
"""


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home")) as gateway_home:
        yield gateway_home


@pytest.fixture
def client(gateway_home: GatewayHome) -> Iterator[Client]:
    (gateway_home.home.path / "agents.yaml").unlink(missing_ok=True)
    with gateway_home.client() as client:
        yield client


def other(client: Client, name: str, scope: Scope) -> Client:
    """Return a client of another person, with a token of this name."""
    secret = client.add_token(CreateTokenRequest(name=name, scope=scope)).token
    assert secret is not None
    return Client(client.url, secret)


def session(gateway_home: GatewayHome, agent: str) -> Agent:
    """Let an agent that was created be at a task of a team, as its coordinator writes it down."""
    record = gateway_home.home.agent(AgentId(agent)).record
    team = RoleTeamTerms(**dict(roles_of({})))
    found = Agent.model_validate_json(record.read_bytes()).model_copy(update={"roles": team})
    replace_file(record, found.model_dump_json())
    return found


def test_agent_with_roles_belongs_to_the_token_that_created_it(
    gateway_home: GatewayHome, client: Client
) -> None:
    mine = client.create_agent(
        CreateAgentRequest(goal="Mine", name="mine", roles=RoleTeamRequest())
    )
    client.create_agent(CreateAgentRequest(goal="No team", name="teamless"))
    with other(client, "eva", "control") as eva, other(client, "wall", "read") as wall:
        hers = eva.create_agent(
            CreateAgentRequest(goal="Hers", name="hers", roles=RoleTeamRequest())
        )
        for agent in (mine, hers):
            session(gateway_home, agent.id)
        assert (mine.created_by, hers.created_by) == ("home", "eva")
        assert [one.name for one in client.agents(has_roles=True, mine=True)] == ["mine"]
        assert [one.name for one in eva.agents(has_roles=True, mine=True)] == ["hers"]
        assert wall.agents(has_roles=True, mine=True) == []
        assert [one.name for one in client.agents(has_roles=False)] == ["teamless"]

        next_task = StartRunRequest(goal="Go on", roles=RoleTeamRequest())
        error = refused(eva.begin_run, mine.id, next_task)
        assert error.status == 403
        assert "to the token 'home', not to 'eva': create an agent of your own" in error.detail
        assert refused(wall.begin_run, hers.id, next_task).status == 403
        assert refused(wall.save_roles, SaveRolesRequest(section={})).status == 403


def test_the_team_is_written_and_the_rest_of_the_file_stays(
    gateway_home: GatewayHome, client: Client
) -> None:
    file = gateway_home.home.path / "agents.yaml"
    file.write_text(OWN)
    shown = client.roles()
    section = {
        "lead_role": "writer",
        "max_turns": 12,
        "repetitions": 3,
        "transcript_turns": 8,
        "roles": {
            "qa_engineer": {"agent": "script/one", "fallback": "script/three"},
            "tester": {},
            "writer": {"title": "Author", "agent": ""},
        },
    }
    saved = client.save_roles(SaveRolesRequest(section=section), etag=shown.etag)
    assert saved.etag not in ("", shown.etag)
    assert file.read_text() == (
        "# who works for us\n"
        "helper:\n"
        "  command: [helper]   # on the PATH\n"
        "agentic_team:\n"
        "  roles:\n"
        "    qa_engineer: {agent: script/one, fallback: script/three}\n"
        "    writer:\n"
        "      title: Author   # of the docs\n"
        "      agent: ''\n"
        "    tester:\n"
        "      title: tester\n"
        "  lead_role: writer\n"
        "  repetitions: 3\n"
    )
    again = client.save_roles(SaveRolesRequest(section=section), etag=shown.etag)
    assert again.etag == saved.etag == client.roles().etag, "what is so already is no change"
    error = refused(client.save_roles, SaveRolesRequest(section={}), etag=shown.etag)
    assert (error.status, "was changed since it was read" in error.detail) == (412, True)
    emptied = client.save_roles(SaveRolesRequest(section={}), etag=saved.etag)
    assert file.read_text().splitlines() == OWN.splitlines()[:3]
    assert [role.name for role in emptied.roles][-1] == "devops_engineer"


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"lead_role": "boss"}, "unknown role in agentic_team.lead_role 'boss'"),
        ({"max_turns": 0}, "agentic_team.max_turns: "),
        ({"roles": {"qa_engineer": {"agent": "nowhere/x"}}}, "role 'qa_engineer': agent 'nowhere"),
        ({"roles": {"qa_engineer": {"agent": "no-such"}}}, "role 'qa_engineer': agent 'no-such'"),
    ],
)
def test_a_team_that_could_not_work_is_not_written(
    gateway_home: GatewayHome, client: Client, section: dict[str, object], why: str
) -> None:
    checked = client.check_roles(CheckRolesRequest(section=section, named_only=True))
    assert [one[: len(why)] for one in checked.problems] == [why]
    asked = SaveRolesRequest(section=section)
    error = refused(client.save_roles, asked, etag=client.roles().etag)
    assert (error.status, why in error.detail) == (422, True)
    assert not (gateway_home.home.path / "agents.yaml").exists()


def test_the_text_of_a_wrong_team_is_refused_at_its_line(client: Client) -> None:
    text = "helper: {command: [x]}\nagentic_team:\n  roles:\n    writer: {colour: red}\n"
    edit = EditSettingsRequest(text=text)
    checked = client.check_settings("agents.yaml", edit)
    assert [(one.line, one.detail[:41]) for one in checked.problems] == [
        (4, "agentic_team.roles.writer.colour: unknown")
    ]
    assert refused(client.save_settings, "agents.yaml", edit, etag="absent").status == 422


def test_turns_of_an_earlier_run_come_from_its_board(
    gateway_home: GatewayHome, client: Client
) -> None:
    agent = client.create_agent(
        CreateAgentRequest(goal="Now", name="twice", roles=RoleTeamRequest())
    )
    session(gateway_home, agent.id)
    earlier = RunId("20250101-000000-bbbbbb")
    run = gateway_home.home.agent(AgentId(agent.id)).run(earlier)
    run.path.mkdir(parents=True)
    store = BoardStore(run.journal)
    team = roles_of({"max_turns": 3})
    models = {"model": "script/fake", "worker_model": "script/fake"}
    store.execute(StartRun(run_id=earlier, goal="Before", roles=team, **models), 1.0)
    store.close()
    told = client.role_turns(agent.id, run=earlier)
    assert (told.task, told.max_turns, told.run) == ("Before", 3, earlier)
    assert client.role_turns(agent.id).task == "Now"
    assert [(one.id, one.has_roles) for one in client.runs(agent.id)] == [(earlier, True)]
    gateway_home.add_agent("plain-1", "plain")
    assert refused(client.role_turns, "plain-1", run=RUN).status == 404
