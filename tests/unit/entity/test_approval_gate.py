"""The rules of approvals.yaml judge a call by all names that the entity knows for its subject."""

import asyncio
import json
from pathlib import Path

import pytest

from actors.entity.approval_gate import ApprovalGate
from actors.entity.context import EntityContext
from actors.entity.messenger import Messenger
from actors.entity.questions import ArrivedAnswers
from agiraph.agent.transcript import OpenCall
from agiraph.board.names import names_meant
from agiraph.core.turns import ToolCall
from agiraph.tools.approvals.policy import ActingEntity
from tests.unit.board.board_driver import BoardDriver
from tests.unit.entity.contexts import entity_context
from tests.unit.tools.scopes.home_layout import OTHER, build

RULE = "rules:\n  - {{name: n, tool: {tool}, pattern: '{pattern}', action: deny}}\n"


@pytest.fixture
def entity() -> BoardDriver:
    entity = BoardDriver()
    entity.node("deploy")
    entity.worker("bob")
    return entity


class GatedHome:
    """A home with a worker whose gate judges calls."""

    def __init__(
        self, tmp_path: Path, entity: BoardDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.layout = build(tmp_path.resolve())
        scope = self.layout.worker(facts=f"nodes/{OTHER}/published")
        monkeypatch.setattr(EntityContext, "scope", scope)
        context, _ = entity_context(self.layout.root, "demo/ada-111111")
        link = tmp_path / "link"
        link.symlink_to(self.layout.input_dir)
        context.spec = context.spec.model_copy(update={"input": str(link)})
        self.gate = ApprovalGate(
            context,
            Messenger(context, ArrivedAnswers()),
            lambda: ActingEntity("ada"),
            names=lambda named: names_meant(entity.board, named),
        )

    async def denies(self, tool: str, pattern: str, call: str, **arguments: str) -> bool:
        rules = RULE.format(tool=tool, pattern=pattern)
        (self.layout.root / "approvals.yaml").write_text(rules)
        self.gate._policies._stamp = None
        asked = self.gate.approval_for(
            OpenCall(ToolCall(id="c", name=call, arguments=arguments), "1")
        )
        if asked is None:
            return False
        async with asyncio.timeout(5):
            return "[denied]" in (await asked.answer()).refusal


@pytest.fixture
def gated(tmp_path: Path, entity: BoardDriver, monkeypatch: pytest.MonkeyPatch) -> GatedHome:
    return GatedHome(tmp_path, entity, monkeypatch)


async def test_the_input_folder_has_its_path_and_the_name_input(gated: GatedHome) -> None:
    folder, link = gated.layout.input_dir, gated.layout.root / "link"
    for pattern in ("input/secret*", f"{folder}/secret*", f"{link}/secret*"):
        for path in ("input/secret.md", f"{folder}/secret.md", f"{link}/secret.md"):
            assert await gated.denies("read_file", pattern, "read_file", path=path), (pattern, path)
            assert not await gated.denies("read_file", pattern, "read_file", path="input/other.md")


async def test_a_node_and_a_worker_have_names_and_ids(
    gated: GatedHome, entity: BoardDriver
) -> None:
    node, worker = entity.at("deploy"), entity.who("bob")
    nodes = (node.name, node.id, node.folder, node.name.upper())
    workers = (worker.name, worker.id, f"@{worker.name}")
    for pattern in (node.name, f"*{node.id}*", f"*{node.folder}*", f'*"{node.name}"*'):
        for named in nodes:
            assert await gated.denies(
                "cancel_node", pattern, "cancel_node", node_id=named, reason="x"
            ), (pattern, named)
            assert await gated.denies(
                "create_work_node",
                pattern,
                "schedule",
                action=json.dumps({"type": "run_node", "payload": {"node_id": named}}),
            ), (pattern, named)
    for pattern in (worker.name, f"*{worker.id}*"):
        for named in workers:
            for tool in ("retire_worker", "assign_worker"):
                assert await gated.denies(tool, pattern, tool, worker_id=named, node_id="x")
            assert await gated.denies("send_message", pattern, "send_message", to=named)
    assert not await gated.denies("cancel_node", node.name, "cancel_node", node_id="other")


async def test_ref_matches_rules_by_the_paths_of_its_files(gated: GatedHome) -> None:
    (gated.layout.run.node(OTHER).published / "secret.md").write_text("x")
    for pattern in ("refs/facts/secret.md", f"nodes/{OTHER}/published/*"):
        assert await gated.denies("read_file", pattern, "read_ref", name="facts"), pattern
    assert not await gated.denies("read_file", "*", "read_ref", name="unknown")


async def test_rule_on_outside_paths_judges_the_path_as_written(
    gated: GatedHome,
) -> None:
    rules = "rules:\n  - {name: n, tool: read_file, outside: true, action: deny}\n"
    (gated.layout.root / "approvals.yaml").write_text(rules)
    call = ToolCall(id="c", name="read_file", arguments={"path": f"nodes/{OTHER}/published/x"})
    assert gated.gate.approval_for(OpenCall(call, "1")) is None
