"""Every page of the web UI: accessible (WCAG 2.2 AA), at a phone's width, with all data.

Each page is judged here as it opens; other tests judge its dialogs.
"""

from playwright.sync_api import Page, expect

from tests.scenarios.live_home import LiveHome
from tests.ui.team import HOSTILE, MALLORY, hostile, hosting, pages_of
from tests.ui.visitor import NARROW, WIDE, Visitor, barriers, connection, is_too_wide


def test_every_page_is_accessible_and_fits_a_phone(visitor: Visitor, live_home: LiveHome) -> None:
    faults = []
    with hosting(live_home) as agent:
        for path in pages_of(live_home, agent, "ada"):
            page = open_page(visitor, path)
            faults += [f"/ui/{path}: {one}" for one in barriers(page)]
            page.set_viewport_size(NARROW)
            faults += [f"/ui/{path}: too wide for a phone"] if is_too_wide(page) else []
            page.set_viewport_size(WIDE)
    assert not faults, "\n".join(faults)


def test_hostile_names_and_texts_run_on_no_page(visitor: Visitor, live_home: LiveHome) -> None:
    with hostile(live_home) as agent:
        for path in pages_of(live_home, agent, MALLORY):
            page = open_page(visitor, path)
            if path.startswith("agents/"):
                expect(page.get_by_role("banner")).to_contain_text(HOSTILE)
            page.set_viewport_size(NARROW)
            assert not is_too_wide(page), path
            page.set_viewport_size(WIDE)
            assert page.evaluate("window.ran") is None, path
            assert page.locator("a[href^='javascript:' i], iframe[srcdoc]").count() == 0, path


def open_page(visitor: Visitor, path: str) -> Page:
    """Open a page from another one, and wait until it is loaded."""
    page = visitor.go("nowhere")
    expect(page.get_by_role("heading", level=1)).to_have_count(0)
    visitor.go(path)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(connection(page)).to_have_text("Live")
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    return page
