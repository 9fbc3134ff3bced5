"""Login to the web UI: by a link, to the requested page; a cookie admits no other browser."""

import re
from pathlib import Path

from playwright.sync_api import Response, expect

from agiraph.settings.config import ui_folder
from tests.fakes.site import FakeSite
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask
from tests.ui.conftest import MakeVisitor
from tests.ui.visitor import (
    NARROW,
    Visitor,
    assert_accessible,
    connection,
    is_too_wide,
    photograph,
)

FIRST_LOAD_BYTES = 350_000
AT_LOGIN = re.compile(r"/ui/login\?next=")
FOREIGN = """
async (url) => {
  const opens = (path) => new Promise((told) => {
    const socket = new WebSocket(url.replace("http", "ws") + path);
    socket.onopen = () => told("open");
    socket.onerror = () => told("refused");
  });
  const posts = fetch(url + "/agents/x/nudge", {
    method: "POST", credentials: "include", mode: "no-cors",
    headers: {"Content-Type": "text/plain"}, body: '{"message": "x"}',
  }).then((answer) => answer.type, () => "refused");
  const reads = fetch(url + "/agents", {credentials: "include"})
    .then((answer) => answer.text(), () => "refused");
  return [await opens("/changes"), await posts, await reads];
}
"""
FRAME = """
(url) => new Promise((loaded) => {
  document.body.append(Object.assign(document.createElement("iframe"), {src: url, onload: loaded}));
})
"""


def test_login_link_leads_to_the_requested_page(
    make_visitor: MakeVisitor, live_home: LiveHome
) -> None:
    live_home.plays(coordinator=[ask("Shall I go on?")])
    agent = live_home.begin("arrivals").name
    visitor = make_visitor()
    page = visitor.go(f"agents/{agent}/board?x=1")
    expect(page).to_have_url(AT_LOGIN)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert_accessible(page)
    photograph(page, "login")

    tab = visitor.new_page()
    link = visitor.link(f"/ui/agents/{agent}/files")
    tab.goto(link)
    expect(tab).to_have_url(f"{visitor.url}/ui/agents/{agent}/files")
    expect(page).to_have_url(f"{visitor.url}/ui/agents/{agent}/board?x=1")

    tab.goto(link)
    expect(tab.get_by_role("alert")).to_contain_text("was used already")
    expect(tab.get_by_text("agiraph login", exact=True)).to_be_visible()
    assert link.partition("#")[2] not in tab.url
    assert_accessible(tab)
    tab.goto(f"{visitor.url}/")
    expect(tab).to_have_url(f"{visitor.url}/ui/")

    assert live_home.command("logout", "--all").returncode == 0
    expect(page).to_have_url(AT_LOGIN)
    expect(tab).to_have_url(AT_LOGIN)
    tab.goto(link)
    expect(tab.get_by_role("alert")).to_contain_text("was used already, is too old")
    tab.get_by_label("Code").fill(visitor.link().partition("#")[2])
    tab.get_by_role("button", name="Log in").click()
    expect(tab).to_have_url(f"{visitor.url}/ui/agents/{agent}/files")
    expect(page).to_have_url(f"{visitor.url}/ui/agents/{agent}/board?x=1")


def test_a_page_of_another_origin_can_do_nothing_with_the_session(
    visitor: Visitor, live_home: LiveHome, site: FakeSite
) -> None:
    """It is on another port of the same name, so that the browser does send the cookie."""
    page = visitor.go("")
    foreign = visitor.context.new_page()
    foreign.goto(site.url)
    outcome = foreign.evaluate(FOREIGN, visitor.url)
    assert outcome == ["refused", "opaque", "refused"]
    lines = (live_home.home / "human" / "audit.jsonl").read_text().splitlines()
    for path in ("/changes", "/agents/x/nudge"):
        assert any(f'"path":"{path}"' in line and '"status":403' in line for line in lines), path
    foreign.evaluate(FRAME, f"{visitor.url}/ui/")
    expect(connection(page)).to_have_text("Live")
    assert [frame.url for frame in foreign.frames[1:]] == ["chrome-error://chromewebdata/"]


def test_first_page_is_compressed_and_fits_a_phone(make_visitor: MakeVisitor) -> None:
    visitor = make_visitor(viewport=NARROW)
    asked: list[Response] = []
    visitor.page.on("response", lambda answer: asked.append(answer))
    page = visitor.log_in()
    expect(connection(page)).to_have_text("Live")
    scripts = {answer.url for answer in asked if ".js" in answer.url}
    assert sum(map(packed_size, scripts)) <= FIRST_LOAD_BYTES
    assert all("/ui/assets/" in url for url in scripts)
    packed = [answer for answer in asked if "/assets/index-" in answer.url]
    assert packed[0].headers["content-encoding"] in ("br", "gzip")
    assert not is_too_wide(page)
    page.get_by_role("button", name="Show the agents").click()
    expect(page.get_by_role("link", name="New agent")).to_be_visible()
    assert_accessible(page)


def packed_size(url: str) -> int:
    """Return the bytes of a script as it comes to a browser that knows gzip."""
    file = ui_folder() / url.partition("/ui/")[2]
    packed = Path(f"{file}.gz")
    return (packed if packed.exists() else file).stat().st_size
