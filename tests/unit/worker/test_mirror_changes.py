"""The changed files that a worker on another machine sends, in their order."""

from pathlib import Path

from actors.worker.mirror.changes import MADE_AT_ONCE, Changes, Stamp, Stamps, changes
from actors.worker.mirror.tracked import TrackedFiles
from agiraph.messages.files import PART_BYTES
from agiraph.storage.home import AgentHome

OWN, NODE = "runs/r/workers/w", "runs/r/nodes/n"


def file(inode: int, size: int = 5, changed: int = 1, mode: int = 0o644) -> Stamp:
    return Stamp("file", size, mode, changed, inode)


def folder(inode: int) -> Stamp:
    return Stamp("folder", 4096, 0o755, 1, inode)


def test_journals_are_sent_last_and_only_their_new_part() -> None:
    journal, log, note = f"{OWN}/conversation.jsonl", f"{NODE}/log.jsonl", f"{OWN}/notebook.md"
    before: Stamps = {journal: file(1, 10), log: file(2, 10), note: file(3, 10)}
    now: Stamps = {
        journal: file(1, 15, 2),
        log: file(2, 12, 2),
        note: file(3, 12, 2),
        f"{NODE}/scratch/log.jsonl": file(4),
    }
    assert changes(before, now) == Changes(
        written={log: 10, f"{NODE}/scratch/log.jsonl": 0, note: 0}, journals={journal: 10}
    )
    assert changes(now, now) == Changes()
    anew = {**before, journal: file(9, 15)}
    assert changes(before, anew).journals == {journal: 0}, "it was written anew"


def test_published_or_moved_files_are_renamed() -> None:
    draft, result = f"{NODE}/scratch/a.md", f"{NODE}/published/a.md"
    published, kept = f"{NODE}/published", f"{NODE}/attempts/1"
    before: Stamps = {draft: file(1)}
    now: Stamps = {published: folder(7), result: file(1, mode=0o444)}
    moved = changes(before, now)
    assert moved.moves == ((draft, result),)
    assert moved.written == {published: 0, result: 0}, "its mode is another one"
    aside: Stamps = {
        f"{NODE}/attempts": folder(8),
        kept: folder(7),
        f"{kept}/a.md": file(1, mode=0o444),
        published: folder(9),
    }
    assert changes(now, aside) == Changes(
        moves=((published, kept),), written={f"{NODE}/attempts": 0, published: 0}
    )


def test_large_trees_are_compared_in_linear_time() -> None:
    count, tree = 10_000, f"{NODE}/scratch/tree"
    before: Stamps = {f"{tree}/{n:05}": file(n) for n in range(count)}
    more: Stamps = {f"{tree}/more/{n:05}": file(count + n) for n in range(count)}
    assert len(changes(before, {**before, **more}).written) == count
    published: Stamps = {f"{NODE}/published/{n:05}": file(n) for n in range(count)}
    assert len(changes(before, published).moves) == count
    assert len(changes(before, {}).removed) == count


def test_reused_inode_is_not_a_rename() -> None:
    before: Stamps = {f"{NODE}/scratch/a": file(1, 5)}
    now: Stamps = {f"{NODE}/scratch/b": file(1, 5, 2)}
    sent = changes(before, now)
    assert (sent.moves, sent.written, sent.removed) == ((), {f"{NODE}/scratch/b": 0}, tuple(before))


def test_folder_is_removed_with_its_contents() -> None:
    top = f"{NODE}/scratch/build"
    before: Stamps = {top: folder(1), f"{top}/a": file(2), f"{top}/b": file(3)}
    assert changes(before, {}) == Changes(removed=(top,))


def test_small_changes_are_grouped_and_the_journal_is_last() -> None:
    names = ("a", "b", "large", "z")
    sizes = dict(zip(names, (10, PART_BYTES - 10, PART_BYTES + 1, 7), strict=True))
    scratch, journal = f"{NODE}/scratch", f"{OWN}/conversation.jsonl"
    files = {f"{scratch}/{name}": file(n, sizes[name]) for n, name in enumerate(names)}
    before: Stamps = {f"{scratch}/gone": file(8), journal: file(9, 5)}
    now: Stamps = {scratch: folder(7), **files, journal: file(9, 8, 2)}
    a, b, large, z = files
    assert list(changes(before, now).groups(now)) == [
        [scratch, a, b],
        [large],
        [z, f"{scratch}/gone", journal],
    ]
    assert list(Changes().groups({})) == []
    many: Stamps = {f"{scratch}/{n:03}": file(n) for n in range(MADE_AT_ONCE + 1)}
    assert [len(group) for group in changes({}, many).groups(many)] == [MADE_AT_ONCE, 1]


def test_only_files_a_local_worker_would_not_sync_are_not_synced(tmp_path: Path) -> None:
    agent = AgentHome(tmp_path)
    run = agent.run("r")
    own, node = run.worker("w"), run.node("n")
    tracked = TrackedFiles(tmp_path, own)
    tracked.node = node

    def unsynced(place: Path, *, is_new: bool) -> bool:
        return tracked.is_unsynced(place.relative_to(tmp_path).as_posix(), is_new=is_new)

    for place in (own.notebook, own.roster, node.log):
        assert unsynced(place, is_new=False), place
    for place in (own.identity, own.memory, own.history):
        assert unsynced(place, is_new=True)
        assert not unsynced(place, is_new=False)
    held = own.path / ".held.json"
    for place in (own.conversation, held, node.published / "a", node.scratch / "a", node.evidence):
        assert not unsynced(place, is_new=True), place
