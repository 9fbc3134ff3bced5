"""`agiraph ui` and `agiraph run --ui`: a link, and a browser where there is one."""

import os
import webbrowser
from pathlib import Path

import pytest

from tests.unit.cli.fakes import AGENT, FakeClient, command, json_of

LINK = "http://127.0.0.1:8765/login#agl_x"


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the URLs that are opened; there is a screen."""
    urls: list[str] = []

    def open_it(url: str) -> bool:
        urls.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return urls


def test_ui_opens_and_prints_the_link(opened: list[str]) -> None:
    client = FakeClient()
    told = command(client, "ui")
    assert (told.exit_code, told.stdout) == (0, f"{LINK}\n")
    assert told.stderr.startswith("opened in the browser; the link works once, until ")
    assert (opened, client.did) == ([LINK], [("login", "/ui/")])
    assert json_of(command(client, "ui", "--no-browser", "--json"))["url"] == LINK
    assert opened == [LINK]
    assert client.login_users == [os.getuid(), None], "a browser's command line shows its link"


@pytest.mark.parametrize("is_built", [True, False])
def test_ui_reports_a_missing_build_of_the_web_ui(
    is_built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_built:
        (tmp_path / "index.html").touch()
    monkeypatch.setattr("cli.commands.access.ui_folder", lambda: tmp_path)
    assert ("`make ui`" in command(FakeClient(), "ui").stderr) != is_built


def test_ui_opens_the_page_of_the_named_agent() -> None:
    client = FakeClient()
    assert command(client, "ui", "survey").exit_code == 0
    assert client.did == [("login", f"/ui/agents/{AGENT}")]
    unknown = command(client, "ui", "nobody")
    assert (unknown.exit_code, "unknown agent 'nobody'" in unknown.stderr) == (2, True)


def test_link_is_only_printed_without_a_screen(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    told = command(FakeClient(), "ui")
    assert (told.stdout, opened) == (f"{LINK}\n", [])
    assert told.stderr.startswith("open the link in a browser: it works once, until ")
    monkeypatch.setenv("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")
    assert "`ssh -L 8765:127.0.0.1:8765 THIS_MACHINE`" in command(FakeClient(), "ui").stderr


def test_ui_without_a_supervisor_names_the_command_to_start_one(opened: list[str]) -> None:
    told = command(None, "ui")
    assert (told.exit_code, opened) == (4, [])
    assert told.stderr.endswith("start one with: agiraph up\n")


def test_a_run_opens_the_web_ui_at_its_agent(opened: list[str]) -> None:
    client = FakeClient(files={"_output.md": b"three tables"})
    client.script.append(client.end("completed"))
    told = command(client, "run", "Survey", "-m", "script/survey", "--ui")
    assert (told.exit_code, opened) == (0, [LINK])
    assert f"web UI {LINK}" in told.stderr
    assert ("login", f"/ui/agents/{AGENT}") in client.did
