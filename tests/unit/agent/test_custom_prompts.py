"""A person's own prompts: laid over the shipped ones, and refused with their place if broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.agent.custom_prompts import check_own_prompts
from agiraph.agent.prompts import render
from agiraph.core.errors import InvalidInput
from agiraph.settings.prompt_folder import lay_over, shipped
from agiraph.tools.shell import bash


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "prompts"
    (folder / "tools").mkdir(parents=True)
    yield folder
    lay_over(tmp_path / "nowhere")


def test_custom_prompt_replaces_one_file_and_keeps_the_others(own: Path) -> None:
    rules = render("rules")
    (own / "soul.md").write_text("You are brisk.")
    (own / "tools/bash.md").write_text("Use it with care. {not a template}")
    check_own_prompts(own)
    lay_over(own)
    assert render("soul") == "You are brisk."
    assert render("rules") == rules
    assert bash.guidance() == "Use it with care. {not a template}"


def test_missing_prompt_folder_keeps_the_shipped_prompts(tmp_path: Path) -> None:
    check_own_prompts(tmp_path / "nowhere")
    lay_over(tmp_path / "nowhere")
    assert render("soul") == (shipped() / "soul.md").read_text().strip()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("cordinator.md", "x", r"unknown prompt '.*cordinator\.md' .*coordinator\.md"),
        ("single.md", "one\n{% if %}", r"single\.md:2: is no template"),
        ("single.md", "{{ wroker.name }}", r"unknown value 'wroker' \(possible: agent_name, "),
        ("rules.md", "{{ agent }}", r"unknown value 'agent' \(possible: none\)"),
    ],
)
def test_unusable_prompt_file_is_refused_with_the_known_names(
    own: Path, name: str, text: str, why: str
) -> None:
    (own / name).write_text(text)
    with pytest.raises(InvalidInput, match=why):
        check_own_prompts(own)


def test_the_shipped_prompts_are_in_order(own: Path) -> None:
    for path in shipped().rglob("*.md"):
        (own / path.relative_to(shipped())).write_text(path.read_text())
    check_own_prompts(own)
