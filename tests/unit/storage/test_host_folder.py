"""HostFolder: a private key, counted starts, and errors that name a remedy."""

import os
import time
from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt, InvalidInput, Refused
from agiraph.core.hosts import CurveKey
from agiraph.storage.host_folder import (
    FOLDER_VARIABLE,
    UNUSED_SECONDS,
    HostFolder,
    HostRecord,
    folder_for,
    joined_folder,
)

RECORD = HostRecord(name="north", url="tcp://home:7400", server_key="K" * 40, labels=("gpu",))
KEY = CurveKey(public="P" * 40, secret="S" * 40)


def test_host_joins_counts_its_starts_and_leaves(tmp_path: Path) -> None:
    folder = HostFolder(tmp_path / "north")
    with pytest.raises(Refused, match="belongs to no host: `agiraph host join LINE`"):
        folder.record()
    folder.join(RECORD, KEY)
    assert (folder.record(), folder.key()) == (RECORD, KEY)
    assert folder.key_file.stat().st_mode & 0o777 == 0o600
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert [folder.next_start() for _ in range(3)] == [1, 2, 3]
    folder.record_file.write_text("{")
    with pytest.raises(Corrupt, match=r"host\.json"):
        folder.record()
    folder.leave()
    assert not folder.has_joined


def test_unused_files_of_a_host_are_set_aside(tmp_path: Path) -> None:
    folder, long_ago = HostFolder(tmp_path / "north"), time.time() - UNUSED_SECONDS - 1
    folder.set_aside_unused(time.time(), ())  # nothing was fetched yet
    for name in ("old.ada", "busy.bob", "new.cleo"):
        for place in (folder.home.agents / name, folder.inputs / name):
            place.mkdir(parents=True)
            (place / "large.bin").touch()
    folder.contents.mkdir(parents=True)
    for name in ("alone", "named", "fresh"):
        (folder.contents / name).touch()
    os.link(folder.contents / "named", folder.inputs / "new.cleo" / "named")
    old = (folder.home.agents / "old.ada", folder.home.agents / "busy.bob")
    for place in (*old, folder.contents / "alone", folder.contents / "named"):
        os.utime(place, (long_ago, long_ago))

    folder.set_aside_unused(time.time(), {"busy.bob"})
    for below in (folder.home.agents, folder.inputs):
        assert {place.name for place in below.iterdir()} == {"busy.bob", "new.cleo"}
    assert {place.name for place in folder.contents.iterdir()} == {"named", "fresh"}
    assert len(list(folder.unused.glob("*/large.bin"))) == 2


def test_single_host_of_a_machine_needs_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert joined_folder({}).path == tmp_path / ".agiraph-host"
    folder_for("north", {}).join(RECORD, KEY)
    assert joined_folder({}).path == tmp_path / ".agiraph-host" / "north"
    folder_for("south", {}).join(RECORD, KEY)
    with pytest.raises(InvalidInput, match=r"several hosts .north, south.*--folder "):
        joined_folder({})
    assert joined_folder({FOLDER_VARIABLE: str(tmp_path / "x")}).path == tmp_path / "x"
