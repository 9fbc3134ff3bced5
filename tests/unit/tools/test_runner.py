"""The runner's own files: written whole; they replace a link instead of following it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agiraph.tools.runner import OUTCOME, write

ODD: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda place, secret: place.symlink_to(secret),
    "dangling": lambda place, secret: place.symlink_to(secret.with_name("new")),
    "pipe": lambda place, secret: os.mkfifo(place),
    "hard link": lambda place, secret: os.link(secret, place),
}


@pytest.mark.parametrize("suffix", ["", ".part"])
@pytest.mark.parametrize("odd", ODD)
def test_irregular_file_at_the_outcome_path_is_replaced(
    tmp_path: Path, odd: str, suffix: str
) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "call"
    secret.write_text("secret")
    folder.mkdir()
    ODD[odd](folder / f"{OUTCOME}{suffix}", secret)
    write(str(folder / OUTCOME), b"whole", is_durable=True)
    assert (folder / OUTCOME).read_bytes() == b"whole"
    assert not (folder / OUTCOME).is_symlink()
    assert os.listdir(folder) == [OUTCOME]
    assert sorted(os.listdir(tmp_path)) == ["call", "secret"]
    assert secret.read_text() == "secret"
