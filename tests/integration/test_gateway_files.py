"""The HTTP API over a real socket: files as bytes and as HTML, and the files of a node."""

import io
import json
import os
import zipfile
from pathlib import Path

from agiraph.http.api import FileContentView, FolderView
from agiraph.http.client import Client, read_gateway_address
from agiraph.storage.home import NodeHome
from tests.fakes.gateway import AGENT, RUN, GatewayHome, refused, running_gateway
from tests.integration.raw_connection import RawConnection
from tests.integration.waiting import until


def node_home(gateway_home: GatewayHome, client: Client) -> NodeHome:
    """Return the folder of a node on which a worker has begun."""
    gateway_home.add_agent()
    gateway_home.add_team("Ada")
    node = client.node(AGENT, "tables")
    home = gateway_home.home.agent(AGENT).run(RUN).node(node.name)
    for folder in (home.scratch, home.published):
        folder.mkdir(parents=True)
    home.spec.write_text("# Look at the tables\n")
    (home.scratch / "draft.txt").write_text("half")
    (home.published / "facts.md").write_text("# Facts\n")
    steps = [{"type": "tool.called", "ts": float(n), "seq": n} for n in (1, 2)]
    home.log.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return home


def test_a_nodes_folder_is_read_part_by_part(gateway_home: GatewayHome, client: Client) -> None:
    node_home(gateway_home, client)
    assert client.node_spec(AGENT, "tables").content == "# Look at the tables\n"
    result = client.node_files(AGENT, "tables")
    assert isinstance(result, FolderView)
    assert [(entry.name, entry.size) for entry in result.entries] == [("facts.md", 8)]
    assert all(entry.modified_at > 0 for entry in result.entries)
    draft = client.node_files(AGENT, "tables", "scratch", "draft.txt")
    assert isinstance(draft, FileContentView)
    assert draft.content == "half"
    page = client.node_log(AGENT, "tables", limit=1)
    assert ([event.seq for event in page.events], page.next) == ([1], 1)
    assert [event.seq for event in client.node_log(AGENT, "tables", after=1).events] == [2]
    assert client.node_refs(AGENT, "tables") == []


def test_path_cannot_leave_the_folder_of_a_node(gateway_home: GatewayHome, client: Client) -> None:
    home = node_home(gateway_home, client)
    (home.published / "link").symlink_to("/etc/passwd")
    for path in ("..%2f..%2f..%2fagent.json", "%2e%2e/_spec.md", "link"):
        raw = f"/agents/{AGENT}/board/tables/published/{path}"
        for how in ("json", "raw", "html"):
            answer = client._http.get(raw, params={"as": how})
            assert answer.status_code in (403, 404), (path, how, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_file_is_served_by_ranges_and_not_again_unless_changed(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = node_home(gateway_home, client)
    path = f"nodes/{home.path.name}/scratch/draft.txt"
    whole = client.raw_file(AGENT, path)
    assert whole is not None
    assert (whole.content, whole.size, whole.media_type) == (
        b"half",
        4,
        "text/plain; charset=utf-8",
    )
    part = client.raw_file(AGENT, path, start=1, end=3)
    assert part is not None
    assert (part.content, part.size) == (b"al", 4)
    assert client.raw_file(AGENT, path, etag=whole.etag) is None
    (home.scratch / "draft.txt").write_text("done now")
    again = client.raw_file(AGENT, path, etag=whole.etag)
    assert again is not None
    assert again.content == b"done now"
    assert refused(client.raw_file, AGENT, path, start=99).status == 416


def test_markdown_of_run_and_memory_is_served_as_html(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = node_home(gateway_home, client)
    agent = gateway_home.home.agent(AGENT)
    agent.memory.mkdir()
    (agent.memory / "x.md").write_text("# X <b>\n")
    path = f"nodes/{home.path.name}/published/facts.md"
    assert client.rendered_file(AGENT, path) == "<h1>Facts</h1>\n"
    assert client.rendered_memory_file(AGENT, "x.md") == "<h1>X &lt;b&gt;</h1>\n"
    raw = client.raw_memory_file(AGENT, "x.md")
    assert raw is not None
    assert raw.content == b"# X <b>\n"
    assert client.raw_memory_file(AGENT, "x.md", etag=raw.etag) is None
    assert refused(client.rendered_memory_file, AGENT, "y.md").status == 404


def test_folder_is_listed_with_its_contents(gateway_home: GatewayHome, client: Client) -> None:
    home = node_home(gateway_home, client)
    (home.published / "charts").mkdir()
    (home.published / "charts/a.svg").write_text("<svg/>")
    (home.published / "out").symlink_to("/etc")
    folder = f"nodes/{home.path.name}/published"
    found = client.list_files(AGENT, folder, depth=2)
    shown = [(one.path.removeprefix(f"{folder}/"), one.kind) for one in found.entries]
    assert shown == [
        ("charts", "folder"),
        ("charts/a.svg", "file"),
        ("facts.md", "file"),
        ("out", "link"),
    ]
    assert [one.media_type for one in found.entries] == [
        "",
        "image/svg+xml",
        "text/markdown; charset=utf-8",
        "",
    ]
    assert len(client.list_files(AGENT, folder).entries) == 3


def test_folder_is_served_as_a_zip_file_without_links(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = node_home(gateway_home, client)
    (home.published / "charts").mkdir()
    (home.published / "charts/b.bin").write_bytes(bytes(range(256)) * 4096)
    (home.published / "passwd").symlink_to("/etc/passwd")
    folder = f"nodes/{home.path.name}/published"
    with zipfile.ZipFile(io.BytesIO(client.zipped_files(AGENT, folder))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["charts/b.bin", "facts.md"]
        assert archive.read("charts/b.bin") == bytes(range(256)) * 4096
    assert refused(client.zipped_files, AGENT, f"{folder}/facts.md").status == 409
    assert refused(client.zipped_files, AGENT, f"{folder}/none").status == 404


def test_result_of_a_run_is_listed_and_served_as_a_zip_file(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = node_home(gateway_home, client)
    (home.path.parents[1] / "_output.md").write_text("# Answer\n")
    (home.path.parents[1] / "notes").mkdir()
    (home.path.parents[1] / "notes/plan.md").write_text("mine")
    assert [one.name for one in client.delivered(AGENT).files] == ["_output.md", "notes/plan.md"]
    gateway_home.publish("Ada", "facts.md", "gone.md")
    found = client.delivered(AGENT).files
    assert [(one.name, one.node, one.size) for one in found] == [
        ("_output.md", None, 9),
        ("notes/plan.md", None, 4),
        ("tables/facts.md", "tables", 8),
        ("tables/gone.md", "tables", None),
    ]
    with zipfile.ZipFile(io.BytesIO(client.zipped_result(AGENT))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["_output.md", "notes/plan.md", "tables/facts.md"]
        assert archive.read("tables/facts.md") == b"# Facts\n"


def test_delivered_files_with_unusual_names_are_listed_read_and_zipped(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = node_home(gateway_home, client)
    for name in (b"caf\xe9.txt", b"a\nb.txt", rb"dir\new.txt"):
        (home.published / os.fsdecode(name)).write_bytes(name)
    gateway_home.publish("Ada", r"a\nb.txt", r"caf\xe9.txt", r"dir\new.txt")
    files = {one.name: one for one in client.delivered(AGENT).files}
    assert {name: (one.size, one.is_spelled) for name, one in files.items()} == {
        r"tables/a\nb.txt": (7, True),
        r"tables/caf\xe9.txt": (8, True),
        r"tables/dir\new.txt": (11, False),
    }
    whole = client.raw_file(AGENT, files[r"tables/a\nb.txt"].path)
    assert whole is not None
    assert whole.content == b"a\nb.txt"
    folder = f"nodes/{home.path.name}/published"
    for zipped, above in (
        (client.zipped_result(AGENT), "tables/"),
        (client.zipped_files(AGENT, folder), ""),
    ):
        with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
            assert archive.testzip() is None
            assert archive.read(f"{above}caf%E9.txt") == b"caf\xe9.txt"
            names = {f"{above}a%0Ab.txt", f"{above}dir%5Cnew.txt"}
            assert names <= {*archive.namelist()}


def test_an_attached_file_is_kept_once_and_never_overwritten(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    first = client.attach(AGENT, "prices.csv", b"a,1\n")
    assert (first.path, first.size) == ("_attachments/prices.csv", 4)
    assert client.attach(AGENT, "prices.csv", b"a,1\n") == first
    assert client.attach(AGENT, "prices.csv", b"a,2\n").path == "_attachments/prices-2.csv"
    assert client.attach(AGENT, "empty", b"").size == 0
    hostile = client.attach(AGENT, "..\\..\n\u202e<b>.md", b"x").path
    assert hostile == "_attachments/_..__<b>.md"
    run = gateway_home.home.agent(AGENT).run(RUN)
    assert (run.attachments / "prices.csv").read_bytes() == b"a,1\n"
    names = sorted(one.name for one in client.list_files(AGENT, "_attachments").entries)
    assert names == ["_..__<b>.md", "empty", "prices-2.csv", "prices.csv"]
    client.send(AGENT, "Take these", attachments=["_attachments/prices.csv", "prices-2.csv"])
    said = [m.body.content for m in gateway_home.runtime.sent if m.body.TYPE == "text"]
    line = "Attached: _attachments/prices.csv (4 bytes), _attachments/prices-2.csv (4 bytes)"
    assert said == [f"Take these\n\n{line}"]
    for path in ("none.csv", "../agent.json", "_plan.md"):
        error = refused(client.send, AGENT, "x", attachments=[path])
        assert (error.status, "prices.csv" in error.detail) == (404, True)


def test_an_attachment_may_be_larger_than_a_call_but_not_than_its_limit(tmp_path: Path) -> None:
    limits = {"body_bytes": 1024, "attachment_bytes": 300_000}
    with running_gateway(tmp_path, **limits) as gateway_home, gateway_home.client() as client:
        gateway_home.add_agent()
        assert client.attach(AGENT, "large.bin", bytes(300_000)).size == 300_000
        assert refused(client.attach, AGENT, "larger.bin", bytes(300_001)).status == 413
        assert refused(client.send, AGENT, "x" * 2000).status == 413


def test_incomplete_upload_leaves_no_file(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    folder = gateway_home.home.agent(AGENT).run(RUN).attachments
    _, token = read_gateway_address(gateway_home.home.path)
    with RawConnection(client.url) as raw:
        head = f"PUT /agents/{AGENT}/attachments/half.bin HTTP/1.1"
        raw.send(head, f"Authorization: Bearer {token}", "Content-Length: 100000")
        raw.socket.sendall(bytes(50_000))
        until(lambda: folder.is_dir() and [*folder.iterdir()], "the file has begun")
        assert client.list_files(AGENT, "_attachments").entries == ()
    until(lambda: [*folder.iterdir()] == [], "nothing is kept")
    assert client.attach(AGENT, "half.bin", b"whole").path == "_attachments/half.bin"
