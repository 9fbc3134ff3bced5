"""`agiraph archive`, `restore`, `rm`: a deletion needs confirmation and is final."""

from agiraph.http.api import AgentView, ApiError, ArchivedView, DeletedView
from tests.unit.cli.fakes import AGENT, FakeClient, command, json_of, summary


class ArchivingClient(FakeClient):
    """Records archived and deleted agents."""

    is_away = False
    status = "completed"

    def archive(self, agent: str) -> ArchivedView:
        if self.is_away:
            raise ApiError(404, f"unknown agent '{agent}'")
        self.did.append(("archive", agent))
        return ArchivedView(id=AGENT, path="/home/agents/.archive/x")

    def agents(self, **_: object) -> list[AgentView]:
        return [] if self.is_away else [summary(status=self.status)]

    def archived(self) -> list[AgentView]:
        kept = summary(status="archived")
        return [kept.model_copy(update={"id": f"{AGENT}-2", "name": "survey-2"}), *self._away()]

    def _away(self) -> list[AgentView]:
        return [summary(status="archived")] if self.is_away else []

    def restore(self, agent: str) -> AgentView:
        self.did.append(("restore", agent))
        return summary(status="stopped")

    def delete(self, agent: str, *, forget: bool = False) -> DeletedView:
        self.did.append(("forget" if forget else "delete", agent))
        return DeletedView(id=AGENT, name="survey", taught=0 if forget else 2)


def test_agent_is_archived_listed_and_restored() -> None:
    client = ArchivingClient()
    assert json_of(command(client, "archive", "survey", "--json"))["id"] == AGENT
    assert "survey" in command(client, "archive").output
    assert json_of(command(client, "restore", "survey", "--json"))["status"] == "stopped"
    assert client.did == [("archive", "survey"), ("restore", "survey")]


def test_a_deletion_is_asked_about() -> None:
    client = ArchivingClient()
    kept = command(client, "rm", "survey", stdin="n\n")
    assert (kept.exit_code, client.did) == (1, [])
    assert "nothing was deleted" in kept.stderr
    assert command(client, "rm", "survey", stdin="y\n").exit_code == 0
    assert client.did == [("archive", AGENT), ("delete", AGENT)]


def test_deletion_prompt_names_the_agent_in_full() -> None:
    asked = command(ArchivingClient(), "rm", "survey-2", stdin="n\n").stderr
    assert f"Delete 'survey-2' ({AGENT}-2)" in asked
    assert command(ArchivingClient(), "rm", "sur", "--yes").exit_code == 2


def test_archived_agent_is_deleted_from_the_archive() -> None:
    client = ArchivingClient()
    client.is_away = True
    assert command(client, "rm", "survey", "--yes").exit_code == 0
    assert client.did == [("delete", AGENT)]


def test_an_agent_at_work_is_deleted_only_by_force() -> None:
    client = ArchivingClient()
    client.status = "working"
    refused = command(client, "rm", "survey-2", "survey", "--yes")
    assert (refused.exit_code, client.did) == (1, [])
    assert f"{AGENT} is working: `agiraph stop` it first" in refused.stderr
    assert command(client, "delete", "survey-2", "survey", "--force").exit_code == 0
    assert client.did == [("delete", f"{AGENT}-2"), ("archive", AGENT), ("delete", AGENT)]
