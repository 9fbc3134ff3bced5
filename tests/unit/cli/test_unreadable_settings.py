"""Settings files that are no regular files: refused with one sentence, never taken as absent."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.supervisor.main import load
from agiraph.api.settings.store import SettingsStore
from agiraph.core.errors import InvalidInput
from agiraph.core.models import ProposedAction
from agiraph.core.specs import AskedAgent
from agiraph.external.preflight import check_agent
from agiraph.external.preset import load_agents
from agiraph.mcp.secrets import read_secrets
from agiraph.models.prices import load_prices
from agiraph.models.registry import load_presets
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from cli.options.shared import settings_of
from tests.fakes.irregular_files import SPARSE, UNREADABLE
from tests.unit.cli.fakes import command

READERS: dict[str, Callable[[Path], object]] = {
    "agiraph.yaml": settings_of,
    "agents.yaml": load_agents,
    "providers.yaml": lambda home: load_presets(home / "providers.yaml"),
    "prices.yaml": lambda home: load_prices(home / "prices.yaml"),
    "system/secrets.env": lambda home: read_secrets(Home(home).system.secrets),
}
KINDS = {**UNREADABLE, **SPARSE}
DENIES = "rules:\n  - {tool: bash, action: deny}\n"


def judged(policies: ApprovalPolicyFile) -> str:
    who = ActingEntity("ada", "worker", is_sandboxed=True)
    return policies.current().judge(ProposedAction(tool="bash", subject="ls"), who).action


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READERS)
def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, kind: str) -> None:
    READERS[name](tmp_path)  # no file: the defaults apply
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    KINDS[kind](path)
    with pytest.raises(InvalidInput, match=f"^{path}: "):
        READERS[name](tmp_path)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_rules_that_cannot_be_read_allow_nothing(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "approvals.yaml"
    UNREADABLE[kind](file)
    assert judged(ApprovalPolicyFile(tmp_path, ("bash",))) == "ask"
    with pytest.raises(InvalidInput, match="approvals"):
        SettingsStore(Home(tmp_path)).read(file.name)
    for words in (("doctor",), ("config", "show"), ("approvals", "--rules")):
        result = command(None, *words, "--home", str(tmp_path))
        assert result.exit_code != 0, words
        assert "approvals.yaml: cannot be read" in " ".join(result.output.split()), words
        assert "everything is allowed" not in result.output
        assert "Traceback" not in result.output


@pytest.mark.parametrize("kind", UNREADABLE)
def test_rules_stay_in_force_when_their_file_is_replaced_by_something_else(
    tmp_path: Path, kind: str
) -> None:
    file, target = tmp_path / "approvals.yaml", tmp_path / "elsewhere.yaml"
    target.write_text(DENIES)
    file.symlink_to(target)
    policies = ApprovalPolicyFile(tmp_path, ("bash",))
    assert judged(policies) == "deny"
    file.unlink()
    UNREADABLE[kind](file)
    assert judged(policies) == "deny"
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert judged(policies) == "allow"


def test_rules_apply_again_when_the_target_of_their_link_is_back(tmp_path: Path) -> None:
    file, target = tmp_path / "approvals.yaml", tmp_path / "elsewhere.yaml"
    file.symlink_to(target)
    policies = ApprovalPolicyFile(tmp_path, ("bash",))
    assert judged(policies) == "ask"
    target.write_text(DENIES)
    assert judged(policies) == "deny"


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_external_agent_is_refused_while_the_rules_cannot_be_read(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "agents.yaml").write_text("robot: {command: [sh]}\n")
    UNREADABLE[kind](tmp_path / "approvals.yaml")
    asked = AskedAgent(name="ada", role="worker", command="robot", author="person")
    with pytest.raises(InvalidInput, match="rules cannot be enforced"):
        check_agent(asked, tmp_path, load_config().sandbox, {"PATH": "/usr/bin:/bin"})


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.yaml").write_text("run:\n  max_nodes: 7\n")
    (tmp_path / "agiraph.yaml").symlink_to("dotfiles.yaml")
    assert load(tmp_path, None).run.max_nodes == 7


def test_a_settings_file_may_be_a_pipe_of_the_shell() -> None:
    assert load_config(Path("/dev/null")) == load_config()
