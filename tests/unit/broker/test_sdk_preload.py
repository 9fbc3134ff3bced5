"""The import of an SDK, in a thread beside the start of the broker."""

import gc
import sys
from pathlib import Path

import pytest

from actors.broker.sdk_preload import import_sdk


def test_the_collector_rests_during_the_import_and_works_as_before_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_sdk.py").write_text("import gc\nduring = gc.get_threshold()[0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = gc.get_threshold()
    import_sdk("slow_sdk")
    assert sys.modules.pop("slow_sdk").during == 0
    assert gc.get_threshold() == before
    gc.unfreeze()
