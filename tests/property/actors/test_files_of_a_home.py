"""The service `files`: no message of any sender reads or changes a file outside its scope."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.files.requests import FileRequests
from agiraph.board.commands import AssignNode, CompleteNode, CreateNode, SpawnWorker
from agiraph.core.ids import AgentId
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.messages.authorization import refusal
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.files import (
    ChangeFiles,
    FilePart,
    FilesChanged,
    FilesListed,
    FileWanted,
    ListFiles,
    MakeEntry,
    MoveFile,
    OfferFile,
    ReadFile,
    RemoveFile,
    SendPart,
    WriteFile,
)
from agiraph.storage.file_records import FileOffer
from agiraph.storage.files import remove_tree, replace_file
from agiraph.storage.home import plan_copy
from tests.unit.files.files_home import AGENT, FilesHome

WORKERS = ("ada", "bob", "eve", "dan", "of another agent")
STRANGERS = (
    *(f"{AGENT}/coordinator", f"{AGENT}/nobody-123456", f"{AGENT}/", f"{AGENT}/../{AGENT}"),
    *("nobody/ada", "human", "console/1", "host/north", "invite/1", "tools/web", "files", "", "/"),
)
INPUTS = ("given", ".", "home/inputs/other")
"""The last folder but one contains the home."""
NEW = b"new content"
DIGEST = hashlib.sha256(NEW).hexdigest()
PRIVATE = (
    *("system/token", "system/uplink.key", "system/secrets.env", "system/mailboxes.db"),
    *("human/tokens.json", "human/book.db", "agiraph.yaml", "approvals.yaml", "knowledge.db"),
    *("agents/survey-1/MEMORY.md", "agents/survey-1/memory/2026.md", "inputs/other/a.csv"),
    *("agents/survey-1/conversation.jsonl", "agents/survey-1/runs/r0/_plan.md"),
    *("agents/survey-1/snapshots/r1.board", "agents/survey-1/runs/r1/shared_values.jsonl"),
)


class TwoAgentHome:
    """A home of two agents, and folders beside it; the content of each file is its own path.

    `ada` and `bob` each have a node, `eve` has none, the node of `dan` has ended.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files_home = files_home = FilesHome(root)
        self.others = FilesHome(root, AgentId("other-2"))
        files_home.board.execute(SpawnWorker("w-eve", WorkerSpec(name="eve")), 4.0)
        files_home.board.execute(SpawnWorker("w-dan", WorkerSpec(name="dan")), 4.0)
        files_home.board.execute(CreateNode("c-old", NodeSpec(task="do it", name="old")), 4.0)
        files_home.board.execute(AssignNode("old", "dan"), 4.0)
        files_home.board.execute(CompleteNode("old", 1, NodeResult(summary="done")), 5.0)
        files_home.ids = {
            worker.name: worker.id for worker in files_home.board.board.workers.values()
        }
        files_home.folders = {
            node.name: node.folder for node in files_home.board.board.nodes.values()
        }
        self.fill()
        self.copy = root.with_name("copy")
        subprocess.run(("cp", "-a", root, self.copy), check=True)
        self.requests = FileRequests(files_home.home)
        self.give("given")

    def give(self, input_dir: str) -> None:
        """Give both agents a folder as their input."""
        for files_home in (self.files_home, self.others):
            files_home.give(self.root / input_dir)
        self.before = dict(self.found())
        self.by_digest = {
            hashlib.sha256(content).hexdigest(): name
            for name, (_, content) in self.before.items()
            if isinstance(content, bytes) and content
        }

    def fill(self) -> None:
        home, run = self.files_home.home.path, self.files_home.run
        for name in PRIVATE:
            self.put(home / name)
        for one in (self.files_home, self.others):
            for worker in one.ids.values():
                self.put(one.run.worker(worker).notebook)
                self.put(one.run.worker(worker).conversation)
            for folder in one.folders.values():
                node = one.run.node(folder)
                for place in (node.spec, node.scratch / "draft.md", node.published / "r.md"):
                    self.put(place)
        for place in (run.plan, run.messages / "1.md", plan_copy(run.path), home / "AGENTS.md"):
            self.put(place)
        self.put(home / "prompts" / "worker.md")
        self.put(self.root / "given" / "data" / "rows.csv")
        self.put(self.root / "elsewhere" / "x" / "SKILL.md")
        os.symlink(self.root / "elsewhere", home / "skills")
        scratch = self.files_home.node_home("tables").scratch
        published = self.files_home.node_home("texts").published
        for beside in (scratch, published, self.root / "given", self.root / "elsewhere"):
            os.symlink(home / "system", beside / "away")
            os.symlink(home / "system" / "token", beside / "token")
        os.mkfifo(scratch / "pipe")
        with open(os.fsencode(published) + b"/\xff", "wb"):
            pass

    def put(self, place: Path) -> None:
        replace_file(place, self.name(place), is_synced=False)

    def name(self, place: Path) -> str:
        return place.relative_to(self.root).as_posix()

    def found(self) -> Iterator[tuple[str, tuple[str, object]]]:
        """Yield each file, folder and link with its content."""
        for folder, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                place = Path(folder, name)
                kind = stat.S_IFMT(place.lstat().st_mode)
                content: object = None
                if kind == stat.S_IFREG:
                    content = place.read_bytes()
                elif kind == stat.S_IFLNK:
                    content = os.readlink(place)
                yield self.name(place), (oct(kind), content)

    def address(self, sender: str) -> str:
        if sender == WORKERS[-1]:
            return self.others.address("ada")
        return self.files_home.address(sender) if sender in self.files_home.ids else sender

    def restore(self) -> None:
        """Restore the original files."""
        remove_tree(self.root)
        subprocess.run(("cp", "-a", self.copy, self.root), check=True)
        self.requests = FileRequests(self.files_home.home)
        self.give("given")

    def close(self) -> None:
        remove_tree(self.root.parent)

    # --- the scope of each sender, in other words than in the service ---------------------------

    def may_read(self, sender: str, name: str) -> bool:
        one = self.others if sender == WORKERS[-1] else self.files_home
        who = "ada" if sender == WORKERS[-1] else sender
        run, agent = self.name(one.run.path), self.name(one.agent.path)
        if name.startswith(("home/prompts", "home/AGENTS.md", "elsewhere")):
            return True
        if name in (f"{run}/_plan.md", f"{agent}/snapshots/r1.plan.md"):
            return True
        if name.startswith((f"{agent}/{one.own(who)}/", f"{run}/_messages/")):
            return True
        if name.startswith(f"{run}/nodes/"):
            folder, _, inner = name.removeprefix(f"{run}/nodes/").partition("/")
            held = {"ada": one.folders["tables"], "bob": one.folders["texts"]}.get(who)
            return folder == held or inner.startswith("published")
        if one.input == self.root:
            return not name.startswith("home/")
        return name.startswith(f"{self.name(one.input)}/")

    def may_write(self, sender: str, name: str, kind: str) -> bool:
        one = self.others if sender == WORKERS[-1] else self.files_home
        who = "ada" if sender == WORKERS[-1] else sender
        own = f"{self.name(one.agent.path)}/{one.own(who)}"
        if name.startswith((f"{own}/", "home/system/transfers")):
            return True
        for node, holder in (("tables", "ada"), ("texts", "bob"), ("old", "dan")):
            folder = f"{self.name(one.agent.path)}/{one.node(node)}" if node in one.folders else ""
            if holder == who and folder and name.startswith(f"{folder}/"):
                first, _, inner = name.removeprefix(f"{folder}/").partition("/")
                files = {"log.jsonl"} if node == "old" else {"log.jsonl", "_evidence.json"}
                folders = {"scratch"} if node == "old" else {"scratch", "published", "attempts"}
                is_folder = kind == oct(stat.S_IFDIR) or bool(inner)
                return first in (folders if is_folder else files) or (
                    first in folders and kind == ""
                )
        return False


@pytest.fixture(scope="module")
def two_agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoAgentHome]:
    two_agents = TwoAgentHome(tmp_path_factory.mktemp("place").resolve() / "root")
    yield two_agents
    two_agents.close()


# --- requests ------------------------------------------------------------------------------------

ODD = (
    *("", ".", "./", "..", "a//b", "//", "/", "./.", "x/..", "\0", "a\nb", "\x1b[2J", "\x7f"),
    *("\udcff", "\ud800", "é" * 200, "x" * 300, "x/" * 3000, "~", "$HOME", "%2e%2e", "..\\..", "*"),
)


def names_of(two_agents: TwoAgentHome) -> list[str]:
    """Return the names that lead to each file of the place, from each root and from outside."""
    names = [*ODD, *PRIVATE, "prompts", "skills", "skills/x/SKILL.md", "skills/away/token"]
    bases = (
        two_agents.files_home.agent.path,
        two_agents.files_home.home.path,
        two_agents.root,
        two_agents.files_home.input,
    )
    names += [name for base in bases for name in names_below(two_agents, base)]
    for found in two_agents.before:
        names += [f"{two_agents.root}/{found}", f"/{two_agents.root}/{found}"]
    return list(dict.fromkeys(names))


def names_below(two_agents: TwoAgentHome, base: Path) -> list[str]:
    found = [two_agents.root / name for name in two_agents.before]
    return [one.relative_to(base).as_posix() for one in found if base in one.parents]


@st.composite
def requests(draw: st.DrawFn, names: list[str]) -> MessageBody:
    """Return any message of the service, about some of these names or names made of them."""
    some = st.sampled_from(names)
    made = st.tuples(st.sampled_from(ODD), some, st.sampled_from(("", "/", "/..", "/.", *ODD)))
    path = st.one_of(some, made.map("".join), made.map("/".join), some.map(lambda one: f"./{one}"))
    root = draw(st.sampled_from(("home", "input", "shared")))
    kind = draw(st.sampled_from((ListFiles, ListFiles, ReadFile, ReadFile, ChangeFiles, SendPart)))
    if kind is ListFiles:
        below = tuple(draw(st.lists(path, min_size=1, max_size=3)))
        return ListFiles.model_validate({"below": below, "root": root, "has_contents": True})
    if kind is ReadFile:
        return ReadFile.model_validate({"path": draw(path), "root": root})
    if kind is SendPart:
        file = FileOffer.model_construct(path=draw(path), size=len(NEW), digest=DIGEST, mode=0o644)
        wanted = draw(st.booleans())
        return OfferFile(file=file) if wanted else SendPart(file=file, offset=0, data=NEW)
    return ChangeFiles(changes=tuple(draw(st.lists(changes(path), min_size=1, max_size=4))))


def changes(path: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(WriteFile, path=path, data=st.just(NEW), offset=st.sampled_from((0, 3))),
        st.builds(MakeEntry, path=path, target=st.one_of(st.just(""), path)),
        st.builds(RemoveFile, path=path),
        st.builds(MoveFile, path=path, target=path),
    )


# --- answers -------------------------------------------------------------------------------------


def contents_in(answer: MessageBody) -> Iterator[bytes]:
    """Yield all contents in an answer."""
    if isinstance(answer, FilesListed):
        yield from answer.contents.values()
    elif isinstance(answer, FilePart):
        yield answer.data


def check_answer(two_agents: TwoAgentHome, sender: str, answer: MessageBody) -> None:
    """Fail if an answer contains facts about a file that its requester may not read."""
    digests = [hashlib.sha256(content).hexdigest() for content in contents_in(answer)]
    if isinstance(answer, FilesListed):
        digests += [entry.digest for entry in answer.entries if entry.digest]
        names = {name for entry in answer.entries for name in entry.path.split("/")}
        assert not names & {"system", "human", "r0"}
    for digest in digests:
        name = two_agents.by_digest.get(digest, "a file of this machine")
        assert two_agents.may_read(sender, name), f"{sender} was shown {name}"


def check_changes(two_agents: TwoAgentHome, sender: str) -> bool:
    """Fail if a file outside of the sender's scope has changed; return whether any file has."""
    before, after = two_agents.before, dict(two_agents.found())
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    for name in changed:
        kind = after.get(name, ("", None))[0]
        assert two_agents.may_write(sender, name, kind), f"{sender} changed {name}"
    return bool(changed)


@settings(deadline=None)
@given(data=st.data())
def test_a_worker_reads_and_changes_only_files_in_its_scope(
    two_agents: TwoAgentHome, data: st.DataObject
) -> None:
    two_agents.give(data.draw(st.sampled_from(INPUTS)))
    sender = data.draw(st.sampled_from(WORKERS))
    body = data.draw(requests(names_of(two_agents)))
    assert refusal(two_agents.address(sender), "files", body) is None
    answer = two_agents.requests.answer(two_agents.address(sender), body)
    assert isinstance(answer, RefusedReply | FilesListed | FilePart | FilesChanged | FileWanted)
    assert getattr(answer, "kind", "") != "ValidationError"
    check_answer(two_agents, sender, answer)
    if check_changes(two_agents, sender):
        two_agents.restore()


@settings(deadline=None)
@given(data=st.data())
def test_no_other_sender_is_answered(two_agents: TwoAgentHome, data: st.DataObject) -> None:
    sender = data.draw(st.sampled_from(STRANGERS))
    answer = two_agents.requests.answer(sender, data.draw(requests(names_of(two_agents))))
    assert isinstance(answer, RefusedReply)
    assert answer.kind == "OutOfScope"
    assert dict(two_agents.found()) == two_agents.before


@pytest.mark.parametrize("sender", ["ada", "of another agent"])
def test_each_name_at_each_root_shows_only_files_in_the_scope(
    two_agents: TwoAgentHome, sender: str
) -> None:
    two_agents.give(".")
    address, shown = two_agents.address(sender), 0
    for root in ("home", "input", "shared"):
        for name in names_of(two_agents):
            listed = {"below": (name,), "root": root, "has_contents": True}
            for body in (
                ListFiles.model_validate(listed),
                ReadFile.model_validate({"path": name, "root": root}),
            ):
                answer = two_agents.requests.answer(address, body)
                check_answer(two_agents, sender, answer)
                shown += not isinstance(answer, RefusedReply)
    assert shown > 100
    assert not check_changes(two_agents, sender)


@pytest.mark.parametrize("sender", ["ada", "eve", "dan"])
def test_each_name_is_changed_only_in_the_scope(two_agents: TwoAgentHome, sender: str) -> None:
    own, made = two_agents.files_home.own(sender), 0
    file, link = f"{own}/file", f"{own}/link"
    given = (WriteFile(path=file, data=NEW, is_synced=False), MakeEntry(path=link, target="/etc"))
    for name in (*ODD, *PRIVATE, *names_below(two_agents, two_agents.files_home.agent.path)):
        for change in (
            WriteFile(path=name, data=NEW, is_synced=False),
            MakeEntry(path=name),
            MakeEntry(path=name, target="/etc"),
            MoveFile(path=file, target=name),
            MoveFile(path=link, target=name),
            MoveFile(path=name, target=f"{own}/moved"),
            RemoveFile(path=name),
        ):
            answer = two_agents.requests.answer(
                two_agents.address(sender), ChangeFiles(changes=(*given, change))
            )
            assert isinstance(answer, FilesChanged)
            if answer.made > len(given):
                made += 1
                check_changes(two_agents, sender)
    assert made > 10
    assert check_changes(two_agents, sender)
    two_agents.restore()
