"""docs/operations.md is held to the settings that there are."""

import re
from pathlib import Path
from typing import Any

import yaml

from agiraph.settings.config import configs_folder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| `(.*?)` \| \S.* \|$", re.M)


def test_the_page_lists_every_setting_with_its_default() -> None:
    written = {key: yaml.safe_load(value) for key, value in ROW.findall(PAGE.read_text("utf-8"))}
    defaults: dict[str, dict[str, Any]] = yaml.safe_load(
        (configs_folder() / "agiraph.yaml").read_text("utf-8")
    )
    assert written == {
        f"{section}.{key}": value
        for section, values in defaults.items()
        for key, value in values.items()
    }
