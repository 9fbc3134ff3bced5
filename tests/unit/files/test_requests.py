"""The service `files`: each worker reads its scope, and writes its own files."""

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.files.requests import FileRequests
from agiraph.board.commands import CompleteNode
from agiraph.core.models import NodeResult
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.files import (
    DISK_FULL,
    ChangeFiles,
    FileChange,
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
from agiraph.storage.files import replace_file
from tests.unit.files.files_home import RUN, FilesHome

Ask = Callable[..., MessageBody]


@pytest.fixture
def files_home(tmp_path: Path) -> FilesHome:
    files_home = FilesHome(tmp_path)
    replace_file(files_home.input / "data" / "rows.csv", "a,b\n")
    replace_file(files_home.home.prompts / "worker.md", "work")
    replace_file(files_home.home.config, "models: {}\n")
    replace_file(files_home.run.plan, "the plan")
    (files_home.run.path / ".0123456789abcdef.part").touch()  # a file that is being written
    for name in ("tables", "texts"):
        node = files_home.node_home(name)
        replace_file(node.spec, "do it")
        replace_file(node.scratch / "draft.md", "a draft")
        replace_file(node.published / "result.md", name)
    for name in ("ada", "bob"):
        replace_file(files_home.run.worker(files_home.ids[name]).notebook, f"of {name}")
    return files_home


@pytest.fixture
def ask(files_home: FilesHome) -> Ask:
    requests = FileRequests(files_home.home)
    return lambda body, name="ada": requests.answer(files_home.address(name), body)


def listed(ask: Ask, *below: str, root: str = "home") -> list[str]:
    answer = ask(ListFiles.model_validate({"below": below, "root": root}))
    assert isinstance(answer, FilesListed), answer
    return [one.path for one in answer.entries if one.kind == "file"]


def change(ask: Ask, *changes: FileChange) -> MessageBody:
    return ask(ChangeFiles(changes=changes))


def refused(answer: MessageBody, why: str, kind: str = "OutOfScope") -> None:
    assert isinstance(answer, RefusedReply | FilesChanged)
    assert why in answer.reason
    assert answer.kind == kind


def test_worker_lists_its_own_files_and_published_files_of_others(
    files_home: FilesHome, ask: Ask
) -> None:
    mine, others = files_home.node("tables"), files_home.node("texts")
    assert listed(ask, f"runs/{RUN}", f"runs/{RUN}/nodes") == [
        f"runs/{RUN}/_plan.md",
        f"{others}/published/result.md",
    ]
    assert listed(ask, files_home.own("ada"), mine) == [
        *(f"{mine}/{name}" for name in ("_spec.md", "published/result.md", "scratch/draft.md")),
        f"{files_home.own('ada')}/notebook.md",
    ]
    assert listed(ask, "", root="input") == ["data/rows.csv"]
    assert listed(ask, "prompts", "skills", root="shared") == ["prompts/worker.md"]
    answer = ask(ReadFile(path="data/rows.csv", root="input", offset=2))
    assert isinstance(answer, FilePart)
    assert (answer.data, answer.total) == (b"b\n", 4)


def test_unchanged_files_are_not_listed_again(files_home: FilesHome, ask: Ask) -> None:
    below = (files_home.node("texts") + "/published",)
    first = ask(ListFiles(below=below))
    assert isinstance(first, FilesListed)
    assert first.entries[-1].digest == hashlib.sha256(b"texts").hexdigest()
    assert ask(ListFiles(below=below, known=first.version)) == FilesListed(version=first.version)
    replace_file(files_home.node_home("texts").published / "result.md", "other")
    again = ask(ListFiles(below=below, known=first.version))
    assert isinstance(again, FilesListed)
    assert again.entries[-1].digest == hashlib.sha256(b"other").hexdigest()


def test_private_files_of_others_and_paths_outside_are_refused(
    files_home: FilesHome, ask: Ask
) -> None:
    theirs, own = files_home.node("texts"), files_home.own("ada")
    os.symlink("/etc", files_home.run.worker(files_home.ids["ada"]).path / "away")
    os.symlink("/etc/passwd", files_home.node_home("tables").scratch / "word")
    for path in (
        f"{theirs}/scratch/draft.md",
        f"{files_home.own('bob')}/notebook.md",
        f"runs/{RUN}/journal.jsonl",
        "agent.json",
        "../survey-2/agent.json",
        "/etc/passwd",
        f"{own}/../../journal.jsonl",
    ):
        refused(ask(ReadFile(path=path)), path)
        refused(change(ask, WriteFile(path=path, data=b"mine")), path)
        refused(change(ask, RemoveFile(path=path)), path)
        refused(change(ask, MoveFile(path=path, target=f"{own}/x")), path)
        refused(change(ask, MakeEntry(path=path, target="x")), path)
    for path in (f"{own}/away/passwd", f"{files_home.node('tables')}/scratch/word"):
        refused(ask(ReadFile(path=path)), "symbolic link", "UnsafeFile")
    refused(change(ask, WriteFile(path=f"{own}/away/x", data=b"")), "symbolic link", "UnsafeFile")
    for path in (f"{theirs}/published/x", f"{files_home.node('tables')}/_spec.md", own):
        refused(change(ask, WriteFile(path=path, data=b"mine")), "may not be written")
    refused(ask(ReadFile(path="agiraph.yaml", root="shared")), "is not shared")
    refused(ask(ReadFile(path="../x", root="input")), "leads elsewhere")
    requests = FileRequests(files_home.home)
    for stranger in (f"{files_home.address('ada')}x", "human", "survey-2/ada-1", "survey-1/../ada"):
        refused(requests.answer(stranger, ListFiles(below=("runs",))), stranger)
    assert files_home.node_home("texts").scratch.joinpath("draft.md").read_text() == "a draft"


def test_an_empty_path_names_all_that_is_shared_and_nothing_else(
    files_home: FilesHome, ask: Ask
) -> None:
    elsewhere = files_home.home.path.parent / "elsewhere"
    replace_file(elsewhere / "x" / "SKILL.md", "skill")
    os.symlink(elsewhere, files_home.home.path / "skills")
    os.symlink(files_home.home.system.path, files_home.home.path / "AGENTS.md")
    replace_file(files_home.home.system.token, "secret")
    for path in ("", ".", "./"):
        assert listed(ask, path, root="shared") == ["prompts/worker.md", "skills/x/SKILL.md"]
        refused(ask(ReadFile(path=path, root="shared")), "is not shared")
    refused(ask(ReadFile(path="AGENTS.md/token", root="shared")), "may not be read")
    assert listed(ask, "", "runs") == [], "no folder that it may not read is walked"


def test_a_home_in_the_input_folder_is_not_read(files_home: FilesHome, ask: Ask) -> None:
    replace_file(files_home.home.system.token, "secret")
    files_home.give(files_home.home.path.parent)
    assert listed(ask, "", root="input") == ["given/data/rows.csv"]
    assert listed(ask, "home", "home/system", root="input") == []
    refused(ask(ReadFile(path="home/system/token", root="input")), "may not be read")
    for folder in (files_home.home.path, files_home.home.system.path):
        files_home.give(folder)
        refused(ask(ReadFile(path="token", root="input")), "no input folder", "InvalidInput")


def test_a_path_with_two_slashes_is_absolute(ask: Ask) -> None:
    for root in ("home", "input", "shared"):
        asked = {"path": "//etc/passwd", "root": root}
        refused(ask(ReadFile.model_validate(asked)), "leads elsewhere")


def test_the_names_in_a_node_keep_their_kinds(files_home: FilesHome, ask: Ask) -> None:
    """A link in place of published/ would lead the sandbox of another worker elsewhere."""
    node = files_home.node("tables")
    change(ask, MakeEntry(path=f"{node}/scratch/link", target="/etc"))
    change(ask, WriteFile(path=f"{node}/scratch/file", data=b"x"))
    for name in ("published", "attempts", "scratch"):
        change(ask, RemoveFile(path=f"{node}/{name}")) if name != "scratch" else None
        for one in (
            MakeEntry(path=f"{node}/{name}", target="/etc"),
            MoveFile(path=f"{node}/scratch/link", target=f"{node}/{name}"),
            MoveFile(path=f"{node}/scratch/file", target=f"{node}/{name}"),
            WriteFile(path=f"{node}/{name}", data=b"x"),
        ):
            refused(change(ask, one), "may not be written")
        assert change(ask, MakeEntry(path=f"{node}/{name}")) == FilesChanged(made=1)
    for name in ("_evidence.json", "log.jsonl"):
        for entry in (
            MakeEntry(path=f"{node}/{name}"),
            MakeEntry(path=f"{node}/{name}", target="/etc"),
            WriteFile(path=f"{node}/{name}/x", data=b"x"),
            MoveFile(path=f"{node}/scratch/link", target=f"{node}/{name}"),
        ):
            refused(change(ask, entry), "may not be written")


def test_long_listing_is_split_into_answers_of_message_size(
    files_home: FilesHome, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.files.listing.ANSWER_BYTES", 300)
    published = files_home.node_home("texts").published
    for number in range(9):
        replace_file(published / ("x" * 100) / str(number), "x")
    found: list[str] = []
    while True:
        body = ListFiles(below=(f"runs/{RUN}/nodes",), after=found[-1] if found else "")
        answer = ask(body)
        assert isinstance(answer, FilesListed)
        assert sum(len(one.path) for one in answer.entries) <= 300
        found += [one.path for one in answer.entries]
        if not answer.has_more:
            break
    assert found == sorted(set(found))
    assert len(found) == 12


def test_entries_that_cannot_be_sent_are_omitted(files_home: FilesHome, ask: Ask) -> None:
    published = files_home.node_home("texts").published
    with open(os.fsencode(published) + b"/\xff", "wb"):
        pass
    os.symlink(b"\xfe", os.fsencode(published) + b"/link")
    os.mkfifo(published / "pipe")
    assert listed(ask, f"runs/{RUN}/nodes") == [f"{files_home.node('texts')}/published/result.md"]
    assert listed(ask, f"{files_home.node('texts')}/published/pipe") == []
    long = ask(ReadFile(path="x" * 1_000_000))
    refused(long, "leads elsewhere")
    assert isinstance(long, RefusedReply)
    assert len(long.reason) <= 1000


def test_worker_writes_its_own_folder_and_its_node_until_the_node_ends(
    files_home: FilesHome, ask: Ask
) -> None:
    own, node = files_home.own("ada"), files_home.node("tables")
    path = f"{own}/conversation.jsonl"
    for data, offset in ((b"one\n", 0), (b"two\n", 4), (b"two\n", 4), (b"three\n", 8)):
        assert change(ask, WriteFile(path=path, data=data, offset=offset)) == FilesChanged(made=1)
    refused(change(ask, WriteFile(path=path, data=b"x", offset=99)), "has 14 bytes", "InvalidInput")
    assert (files_home.agent.path / path).read_bytes() == b"one\ntwo\nthree\n"
    for _ in range(2):
        moved = MoveFile(path=f"{node}/scratch/draft.md", target=f"{node}/published/d.md")
        assert change(ask, moved) == FilesChanged(made=1)
    assert change(ask, MakeEntry(path=f"{node}/scratch/link", target="../x")) == FilesChanged(
        made=1
    )
    assert change(ask, RemoveFile(path=f"{node}/scratch")) == FilesChanged(made=1)
    assert listed(ask, f"{node}/published") == [
        f"{node}/published/{name}" for name in ("d.md", "result.md")
    ]
    files_home.board.execute(CompleteNode("tables", 1, NodeResult(summary="done")), 9.0)
    refused(
        change(ask, WriteFile(path=f"{node}/published/late.md", data=b"")), "may not be written"
    )
    assert change(ask, WriteFile(path=f"{node}/log.jsonl", data=b"{}\n")) == FilesChanged(made=1)


def test_changes_are_made_in_order_until_one_is_refused(
    files_home: FilesHome, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, node = files_home.own("ada"), files_home.node("tables")
    changes = (
        MakeEntry(path=f"{node}/scratch/new"),
        WriteFile(path=f"{node}/scratch/new/a", data=b"a"),
        WriteFile(path=f"{node}/_spec.md", data=b"mine"),
        WriteFile(path=f"{own}/conversation.jsonl", data=b"{}"),
    )
    for _ in range(2):  # asked again nothing is another
        answer = change(ask, *changes)
        assert isinstance(answer, FilesChanged)
        assert answer.made == 2
        refused(answer, "_spec.md")
    assert not (files_home.agent.path / own / "conversation.jsonl").exists()
    found = ask(ListFiles(below=(f"{node}/scratch", own), has_contents=True))
    assert isinstance(found, FilesListed)
    assert found.contents == {
        f"{node}/scratch/draft.md": b"a draft",
        f"{node}/scratch/new/a": b"a",
        f"{own}/notebook.md": b"of ada",
    }

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", no_room)
        refused(change(ask, *changes[1:]), "is full", DISK_FULL)


def test_large_file_is_sent_in_parts_and_resumed_where_it_stopped(
    files_home: FilesHome, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(3000)
    path = f"{files_home.node('tables')}/published/large.bin"
    file = FileOffer(path=path, size=3000, digest=hashlib.sha256(data).hexdigest(), mode=0o444)
    assert ask(OfferFile(file=file)) == FileWanted(offset=0)
    assert ask(SendPart(file=file, offset=0, data=data[:1000])) == FileWanted(offset=1000)
    assert ask(SendPart(file=file, offset=2000, data=data[2000:])) == FileWanted(offset=1000)

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", no_room)
        refused(ask(SendPart(file=file, offset=1000, data=data[1000:])), "is full", DISK_FULL)
    requests = FileRequests(files_home.home)  # as after a restart
    assert requests.answer(files_home.address("ada"), OfferFile(file=file)) == FileWanted(
        offset=1000
    )
    assert ask(SendPart(file=file, offset=1000, data=data[1000:])) == FileWanted(offset=3000)
    assert (files_home.agent.path / path).read_bytes() == data
    assert (files_home.agent.path / path).stat().st_mode & 0o777 == 0o444
    assert ask(OfferFile(file=file)) == FileWanted(offset=3000)
    assert list(files_home.home.system.transfers.iterdir()) == []

    wrong = file.model_copy(update={"digest": "0" * 64})
    answer = ask(SendPart(file=wrong, offset=0, data=data))
    refused(answer, "send it again", "InvalidInput")
    assert ask(OfferFile(file=wrong)) == FileWanted(offset=0)
    refused(ask(SendPart(file=file, offset=2999, data=b"ab")), "not more", "InvalidInput")
    assert (files_home.agent.path / path).read_bytes() == data
