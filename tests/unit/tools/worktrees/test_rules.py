"""The pure part of worktrees: names, git's output, messages."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import WorkNode
from agiraph.tools.worktrees.git import (
    conflict_text,
    has_markers,
    node_branch,
    read_trial,
    ref,
    result_branch,
)
from agiraph.tools.worktrees.worktree import SUBJECT, commit_message, unfinished_message

RUN = RunId("20261122-091500-a1b2c3")
GOOD_REF = re.compile(r"refs/heads/agiraph/[a-z0-9-]+/[a-z0-9]+(-[a-z0-9]+)*")


def node(**facts: str) -> WorkNode:
    values = {"id": "abc123", "name": "ada", "task": "t"} | facts
    return WorkNode.model_validate(values)


@given(st.text(max_size=40))
@settings(max_examples=50)
def test_every_name_of_a_node_makes_a_branch_that_is_not_the_results(name: str) -> None:
    branch = node_branch(RUN, name, NodeId("abc123"))
    assert GOOD_REF.fullmatch(ref(branch))
    assert branch != result_branch(RUN)
    assert not branch.startswith(f"{result_branch(RUN)}/")


def test_merge_output_of_git_is_parsed() -> None:
    assert read_trial(b"abc\0").conflicts == ()
    trial = read_trial("abc\0a b\0ü\n\0a b\0\0".encode())
    assert (trial.tree, trial.conflicts) == ("abc", ("a b", "ü\n"))
    with pytest.raises(ValueError, match="wrote no tree"):
        read_trial(b"")


def test_conflict_markers_are_found_and_lines_of_equal_signs_are_not() -> None:
    assert has_markers(b"x\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n")
    assert not has_markers(b"Title\n=======\n")
    assert not has_markers(b"text <<<<<<< and >>>>>>> text")


def test_many_files_in_conflict_are_counted() -> None:
    text = conflict_text("b", tuple(f"f{n}" for n in range(25)))
    assert text.endswith("f19 and 5 more")


def test_commit_message_names_node_and_worker() -> None:
    short = commit_message(node(), "bob", "Fixed it.")
    assert short == "ada: Fixed it.\n\nAgiraph-Node: ada (abc123)\nAgiraph-Worker: bob\n"
    long = commit_message(node(), "bob", f"{'word ' * 30}\nmore")
    subject, blank, body, *_ = long.split("\n")
    assert (len(subject), blank) == (SUBJECT, "")
    assert body.startswith("word word")
    lost = unfinished_message(node(status="failed", reason="its time\nis over"))
    assert "This node has failed: its time is over." in lost
