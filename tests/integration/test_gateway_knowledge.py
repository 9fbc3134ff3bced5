"""The knowledge database over the HTTP API and the bus: written once, found, shown, removed."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from agiraph.core.ids import QuestionId
from agiraph.http.api import (
    AddKnowledgeRequest,
    ForgetKnowledgeRequest,
    KnowledgeNodeView,
    PruneKnowledgeRequest,
    ScanProjectRequest,
    SearchKnowledgeRequest,
)
from agiraph.http.client import Client
from agiraph.knowledge.learned import FinishedAttempt, FinishedNode, FinishedRun
from agiraph.knowledge.obsidian.vault import export_vault
from agiraph.knowledge.records import KnowledgeNode, project_id
from agiraph.knowledge.remembered import RememberedSpec
from agiraph.messages.knowledge import (
    EarlierWorkFound,
    FindEarlierWork,
    LearnFromRun,
    RememberThis,
)
from agiraph.messages.question import AskQuestion
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, RUN, GatewayHome, refused

LEAD = f"{AGENT}/coordinator"
FAILED = FinishedNode(
    id="n1",
    name="tables",
    task="Migrate the tables",
    summary="Set DATABASE_URL first",
    failures=(FinishedAttempt(reason="no such table", at=2.0),),
)
FINISHED = FinishedRun(
    agent=AGENT,
    run=RUN,
    goal="Deploy billing",
    outcome="completed",
    result="It is deployed.",
    started=0.0,
    ended=5000.0,
    nodes=(FAILED,),
)


def found(client: Client, words: str, **more: Any) -> list[str]:
    asked = SearchKnowledgeRequest.model_validate({"query": words, **more})
    return [hit.node.kind for hit in client.search_knowledge(asked)]


def add(client: Client, title: str, **more: Any) -> KnowledgeNodeView:
    what = {"kind": "pattern", "title": title, "text": f"{title}, always."} | more
    return client.add_knowledge(AddKnowledgeRequest.model_validate(what))


def remove(database: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)


def test_lessons_of_a_run_are_stored_once_with_the_answers_of_the_human(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    ask = AskQuestion(
        question_id=QuestionId("q-1"), agent=AGENT, from_name="coordinator", question="Which one?"
    )
    gateway_home.arrive(arrived(ask, LEAD))
    [question] = client.questions()
    client.respond(AGENT, "PostgreSQL. Always use PostgreSQL.", question_id=question.id)
    ended = FINISHED.model_copy(update={"ended": (client.questions()[0].answered_at or 0.0) + 1})
    lesson = arrived(LearnFromRun(run=ended), LEAD, id=b"1" * 16)
    gateway_home.arrive(lesson)
    assert found(client, "DATABASE_URL") == ["mistake"]
    assert set(found(client, "PostgreSQL")) >= {"decision", "preference"}
    before = client.knowledge_stats()
    [mistake] = client.search_knowledge(SearchKnowledgeRequest(query="DATABASE_URL"))
    assert client.remove_knowledge(mistake.node.id[:10]).removed == 1
    gateway_home.arrive(lesson)
    assert found(client, "DATABASE_URL") == [], "what was removed does not come back"
    assert client.knowledge_stats().nodes == before.nodes - 1
    assert refused(lambda: client.knowledge_node(mistake.node.id)).status == 404


def test_remembered_note_is_found_for_a_goal_and_counted_as_used(
    gateway_home: GatewayHome, client: Client, tmp_path: Path
) -> None:
    what = RememberedSpec(kind="pattern", title="Billing needs a lock", text="Take the lock.")
    folder = str(tmp_path)
    body = RememberThis(agent=AGENT, run=RUN, input_dir=folder, by="ada", what=what)
    for _ in range(2):
        gateway_home.arrive(arrived(body, f"{AGENT}/ada-1", id=b"2" * 16))
    [node] = client.knowledge(project=folder).nodes
    for_all = add(client, "Round billing amounts").node
    add(client, "Billing of another shop", project="/src/shop")
    assert (node.title, node.project_id, node.agent) == (what.title, project_id(folder), AGENT)
    goal = FindEarlierWork(agent=AGENT, run=RUN, goal="Fix billing", input_dir=folder, tokens=500)
    gateway_home.loop.call_soon_threadsafe(gateway_home.runtime.put, arrived(goal, LEAD))
    gateway_home.wait_until(lambda: bool(gateway_home.runtime.sent_to(LEAD)))
    [answer] = gateway_home.runtime.sent_to(LEAD)
    assert isinstance(answer, EarlierWorkFound)
    notes = {note.id: "'billing'" in note.why for note in answer.found.notes}
    assert notes == {node.id: True, for_all.id: True}, "those of another project are left out"
    assert client.knowledge_node(node.id).node.used == 1


def test_knowledge_is_added_listed_exported_and_removed(
    gateway_home: GatewayHome, client: Client
) -> None:
    one = add(client, "Count twice", project="/src/shop", tags=["sums"])
    two = add(client, "Cut once")
    assert one.node.importance > 0.5
    assert [node.id for node in client.knowledge().nodes] == [two.node.id, one.node.id]
    assert [node.id for node in client.knowledge(project="/src/shop").nodes] == [one.node.id]
    assert client.knowledge(kinds=["file"]).nodes == ()
    page = client.knowledge(limit=1)
    assert [node.id for node in client.knowledge(after=page.next or "").nodes] == [one.node.id]
    assert refused(lambda: client.knowledge(after="nonsense")).status == 422
    records = [json.loads(line) for line in client.export_knowledge()]
    assert {record["node"]["title"] for record in records} == {"Count twice", "Cut once"}
    assert refused(lambda: client.forget_knowledge(ForgetKnowledgeRequest())).status == 422
    assert refused(lambda: client.remove_knowledge("c-00000000")).status == 404
    forget = ForgetKnowledgeRequest(project="/src/shop")
    assert client.forget_knowledge(forget).removed == 1
    assert [node.id for node in client.knowledge().nodes] == [two.node.id]


def test_vault_for_obsidian_is_downloaded_as_a_zip_file(
    gateway_home: GatewayHome, client: Client, tmp_path: Path
) -> None:
    add(client, "Count twice")
    add(client, "Short reports", kind="preference")

    def downloaded(query: str = "") -> zipfile.ZipFile:
        answer = client._http.get(f"/knowledge/obsidian{query}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
        assert "agiraph-knowledge.zip" in answer.headers["content-disposition"]
        return zipfile.ZipFile(io.BytesIO(answer.content))

    vault = downloaded()
    notes = {"Patterns/Count twice.md", "Preferences/Short reports.md", "_Index.md"}
    assert notes <= {*vault.namelist()}
    assert "Count twice, always." in vault.read("Patterns/Count twice.md").decode()
    assert "Patterns/Count twice.md" not in downloaded("?kind=preference").namelist()
    vault.extractall(tmp_path)
    (tmp_path / "Patterns/Count twice.md").write_text("mine")
    records = [json.loads(line) for line in client.export_knowledge()]
    again = export_vault(tmp_path, [KnowledgeNode(**record["node"]) for record in records], [])
    assert (again.notes_unchanged, again.notes_kept) == (1, 1), "a later export continues it"
    assert client._http.get("/knowledge/obsidian?kind=nothing").status_code == 422


def test_pruning_is_a_dry_run_first_and_keeps_protected_kinds(
    gateway_home: GatewayHome, client: Client
) -> None:
    add(client, "Old")
    add(client, "Kept", kind="preference")
    asked = PruneKnowledgeRequest(older_than_seconds=0, below=1.0, keep=("preference",))
    told = client.prune_knowledge(asked)
    assert (told.nodes_pruned, told.is_dry_run, told.by_kind) == (1, True, {"pattern": 1})
    assert client.knowledge_stats().nodes == 2
    done = client.prune_knowledge(asked.model_copy(update={"dry_run": False}))
    assert (done.nodes_pruned, done.is_dry_run) == (1, False)
    assert [node.title for node in client.knowledge().nodes] == ["Kept"]


def test_scan_reports_found_files_and_a_second_one_removed_files(
    gateway_home: GatewayHome, client: Client, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    (folder / "a.py").write_text("x = 1\n")
    scanned = client.scan_project(ScanProjectRequest(path=str(folder)))
    assert (scanned.files, scanned.gone) == (2, 0)
    assert "Python" in scanned.stack
    (folder / "a.py").unlink()
    again = client.scan_project(ScanProjectRequest(path=str(folder)))
    assert (again.files, again.gone) == (1, 1)
    assert refused(lambda: client.scan_project(ScanProjectRequest(path="relative"))).status == 422


def test_damaged_database_is_reported_and_a_replacement_used_at_once(
    gateway_home: GatewayHome, client: Client
) -> None:
    add(client, "Before")
    path = gateway_home.home.knowledge
    remove(path)
    path.write_bytes(b"no database" * 1000)
    told = refused(client.knowledge_stats)
    assert (told.status, "is damaged" in told.detail) == (500, True)
    gateway_home.add_agent()
    gateway_home.arrive(arrived(LearnFromRun(run=FINISHED), LEAD))
    [event] = [one for one in gateway_home.runtime.events() if one.type == "knowledge.unavailable"]
    assert "is damaged" in event.data["reason"]
    remove(path)
    assert client.knowledge_stats().nodes == 0
