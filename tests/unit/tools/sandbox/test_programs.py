"""Programs: links, interpreters of scripts, and files that are no regular files."""

import os
from pathlib import Path

import pytest

from agiraph.tools.sandbox.programs import head_of, interpreter_of, link_chain


def test_each_link_of_a_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "python3.11").touch()
    (tmp_path / "python3").symlink_to("python3.11")
    (tmp_path / "bin/python").symlink_to("../python3")
    chain = list(link_chain(str(tmp_path / "bin/python")))
    names = ("bin/python", "python3", "python3.11")
    assert chain == [str(tmp_path / name) for name in names]


def test_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert len(list(link_chain(str(tmp_path / "a")))) == 40


@pytest.mark.parametrize(
    ("first", "interpreter"),
    [
        ("#!/opt/venv/bin/python", "/opt/venv/bin/python"),
        ("#! /bin/sh -e", "/bin/sh"),
        ('#!/bin/sh\n\'\'\'exec\' "/with space/python" "$0" "$@"', "/with space/python"),
        ("#!/usr/bin/env -S A=1 sh -x", "{}/sh"),
        ("#!/usr/bin/env unknown", None),
        ("#!", None),
        ("#!'", "'"),
        ("\x7fELF", None),
    ],
)
def test_interpreter_of_a_script_is_read_from_its_first_line(
    tmp_path: Path, first: str, interpreter: str | None
) -> None:
    script, shell = tmp_path / "script", tmp_path / "sh"
    script.write_text(f"{first}\n")
    shell.touch(mode=0o755)
    expected = interpreter.format(tmp_path) if interpreter else None
    assert interpreter_of(script, str(tmp_path)) == expected


def test_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert head_of(tmp_path / "pipe") == head_of(tmp_path) == head_of(tmp_path / "none") == b""
