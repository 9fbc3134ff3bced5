"""The files of a run in the browser: found, shown by type, compared, downloaded."""

import base64
import io
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from agiraph.http.client import Client
from tests.fakes.model_server import Reply
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask, one_worker, publish, write
from tests.ui.visitor import NARROW, Visitor, assert_accessible, photograph

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>'
REPORT = f"# Prices\n\n| tea | 4 |\n| --- | --- |\n\n{HOSTILE} [x](javascript:window.ran=1)\n"
TABLE = f'name,price\n"tea, green",4\n"{HOSTILE.replace(chr(34), chr(34) * 2)}",5\n'
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="window.ran=1">'
    "<script>window.ran=1</script></svg>"
)
PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]"
    b"/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
    b"trailer<</Root 1 0 R>>"
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF_VIEWER = "Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', {get: () => %s})"
"""Whether a browser says that it can show a PDF: some of the headless ones can, some cannot."""

ODD = "<b onclick=window.ran=1>x&y#z %41.html"


def files_of(page: Page) -> Page:
    """Return the page once its tree is there."""
    expect(page.get_by_role("navigation", name="Files of the run")).to_be_visible()
    return page


def open_file(page: Page, name: str) -> None:
    page.get_by_role("searchbox", name="Find a file").fill(name)
    page.get_by_role("navigation").get_by_role("link", name=name).first.click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def add_attachments(live_home: LiveHome, agent: str) -> None:
    with Client.for_home(live_home.home) as client:
        for name, content in (
            ("logo.png", PNG),
            ("evil.svg", SVG.encode()),
            ("letter.pdf", PDF),
            ("blob.bin", bytes(range(256))),
            (ODD, b"<script>window.ran=1</script>"),
        ):
            client.attach(agent, name, content)


def written() -> list[Reply]:
    """Write the files of a node, then ask, then publish them."""
    texts = {"report.md": REPORT, "prices.csv": TABLE, "tool.py": "def price():\n    return 4\n"}
    return [
        *(write(f"{name}", text) for name, text in texts.items()),
        ask("Shall I publish?"),
        publish(),
    ]


def test_files_are_shown_by_type_and_run_nothing(visitor: Visitor, live_home: LiveHome) -> None:
    live_home.plays(coordinator=one_worker("ada"), ada=written())
    agent = live_home.begin("filing")
    question = live_home.await_question(agent.name)
    add_attachments(live_home, agent.name)
    page = files_of(visitor.go(f"agents/{agent.name}/files"))
    expect(page.get_by_role("table").get_by_role("link", name="_attachments")).to_be_visible()

    open_file(page, "report.md")
    expect(page.get_by_role("heading", name="Prices")).to_be_visible()
    photograph(page, "files")
    page.get_by_role("button", name="Source").click()
    expect(page.get_by_text("# Prices")).to_be_visible()
    open_file(page, "prices.csv")
    expect(page.get_by_role("cell", name="tea, green")).to_be_visible()
    photograph(page, "files-table")
    assert_accessible(page)
    open_file(page, "tool.py")
    expect(page.get_by_text("def price")).to_be_visible()
    for name in ("logo.png", "evil.svg"):
        open_file(page, name)
        expect(page.get_by_role("img", name=name)).to_be_visible()
    open_file(page, "blob.bin")
    expect(page.get_by_role("heading", name="No preview")).to_be_visible()
    open_file(page, ODD)
    expect(page.get_by_text("window.ran=1").last).to_be_visible()
    page.evaluate(PDF_VIEWER % "false")
    open_file(page, "letter.pdf")
    expect(page.get_by_text("This browser cannot show PDF files.")).to_be_visible()
    page.add_init_script(PDF_VIEWER % "true")
    page.reload()
    expect(page.locator("iframe[src^='blob:']")).to_be_visible()

    live_home.json("respond", question["id"], "Yes")
    live_home.await_end(agent)
    folder = next(path.name for path in agent.glob("runs/*/nodes/*"))
    page = files_of(visitor.go(f"agents/{agent.name}/files/nodes/{folder}/published/report.md"))
    expect(page.get_by_role("heading", name="Prices")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("dialog").get_by_role("searchbox").fill("tool.py")
    page.get_by_role("dialog").get_by_role("button", name="tool.py").click()
    expect(page.get_by_role("region", name="Difference")).to_contain_text("def price")
    page.reload()
    expect(page.get_by_role("region", name="Difference")).to_contain_text("def price")
    page.get_by_role("link", name="published").last.click()
    photograph(page, "files-folder")
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download as zip").click()
    with zipfile.ZipFile(io.BytesIO(Path(taken.value.path()).read_bytes())) as archive:
        assert archive.namelist() == ["prices.csv", "report.md", "tool.py"]
    assert page.evaluate("window.ran") is None

    page.set_viewport_size(NARROW)
    phone = visitor.go(f"agents/{agent.name}/files")
    files_of(phone).get_by_role("link", name="_attachments").click()
    phone.get_by_role("link", name="logo.png").click()
    expect(phone.get_by_role("img", name="logo.png")).to_be_visible()
    assert_accessible(phone)
    phone.go_back()
    expect(phone.get_by_role("link", name="logo.png")).to_be_visible()


def test_file_written_by_a_worker_is_shown_at_once(visitor: Visitor, live_home: LiveHome) -> None:
    first = [write("draft.md", "One."), ask("Shall I go on?")]
    second = [write("second.md", "Two."), publish()]
    live_home.plays(coordinator=one_worker("bea"), bea=[*first, *second])
    agent = live_home.begin("live-files")
    question = live_home.await_question(agent.name)
    folder = next(path.name for path in agent.glob("runs/*/nodes/*"))
    page = files_of(visitor.go(f"agents/{agent.name}/files/nodes/{folder}"))
    listed = page.get_by_role("table")
    expect(listed.get_by_role("link", name="scratch")).to_be_visible()
    expect(listed.get_by_role("link", name="published")).to_have_count(0)
    live_home.json("respond", question["id"], "Yes")
    expect(listed.get_by_role("link", name="published")).to_be_visible()
