"""The HTTP API over a real socket: files as bytes and as HTML, and what a node's folder holds."""

import json

from agiraph.http.api import FileContentView, FolderView
from agiraph.http.client import Client
from agiraph.storage.home import NodeHome
from tests.fakes.gateway import AGENT, RUN, World, refused


def node_home(world: World, client: Client) -> NodeHome:
    """Return the folder of a node on which a worker has begun."""
    world.add_agent()
    world.add_team("Ada")
    node = client.node(AGENT, "tables")
    home = world.home.agent(AGENT).run(RUN).node(node.folder)
    for folder in (home.scratch, home.published):
        folder.mkdir(parents=True)
    home.spec.write_text("# Look at the tables\n")
    (home.scratch / "draft.txt").write_text("half")
    (home.published / "facts.md").write_text("# Facts\n")
    steps = [{"type": "tool.called", "agent_id": AGENT, "ts": float(n), "seq": n} for n in (1, 2)]
    home.log.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return home


def test_a_nodes_folder_is_read_part_by_part(world: World, client: Client) -> None:
    node_home(world, client)
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


def test_there_is_no_way_out_of_a_nodes_folder(world: World, client: Client) -> None:
    home = node_home(world, client)
    (home.published / "link").symlink_to("/etc/passwd")
    for path in ("..%2f..%2f..%2fagent.json", "%2e%2e/_spec.md", "link"):
        raw = f"/agents/{AGENT}/board/tables/published/{path}"
        for how in ("json", "raw", "html"):
            answer = client._http.get(raw, params={"as": how})
            assert answer.status_code in (403, 404), (path, how, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_file_comes_as_bytes_by_ranges_and_not_again_unless_it_changed(
    world: World, client: Client
) -> None:
    home = node_home(world, client)
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


def test_markdown_of_run_and_memory_comes_as_html(world: World, client: Client) -> None:
    home = node_home(world, client)
    agent = world.home.agent(AGENT)
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
