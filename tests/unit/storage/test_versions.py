"""Versions of files: every kind of the last release is opened, and a newer one refused by name."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from actors.broker.ledger import UsageLedger
from actors.broker.llm_proxy.grant_table import ProxyGrantTable
from actors.gateway.auth.credential_store import CredentialStore
from actors.gateway.notifications.delivery_journal import DeliveryJournal
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.agents import AgentDirectory
from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.dead_letters import DeadLetterStore
from actors.gateway.state.idempotency_store import IdempotencyStore
from actors.gateway.state.message_history import MessageHistory
from actors.recorder.event_file import EventFile
from actors.recorder.event_log import EventLog
from actors.recorder.message_log import JOURNAL, MessageLog, read_messages
from actors.scheduler.trigger_store import TriggerStore
from actors.supervisor.child_register import ChildRegister
from actors.supervisor.host_registry import HostRegistry
from actors.tracer.tracer import Tracer
from agiraph.agent.conversation import Conversation
from agiraph.board.shared_context import SharedContextLimits, SharedContextStore
from agiraph.board.store import BoardStore, read_board
from agiraph.context.records import ContextNode
from agiraph.context.store import ContextStore
from agiraph.core.clock import SystemClock
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import AgentId
from agiraph.http.errors import ApiError
from agiraph.llm.recording.recording import read_recording
from agiraph.messages.host import InviteHost
from agiraph.storage.home import Home
from agiraph.storage.journal import Journal, encode_record, read_journal
from agiraph.storage.versions import KINDS, FileKind, TooNew, migrate_database, read_object
from agiraph.triggers.trigger_set import FiringLimits
from cli.doctor_checks.check import DoctorContext
from cli.doctor_checks.home import check_versions
from tests.fakes.line import SilentLog
from transport.errors import StoreRefused
from transport.stored_mailboxes import StoredMailboxes

HOMES = Path(__file__).parents[2] / "fixtures" / "homes"
RELEASES = sorted(path.name for path in HOMES.iterdir() if path.name[0].isdigit())
SHOP = AgentId("shop-1")


@pytest.fixture(params=RELEASES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """Return a copy of a home that a release has written."""
    shutil.copytree(HOMES / request.param, tmp_path / "home")
    home = Home(tmp_path / "home")
    hosts = HostRegistry(home)  # no release has written its files yet
    hosts.uplink_key()
    hosts.invite(InviteHost(name="north"), "tcp://home:7400")
    context = ContextStore(home.context)
    context.add([ContextNode(id="c-1", kind="task", title="t", created=1.0, updated=1.0)])
    context.close()
    return home


def _context_nodes(home: Home) -> object:
    store = ContextStore(home.context)
    nodes = store.page().nodes
    store.close()
    return [node.title for node in nodes]


def _hosts(home: Home) -> object:
    return [one.name for one in HostRegistry(home).invitations()]


def _uplink_key(home: Home) -> object:
    return len(HostRegistry(home).uplink_key().public)


def shelf(home: Home) -> TriggerStore:
    return TriggerStore(home, FiringLimits(1.0, 1), SilentLog(), lambda event: None, lambda: 1.0)


def tracer(home: Home) -> Tracer:
    return Tracer(home, lambda spans: True, SilentLog(), with_content=False, since=0.0)


def run_of(home: Home) -> Path:
    return home.agent(SHOP).run("r1").path


def _agent(home: Home) -> object:
    return AgentDirectory(home).find("shop-1").goal


def _triggers(home: Home) -> object:
    kept = shelf(home)
    kept.load()
    return [trigger.name for trigger in kept.book(SHOP).triggers.values()]


def _doors(home: Home) -> object:
    return ProxyGrantTable(home.system.doors).is_empty


def _tokens(home: Home) -> object:
    return [
        token.name for token in CredentialStore(home, SystemClock(), SilentLog()).credentials.tokens
    ]


def _tracing(home: Home) -> object:
    states = tracer(home)._states or {}
    return {agent: state.cursor for agent, state in states.items()}


def _events(home: Home) -> object:
    path = home.agent(SHOP).events
    read = [event.seq for event in EventLog(path).page(0, 9)]
    file = EventFile(path)
    assert read == list(range(1, file.count + 1))
    file.close()
    return read


def _conversation(home: Home) -> object:
    kept = Conversation(home.agent(SHOP).conversation)
    kept.close()
    return len(kept.transcript.turns)


def _board(home: Home) -> object:
    path = run_of(home) / "journal.jsonl"
    store = BoardStore(path)
    store.close()
    assert read_board(path) == store.board
    return [worker.name for worker in store.board.workers.values()]


def _context(home: Home) -> object:
    run = home.agent(SHOP).run("r1")
    store = SharedContextStore(run.context_journal, run.context, SharedContextLimits(9, 999, 999))
    store.close()
    return store.context.find("plan").value


def _messages(home: Home) -> object:
    folder = run_of(home) / "_messages"
    read = [one.content for one in read_messages(folder)]
    log = MessageLog(folder)
    assert not log.add("m1", "Ada", "Bob", "again", 2.0)
    log.close()
    return read


def _questions(home: Home) -> object:
    with closing(GatewayDatabase(home.human.book)) as database:
        book = QuestionStore(database)
        return {question.id: question.status for question in book.listed(9)}


def _inbox(home: Home) -> object:
    with closing(GatewayDatabase(home.human.book)) as database:
        return [one.content for one in MessageHistory(database).page(SHOP, 0, 9).messages]


def _repeats(home: Home) -> object:
    repeats = IdempotencyStore(home.human.repeats, 0.0)
    repeats.close()
    return "key" in repeats


def _dead(home: Home) -> object:
    with closing(GatewayDatabase(home.human.book)) as database:
        return [view.to for view in DeadLetterStore(database).views()]


def _channels(home: Home) -> object:
    ledger = DeliveryJournal(home.human.channels)
    ledger.close()
    return "phone" in json.dumps(ledger.queue.state())


def _children(home: Home) -> object:
    return list(ChildRegister(home.system.children).table.rows)


def _usage(home: Home) -> object:
    with UsageLedger(home.system.usage) as ledger:
        return [row.calls for row in ledger.rows("model")]


def _mailboxes(home: Home) -> object:
    boxes = StoredMailboxes(home.system.mailboxes, log=lambda text: None)
    waiting = boxes.depths()
    boxes.close()
    return waiting


def _recording(home: Home) -> object:
    path = home.system.recording("r1")
    return [call.response.text for call in read_recording(path.read_text().splitlines(), str(path))
            if call.response]  # fmt: skip


READ: dict[str, tuple[Callable[[Home], object], object]] = {
    "agents/shop-1/agent.json": (_agent, "g"),
    "agents/shop-1/triggers.json": (_triggers, ["tick"]),
    "system/doors.json": (_doors, False),
    "human/tokens.json": (_tokens, ["laptop"]),
    "system/tracing.json": (_tracing, {"shop-1": 2}),
    "agents/shop-1/events.jsonl": (_events, [1, 2]),
    "agents/shop-1/conversation.jsonl": (_conversation, 1),
    "agents/shop-1/runs/r1/journal.jsonl": (_board, ["ada"]),
    "agents/shop-1/runs/r1/context.jsonl": (_context, 1),
    f"agents/shop-1/runs/r1/_messages/{JOURNAL}": (_messages, ["hello"]),
    "human/questions.jsonl": (_questions, {"q1": "answered", "q2": "open"}),
    "human/book.db": (_questions, {"q1": "answered", "q2": "open"}),
    "context.db": (_context_nodes, ["t"]),
    "human/inbox.jsonl": (_inbox, ["hello"]),
    "human/repeats.jsonl": (_repeats, True),
    "human/dead.jsonl": (_dead, ["shop/ada"]),
    "human/channels.jsonl": (_channels, True),
    "system/hosts.json": (_hosts, ["north"]),
    "system/uplink.key": (_uplink_key, 40),
    "system/children.journal": (_children, ["shop-1/coordinator"]),
    "system/usage.db": (_usage, [1]),
    "system/mailboxes.db": (_mailboxes, {"bob": (1, 5)}),
    "system/recordings/r1.jsonl": (_recording, ["hello"]),
}
FORMS = {kind.name: kind.form for kind in KINDS}


def make_newer(path: Path) -> None:
    """Let a file say that its version is 99."""
    if path.suffix == ".db":
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
    elif FORMS.get(path.name) == "json":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    elif path.parent.name == "recordings":
        path.write_text(path.read_text().replace('"v":1', '"v":99'))
    else:
        path.write_bytes(encode_record({"version": 99}) + b'{"of":"another form"}\n')


def test_every_kind_of_file_is_tried() -> None:
    tried = {Path(name).name for name in READ}
    assert tried == {kind.name for kind in KINDS} | {"mailboxes.db", "r1.jsonl"}


@pytest.mark.parametrize("name", READ)
def test_a_file_of_an_older_release_is_opened(home: Home, name: str) -> None:
    read, wanted = READ[name]
    assert read(home) == wanted
    assert read(home) == wanted, "and once more, after it was opened for writing"


@pytest.mark.parametrize("name", READ)
def test_a_file_of_a_newer_version_is_refused_by_name_and_left_alone(home: Home, name: str) -> None:
    path = home.path / name
    make_newer(path)
    before = path.read_bytes()
    read, _ = READ[name]
    refusals = (Corrupt, ApiError, StoreRefused, InvalidInput)
    with pytest.raises(refusals) as told:
        read(home)
    assert str(path) in str(told.value)
    assert "99" in str(told.value)
    assert "knows" in str(told.value), "up to which version"
    assert path.read_bytes() == before
    assert not list(path.parent.glob(f"{path.name}.corrupt*"))


@pytest.mark.parametrize("name", [name for name in READ if "recordings" not in name])
def test_the_doctor_names_a_newer_file(home: Home, name: str) -> None:
    patient = DoctorContext(home, {})
    assert check_versions(patient).status == "ok"
    make_newer(home.path / name)
    found = check_versions(patient)
    assert found.status == "fail"
    assert f"{home.path / name} was written by a newer Agiraph" in found.detail
    assert "its version is 99" in found.detail


def test_one_agents_newer_file_hides_that_agent_alone(home: Home) -> None:
    other = home.agents / "mill-2"
    shutil.copytree(home.agent(SHOP).path, other)
    record = json.loads((other / "agent.json").read_text()) | {"id": "mill-2", "name": "mill"}
    (other / "agent.json").write_text(json.dumps(record))
    for name in ("agent.json", "triggers.json"):
        make_newer(home.agent(SHOP).path / name)
    assert [agent.id for agent in AgentDirectory(home).all()] == ["mill-2"]
    kept = shelf(home)
    kept.load()
    assert list(kept.books) == ["mill-2"]
    assert "its version is 99" in str(kept.damaged[SHOP])


def _named(record: dict[str, object]) -> dict[str, object]:
    return {"name": record["id"]}


NEXT = FileKind("x.jsonl", "journal", steps=(_named,))


def test_a_journal_of_an_older_version_is_rewritten_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(encode_record({"id": 1}) + encode_record({"id": 2}) + b'{"torn')
    for count in (2, 3):
        with Journal(path, kind=NEXT) as journal:
            assert journal.records == [{"name": n} for n in range(1, count + 1)]
            journal.append({"name": count + 1})
            mark = journal.mark
    with Journal(path, since=mark, kind=NEXT) as journal:
        assert (journal.records, journal.count) == ([], 4)
    assert path.read_bytes().startswith(b'{"version":2,')
    with pytest.raises(TooNew, match=r"x\.jsonl .* its version is 2, this one knows up to 1"):
        read_journal(path)


def test_a_new_journal_says_its_version_unless_that_is_the_first(tmp_path: Path) -> None:
    with Journal(tmp_path / "x.jsonl", kind=NEXT) as journal:
        journal.append({"name": 1})
    with Journal(tmp_path / "x.jsonl", kind=NEXT) as journal:
        assert (journal.records, journal.count) == ([{"name": 1}], 1)
    Journal(tmp_path / "y.jsonl").close()
    assert (tmp_path / "y.jsonl").read_bytes() == b""


def test_a_json_file_of_an_older_version_takes_the_steps_it_needs(tmp_path: Path) -> None:
    kind = FileKind("x.json", "json", steps=(_named, lambda value: value | {"new": 1}))
    path = tmp_path / "x.json"
    assert read_object(path, '{"id": 1}', kind) == {"name": 1, "new": 1}
    assert read_object(path, '{"name": 1, "version": 2}', kind)["new"] == 1
    assert read_object(path, '{"version": 3}', kind) == {"version": 3}
    with pytest.raises(TooNew, match="version is 4, this one knows up to 3"):
        read_object(path, '{"version": 4}', kind)


def test_a_database_of_an_older_version_takes_the_steps_it_needs(tmp_path: Path) -> None:
    kind = FileKind("x.db", "sqlite", sql=("ALTER TABLE t ADD COLUMN b DEFAULT 7",))
    path = tmp_path / "x.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE t (a)")
    db.execute("INSERT INTO t VALUES (1)")
    for _ in range(2):
        migrate_database(db, path, kind)
        assert db.execute("SELECT a, b FROM t").fetchall() == [(1, 7)]
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    with pytest.raises(TooNew, match=r"x\.db .* version is 2, this one knows up to 1"):
        migrate_database(db, path, FileKind("x.db", "sqlite"))
    db.close()
