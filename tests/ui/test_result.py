"""The result of a run by the page: the whole answer, its files, its checks, all of it saved."""

import io
import zipfile
from pathlib import Path

from playwright.sync_api import expect

from tests.fakes.model_server import calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, finish, node, publish, spawn, write
from tests.ui.visitor import Visitor, assert_accessible, photograph

LINES = "".join(f"- offer number {number} costs {number} euros\n" for number in range(200))
ANSWER = f"# Offers\n\n{LINES}\n**The end of the answer.**"


def test_the_result_of_a_run_is_one_page_with_everything(
    visitor: Visitor, live_home: LiveHome
) -> None:
    checked = node("prices", "rosa", task="Find the prices", checks=["grep -q Harbour prices.md"])
    live_home.plays(
        coordinator=[calls(spawn("rosa")), calls(checked), WAIT, finish(ANSWER)],
        rosa=[write("prices.md", "# Prices\n\nHarbour 3.20\n"), publish("Prices")],
    )
    agent = live_home.begin("priced")
    live_home.await_end(agent)
    page = visitor.go(f"agents/{agent.name}")
    page.get_by_role("link", name="Result and files").click()
    main = page.get_by_role("main")
    expect(main.locator("strong", has_text="The end of the answer.")).to_be_visible()
    expect(main).to_contain_text("completed")
    expect(main.get_by_role("link", name="prices/prices.md", exact=True)).to_be_visible()
    expect(main.get_by_role("heading", name="Prices", exact=True)).to_be_visible()
    main.get_by_text("grep -q Harbour prices.md").click()
    expect(main).to_contain_text("passed")
    photograph(page, "result")
    assert_accessible(page)
    with page.expect_download() as saved:
        main.get_by_role("link", name="Save all (zip)").click()
    with zipfile.ZipFile(io.BytesIO(Path(saved.value.path()).read_bytes())) as archive:
        assert archive.namelist() == ["_output.md", "prices/prices.md"]
        assert archive.read("_output.md").decode().strip() == ANSWER
