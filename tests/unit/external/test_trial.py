"""Whether an agent's own sandbox works is tried before it is started without one of ours."""

from pathlib import Path

import pytest

from agiraph.core.config import load_config
from agiraph.core.errors import InvalidInput
from agiraph.external.preflight import check_agent_command, why_not_confined
from agiraph.external.preset import AgentPreset, ExternalAgent, load_agents
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.sandbox.sandbox import Sandbox

CONFIG = load_config().sandbox
NONE = Sandbox(
    CONFIG, SandboxProbe(why="bubblewrap is not installed", advice="apt install bubblewrap")
)
STANDS = Sandbox(CONFIG, SandboxProbe("/usr/bin/bwrap"))
FORBIDDEN = """\
#!/bin/sh
[ "$*" = "sandbox -c sandbox_mode=workspace-write -- true" ] || exit 9
echo x >> "$0.log"
echo "WARNING: proceeding" >&2
echo "bwrap: No permissions to create a new namespace" >&2
exit 1
"""


def agent(folder: Path, text: str) -> ExternalAgent:
    program = folder / "codex"
    program.write_text(text)
    program.chmod(0o755)
    return ExternalAgent("codex", load_agents()["codex"], str(program))


def test_one_whose_sandbox_cannot_work_is_refused_with_what_can_be_done(tmp_path: Path) -> None:
    codex = agent(tmp_path, FORBIDDEN)
    why = why_not_confined(codex, NONE, {})
    assert "(bwrap: No permissions to create a new namespace)" in why
    assert "bubblewrap is not installed (apt install bubblewrap)" in why
    assert why_not_confined(codex, NONE, {}) == why
    assert (tmp_path / "codex.log").read_text() == "x\n", "it is tried once a process"


def test_behind_a_sandbox_of_ours_it_needs_none_of_its_own(tmp_path: Path) -> None:
    assert why_not_confined(agent(tmp_path, FORBIDDEN), STANDS, {}) == ""
    assert not (tmp_path / "codex.log").exists()


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\nexit 2\n", "no program"])
def test_one_that_works_or_knows_no_such_trial_is_let_be(tmp_path: Path, text: str) -> None:
    assert why_not_confined(agent(tmp_path, text), NONE, {}) == ""


@pytest.mark.parametrize(
    ("trial", "said"),
    [((), ""), (("no-such-bwrap", "true"), "its own sandbox does not work (no-such-bwrap is not")],
)
def test_an_agent_without_a_trial_is_let_be_and_one_without_its_helper_is_not(
    trial: tuple[str, ...], said: str
) -> None:
    agent = ExternalAgent("x", AgentPreset(command=("x",), trial=trial), "/x")
    why = why_not_confined(agent, NONE, {"PATH": ""})
    assert why.startswith(said)
    assert bool(why) == bool(said)


def test_a_worker_with_such_an_agent_is_refused_when_it_is_hired(tmp_path: Path) -> None:
    agent(tmp_path, FORBIDDEN)
    config = CONFIG.model_copy(update={"mode": "none"})
    said = "'codex' cannot work here.*No permissions.*sandbox.mode is none"
    with pytest.raises(InvalidInput, match=said):
        check_agent_command("codex", tmp_path, config, {"PATH": str(tmp_path)})
