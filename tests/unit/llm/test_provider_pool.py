"""The home's table of providers is read again while the broker works."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.llm.provider_pool import ProviderPool
from agiraph.models.registry import load_presets
from agiraph.settings.config import load_config


def write(table: Path, **ports: int) -> None:
    """Write a table of services on these ports."""
    table.write_text(
        "\n".join(
            f"{name}: {{api: openai, key_env: [], needs_key: false, structured: native, "
            f"base_url: 'http://127.0.0.1:{port}/v1'}}"
            for name, port in ports.items()
        )
    )


def pool(table: Path) -> ProviderPool:
    return ProviderPool(load_config(), load_presets(table), {}, {}, table)


async def test_added_provider_can_be_called_and_a_changed_one_is_reconnected(
    tmp_path: Path,
) -> None:
    table = tmp_path / "providers.yaml"
    services = pool(table)
    with pytest.raises(InvalidInput, match="unknown provider 'mine'"):
        services.check("mine/m")
    write(table, mine=9, other=10)
    services.refresh()
    name, other = services.check("mine/m"), services.check("other/m")
    first, kept = await services.provider(name), await services.provider(other)
    services.refresh()
    assert await services.provider(name) is first, "nothing has changed"
    write(table, mine=19, other=10)
    services.refresh()
    assert await services.provider(name) is not first
    assert await services.provider(other) is kept
    table.unlink()
    services.refresh()
    with pytest.raises(InvalidInput, match="unknown provider 'mine'"):
        services.check("mine/m")


def test_unreadable_provider_table_keeps_the_known_providers(tmp_path: Path) -> None:
    table = tmp_path / "providers.yaml"
    write(table, mine=9)
    services = pool(table)
    table.write_text("mine: {api: nonsense}\n")
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"providers\.yaml:1: mine\.api"):
            services.refresh()
    assert services.check("mine/m").provider == "mine"
