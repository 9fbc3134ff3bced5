"""Prompts are compiled once, before processes are forked that fill them in."""

import pytest
from jinja2 import Environment

from agiraph.agent import prompts


def test_what_was_prepared_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts.prepare()

    def compile_again(*_args: object, **_options: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Environment, "compile", compile_again)
    assert prompts.render("soul")
    assert prompts.render("rules")
