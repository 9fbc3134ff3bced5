"""Settings: defaults are whole, a person's file is laid over them, mistakes name their place."""

import os
from pathlib import Path

import pytest
import yaml

from agiraph.core.errors import InvalidInput
from agiraph.settings.config import Config, configs_folder, load_config


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "agiraph.yaml"


def test_every_setting_has_its_default_in_the_shipped_file() -> None:
    shipped = yaml.safe_load((configs_folder() / "agiraph.yaml").read_text())
    dumped = load_config().model_dump(mode="json")
    assert set(shipped) == set(dumped) == set(Config.model_fields)
    for section, values in shipped.items():
        assert values.items() <= dumped[section].items()


def test_settings_file_may_contain_only_changes(own: Path) -> None:
    own.write_text("run:\n  max_concurrent: 9\n")
    config = load_config(own)
    assert config.run.max_concurrent == 9
    assert config.run.max_nodes == load_config().run.max_nodes


def test_the_last_file_wins(own: Path, tmp_path: Path) -> None:
    own.write_text("run: {max_concurrent: 9, max_nodes: 5}\n")
    second = tmp_path / "second.yaml"
    second.write_text("run: {max_concurrent: 2}\n")
    config = load_config(own, second)
    assert (config.run.max_concurrent, config.run.max_nodes) == (2, 5)


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "---\n"])
def test_an_empty_file_changes_nothing(own: Path, text: str) -> None:
    own.write_text(text)
    assert load_config(own) == load_config()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "run:\n  max_nodes: 3\n  max_concurent: 3\n",
            r"agiraph.yaml:3: unknown key 'run.max_concurent' \(possible: .*max_concurrent, .*\)",
        ),
        (
            "ran: {}\n",
            r"agiraph.yaml:1: unknown key 'ran' \(possible: broker, budgets, bus, ",
        ),
        (
            "\nrun:\n  max_nodes: many\n",
            r"agiraph.yaml:3: run.max_nodes: must be a whole number \(got 'many'\)",
        ),
        ("run:\n  max_nodes: 0\n", r"agiraph.yaml:2: run.max_nodes: must be at least 1"),
        ("run: 3\n", r"agiraph.yaml:1: run: "),
        ("run:\n", r"agiraph.yaml:1: run: "),
        ("supervisor:\n  launch: rocket\n", r"agiraph.yaml:2: .*'auto', 'fork' or 'exec'"),
        ("run: [1\n", r"agiraph.yaml:2: is not YAML"),
        ("- run\n", r"agiraph.yaml:1: expected settings as `section:`"),
        ("just words\n", r"agiraph.yaml:1: expected settings"),
        ("run: !!python/object:os.system {}\n", r"agiraph.yaml:1: is not YAML"),
    ],
)
def test_error_names_file_line_key_and_the_possible_values(
    own: Path, text: str, expected: str
) -> None:
    own.write_text(text)
    with pytest.raises(InvalidInput, match=expected):
        load_config(own)


def test_all_errors_are_reported_at_once(own: Path) -> None:
    own.write_text("run:\n  max_nodes: 0\nlog:\n  level: loud\n")
    with pytest.raises(InvalidInput) as caught:
        load_config(own)
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "run.max_nodes",
        "log.level",
    ]


def test_a_missing_or_unreadable_file_is_named(own: Path) -> None:
    with pytest.raises(InvalidInput, match=r"agiraph.yaml: cannot be read \(No such file"):
        load_config(own)
    own.write_bytes(b"run: \xff\n")
    with pytest.raises(InvalidInput, match=r"is not UTF-8 text \(byte 5\)"):
        load_config(own)
    os.mkdir(own.with_suffix(".d"))
    with pytest.raises(InvalidInput, match=r"cannot be read \(Is a directory"):
        load_config(own.with_suffix(".d"))


def test_settings_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_config().run.max_nodes = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http:\n  host: 0.0.0.0\n", r"mine.yaml:2: http.host '0.0.0.0' opens the API"),
        ("http: {host: atlas.lan, tls_cert: x}\n", "name both of them"),
        ("http: {host: 10.0.0.1, tls_cert: x, tls_key: y}\n", None),
        ("http: {host: 10.0.0.1, insecure: true}\n", None),
        ("http: {host: '::1'}\n", None),
        ("http: {host: 127.8.9.10}\n", None),
        ("http: {host: localhost}\n", None),
    ],
)
def test_the_api_is_not_opened_to_the_network_in_the_clear_unasked(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    if expected is None:
        assert load_config(file).http.why_refused() is None
        return
    with pytest.raises(InvalidInput, match=expected):
        load_config(file)
