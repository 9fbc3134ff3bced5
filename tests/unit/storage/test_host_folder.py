"""HostFolder: a key that only we may read, starts that count, and errors that say what to do."""

from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt, InvalidInput, Refused
from agiraph.core.hosts import CurveKey
from agiraph.storage.host_folder import (
    FOLDER_VARIABLE,
    HostFolder,
    HostRecord,
    folder_for,
    joined_folder,
)

RECORD = HostRecord(name="north", url="tcp://home:7400", server_key="K" * 40, labels=("gpu",))
KEY = CurveKey(public="P" * 40, secret="S" * 40)


def test_a_host_joins_counts_its_starts_and_leaves(tmp_path: Path) -> None:
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


def test_the_one_host_of_a_machine_needs_no_name(
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
