"""The settings files over the API: secrets are hidden, errors are reported, comments stay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.core.redaction import BLOT
from agiraph.http.api import EditSettingsRequest, SettingChange, SettingsContentView
from agiraph.http.client import Client
from agiraph.storage.home import Home
from tests.fakes.gateway import GatewayHome, refused, running_gateway

OWN = """\
# mine
run:
  max_concurrent: 8   # a big machine
channels:
  team:
    kind: webhook
    url: https://hooks.example/services/T1/B2
    secret: not-for-you
mcp:
  servers:
    files:
      command: npx
      env: {API: "${API}", LEVEL: hush-hush}
"""


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home")) as gateway_home:
        yield gateway_home


@pytest.fixture
def client(gateway_home: GatewayHome) -> Iterator[Client]:
    for file in gateway_home.home.path.glob("*.yaml"):
        file.unlink()
    with gateway_home.client() as client:
        yield client


def own(gateway_home: GatewayHome, text: str = OWN) -> Path:
    gateway_home.home.config.write_text(text)
    return gateway_home.home.config


def value(key: str, to: object) -> EditSettingsRequest:
    return EditSettingsRequest(changes=(SettingChange(key=tuple(key.split(".")), value=to),))


def save(client: Client, edit: EditSettingsRequest, file: str = "agiraph.yaml") -> str:
    saved = client.save_settings(file, edit, etag=client.settings_file(file).etag)
    return saved.takes_effect


def rows(view: SettingsContentView) -> dict[str, tuple[object, str, object]]:
    return {".".join(r.key): (r.value, r.source, r.after_restart) for r in view.settings}


def test_every_settings_file_is_listed_even_if_absent(client: Client) -> None:
    found = {file.name: file for file in client.settings()}
    assert list(found) == [
        "agiraph.yaml", "approvals.yaml", "providers.yaml", "prices.yaml", "agents.yaml",
    ]  # fmt: skip
    assert {(file.exists, file.etag, file.problems) for file in found.values()} == {
        (False, "absent", ())
    }
    assert "restart broker" in found["prices.yaml"].takes_effect
    for name in found:
        assert client.settings_file(name).shape["type"] == "object"


def test_setting_shows_value_default_and_source(gateway_home: GatewayHome, client: Client) -> None:
    own(gateway_home)
    view = client.settings_file("agiraph.yaml")
    told = rows(view)
    assert told["run.max_nodes"] == (200, "default", None)
    assert told["run.max_concurrent"] == (4, "start", 8)  # written after the supervisor's start
    about = {".".join(row.key): row.about for row in view.settings}
    assert about["run.max_concurrent"] == "workers of one agent that may be busy at once"
    assert about["models.fallbacks"].endswith("worker: [openai/gpt-5-mini]")
    assert view.sections["budgets"].startswith("default limits of spending")


def test_tables_list_each_name(gateway_home: GatewayHome, client: Client) -> None:
    (gateway_home.home.path / "prices.yaml").write_text(
        "anthropic/claude-opus-5: {input: 4, output: 9}\n"
    )
    told = rows(client.settings_file("prices.yaml"))
    assert told["anthropic/claude-opus-5"][:2] == (
        {"input": 4, "output": 9},
        "file",
    )
    assert told["openai/gpt-5"][1] == "default"
    (gateway_home.home.path / "providers.yaml").write_text("ollama: {context: 9000}\n")
    ollama = rows(client.settings_file("providers.yaml"))["ollama"][0]
    assert isinstance(ollama, dict)
    assert (ollama["context"], ollama["local"]) == (9000, True)


def test_tables_in_a_file_have_the_shape_of_their_rows(client: Client) -> None:
    shape = client.settings_file("providers.yaml").shape["additionalProperties"]["properties"]
    assert {"api", "context"} <= shape["models"]["additionalProperties"]["properties"].keys()
    merged = [name for name, one in shape.items() if one.get("merged")]
    assert merged == ["contexts", "models"], "rows of one's own are added to the shipped ones"
    settings = client.settings_file("agiraph.yaml").shape
    about = {one.key: one.about for one in client.settings_file("agiraph.yaml").settings}
    assert 'args: ["-y", ' in about["mcp", "servers"], "an example is told as it stands"
    assert settings["$defs"]["McpConfig"]["properties"]["servers"]["patternProperties"]


def test_no_secret_is_shown(gateway_home: GatewayHome, client: Client) -> None:
    own(gateway_home, f"{OWN}# old: sk-ant-0123456789abcdef\n")
    view = client.settings_file("agiraph.yaml")
    shown = view.model_dump_json()
    for secret in ("not-for-you", "T1/B2", "hush-hush", "sk-ant-0123456789"):
        assert secret not in shown
    assert view.text.count(BLOT) == 4
    assert "${API}" in view.text


def test_saved_text_keeps_hidden_secrets(gateway_home: GatewayHome, client: Client) -> None:
    file = own(gateway_home)
    text = client.settings_file("agiraph.yaml").text.replace("8   # a big", "6   # a big")
    assert "supervisor starts again" in save(client, EditSettingsRequest(text=text))
    assert file.read_text() == OWN.replace("8   # a big", "6   # a big")


def test_one_value_changes_and_comments_stay(gateway_home: GatewayHome, client: Client) -> None:
    file = own(gateway_home)
    save(client, value("run.max_concurrent", 2))
    assert file.read_text() == OWN.replace("8   # a big", "2   # a big")
    assert client.settings_file("agiraph.yaml").version_before is not None
    assert (gateway_home.home.human.settings / "agiraph.yaml").read_text() == OWN
    save(client, EditSettingsRequest(changes=(SettingChange(key=("run",), remove=True),)))
    assert "max_concurrent" not in file.read_text()


def test_invalid_setting_among_several_in_a_line_is_named(client: Client) -> None:
    edit = EditSettingsRequest(text="run: {max_depth: 3, max_nodes: many}\n")
    [problem] = client.check_settings("agiraph.yaml", edit).problems
    assert (problem.line, problem.key) == (1, ("run", "max_nodes"))


def test_a_check_shows_the_difference_and_writes_nothing(
    gateway_home: GatewayHome, client: Client
) -> None:
    file = own(gateway_home)
    found = client.check_settings("agiraph.yaml", value("run.max_nodes", 9))
    assert "+  max_nodes: 9" in found.diff.splitlines()
    assert "not-for-you" not in found.model_dump_json()
    assert found.own["run"] == {"max_concurrent": 8, "max_nodes": 9}
    assert found.problems == ()
    assert file.read_text() == OWN


@pytest.mark.parametrize(
    ("file", "text", "line", "detail"),
    [
        ("agiraph.yaml", "run:\n  max_nodes: many\n", 2, "run.max_nodes: must be a whole number"),
        ("agiraph.yaml", "run:\n  max_node: 3\n", 2, "unknown key 'run.max_node'"),
        ("agiraph.yaml", "run:\n - [\n", 3, "is not YAML"),
        ("agiraph.yaml", "\nmodels:\n  default: nope/x\n", 3, "unknown provider 'nope'"),
        ("agiraph.yaml", "http:\n  host: 0.0.0.0\n", 2, "opens the API to the network"),
        ("approvals.yaml", "rules:\n- action: ask\n- action: maybe\n", 3, "action is 'maybe'"),
        ("approvals.yaml", "rules:\n- {action: ask, tool: bosh}\n", 2, "unknown tool 'bosh'"),
        ("providers.yaml", "mine:\n  api: openai\n  contex: 1\n", 3, "contex: is an unknown key"),
        ("prices.yaml", "a/b: {input: 1}\n", 1, "a/b.output: is missing"),
        ("prices.yaml", "a/b:\n  input: -1\n  output: 1\n", 2, "a/b.input: must be at least 0"),
        ("agents.yaml", "mine:\n  command: []\n", 2, "mine.command: must have at least 1 entry"),
    ],
)
def test_error_names_its_line_and_nothing_is_written(
    gateway_home: GatewayHome, client: Client, file: str, text: str, line: int, detail: str
) -> None:
    edit = EditSettingsRequest(text=text)
    problems = client.check_settings(file, edit).problems
    assert [problem.line for problem in problems] == [line]
    assert detail in problems[0].detail
    error = refused(client.save_settings, file, edit, etag="absent")
    assert error.status == 422
    assert f"{file}:{line}: " in error.detail
    assert not (gateway_home.home.path / file).exists()


@pytest.mark.parametrize(
    "edit",
    [
        value("channels.team.secret", "hunter2hunter2"),
        value("callbacks.push", "curl -H 'Authorization: Bearer abcdefgh12345678'"),
        value("channels.other", {"kind": "webhook", "url": "https://x", "secret": "s3cret"}),
        EditSettingsRequest(text=f"{OWN}# key: sk-ant-0123456789abcdef\n"),
        EditSettingsRequest(
            text="run:\n  max_nodes: 3\n# [redacted]\nweb: {user_agent: [redacted]}\n"
        ),
        value("mcp.servers.files.env.NEW", BLOT),
    ],
)
def test_a_new_secret_is_refused(
    gateway_home: GatewayHome, client: Client, edit: EditSettingsRequest
) -> None:
    file = own(gateway_home)
    error = refused(client.save_settings, "agiraph.yaml", edit, etag=etag_of(client))
    assert error.status == 422
    assert file.read_text() == OWN


def test_variable_is_accepted_in_place_of_a_secret(
    gateway_home: GatewayHome, client: Client
) -> None:
    file = own(gateway_home)
    save(client, value("channels.team.secret", "${TEAM_SECRET}"))
    assert "    secret: ${TEAM_SECRET}\n" in file.read_text()


def etag_of(client: Client, file: str = "agiraph.yaml") -> str:
    return client.settings_file(file).etag


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(
    gateway_home: GatewayHome, client: Client
) -> None:
    file, etag = own(gateway_home), etag_of(client)
    file.write_text(f"{OWN}# by an editor\n")
    error = refused(client.save_settings, "agiraph.yaml", value("run.max_nodes", 9), etag=etag)
    assert error.status == 412
    assert file.read_text().endswith("# by an editor\n")
    nobody = refused(client.save_settings, "agiraph.yaml", value("run.max_nodes", 9), etag="absent")
    assert nobody.status == 412


def test_repeated_change_is_not_a_conflict(gateway_home: GatewayHome, client: Client) -> None:
    own(gateway_home)
    etag = etag_of(client)
    for _ in range(2):
        client.save_settings("agiraph.yaml", value("run.max_nodes", 9), etag=etag)
    assert rows(client.settings_file("agiraph.yaml"))["run.max_nodes"][2] == 9


def test_changes_apply_to_the_submitted_text(gateway_home: GatewayHome, client: Client) -> None:
    own(gateway_home)
    edit = value("run.max_nodes", 9).model_copy(update={"text": "run:  # new\n  max_depth: 3\n"})
    found = client.check_settings("agiraph.yaml", edit)
    assert found.text == "run:  # new\n  max_depth: 3\n  max_nodes: 9\n"


def test_new_file_is_private_and_existing_file_keeps_its_mode(
    gateway_home: GatewayHome, client: Client
) -> None:
    save(client, EditSettingsRequest(text="rules:\n  - {action: ask}"), "approvals.yaml")
    file = gateway_home.home.path / "approvals.yaml"
    assert file.read_text() == "rules:\n  - {action: ask}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    save(client, EditSettingsRequest(text="rules: []"), "approvals.yaml")
    assert file.stat().st_mode & 0o777 == 0o640


def test_link_is_not_overwritten(gateway_home: GatewayHome, client: Client, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.yaml"
    target.write_text("run: {}\n")
    gateway_home.home.config.symlink_to(target)
    error = refused(
        client.save_settings, "agiraph.yaml", value("run.max_nodes", 9), etag=etag_of(client)
    )
    assert (error.status, str(target) in error.detail) == (409, True)
    assert target.read_text() == "run: {}\n"


def test_other_files_are_not_settings(client: Client) -> None:
    for name in ("token", "..", ".agiraph.toml", "system"):
        assert refused(client.settings_file, name).status == 404


def test_empty_edit_is_refused(client: Client) -> None:
    error = refused(client.check_settings, "agiraph.yaml", EditSettingsRequest())
    assert (error.status, error.detail) == (422, "name the text or changes")


def test_doctor_endpoint_reports_the_checks_of_the_command(gateway_home: GatewayHome) -> None:
    with gateway_home.client() as client:
        first, again = client.doctor(), client.doctor()
        assert [check.name for check in first.checks][:3] == ["python", "packages", "extras"]
        assert first.home == str(Home(gateway_home.home.path).path)
        assert again.checked_at == first.checked_at
        assert client.doctor(afresh=True).checked_at > first.checked_at
