"""Settings: `configs/agiraph.yaml` has every default, overridden by a person's own file.

An error names the file, the line, the key and the possible values.
"""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from agiraph.core.errors import InvalidInput
from agiraph.core.record import misfit_in_words
from agiraph.core.specs import CheckpointPolicy, PlanningMode, WhenSpent
from agiraph.settings.channels import ChannelConfig
from agiraph.settings.hosts import HostsConfig, ScalerConfig
from agiraph.settings.mcp_servers import McpServerConfig, ServerName, check_names
from agiraph.settings.yaml_text import KeyPath, Lines, key_lines, nearest, parse_yaml, read_text

ChannelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class ConfigSection(BaseModel):
    """A group of settings; unknown keys are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class ModelsConfig(ConfigSection):
    """The models to use if no other is named."""

    default: str
    worker: str
    offline: bool
    max_tokens: int = Field(ge=1)
    temperature: float | None = Field(ge=0)
    context_tokens: int | None = Field(ge=1000)
    compact_at: float = Field(gt=0, lt=1)
    fallbacks: dict[str, tuple[str, ...]]


class BudgetsConfig(ConfigSection):
    """Default budgets; None: no limit."""

    run_usd: float | None = Field(ge=0, allow_inf_nan=False)
    run_tokens: int | None = Field(ge=0)
    agent_usd: float | None = Field(ge=0, allow_inf_nan=False)
    agent_tokens: int | None = Field(ge=0)
    agent_usd_per_day: float | None = Field(ge=0, allow_inf_nan=False)
    agent_tokens_per_day: int | None = Field(ge=0)
    trigger_usd: float | None = Field(ge=0, allow_inf_nan=False)
    trigger_tokens: int | None = Field(ge=0)
    trigger_usd_per_day: float | None = Field(ge=0, allow_inf_nan=False)
    trigger_tokens_per_day: int | None = Field(ge=0)
    when_spent: WhenSpent


class RunConfig(ConfigSection):
    """Limits of one run."""

    max_concurrent: int = Field(ge=1)
    max_iterations: int = Field(ge=1)
    coordinator_iterations: int = Field(ge=1)
    calls_per_answer: int = Field(ge=1)
    node_timeout_seconds: float = Field(gt=0)
    deadline_warning_seconds: float = Field(ge=0)
    stage_timeout_seconds: float | None = Field(gt=0)
    checkpoint_policy: CheckpointPolicy
    node_tokens: int | None = Field(ge=1)
    node_budget_usd: float | None = Field(gt=0)
    node_calls: int | None = Field(ge=1)
    node_compactions: int | None = Field(ge=0)
    max_nodes: int = Field(ge=1)
    max_workers: int = Field(ge=1)
    max_depth: int = Field(ge=1)
    park_after_seconds: float = Field(ge=0)
    standstill_seconds: float = Field(gt=0)
    cycle_seconds: float = Field(gt=0)
    planning: PlanningMode


class SharedConfig(ConfigSection):
    """Limits of the values that a run's team shares."""

    max_keys: int = Field(ge=1)
    max_value_bytes: int = Field(ge=1)
    max_bytes: int = Field(ge=1)


class ShellConfig(ConfigSection):
    """Limits of one shell command of a model."""

    timeout_seconds: int = Field(ge=1)
    max_timeout_seconds: int = Field(ge=1)
    output_limit: int = Field(ge=100)
    total_memory_mb: int = Field(ge=0)
    processes: int = Field(ge=0)
    check_seconds: float = Field(gt=0)
    environment: tuple[str, ...]


class SandboxConfig(ConfigSection):
    """The sandbox of the commands of models."""

    mode: Literal["auto", "bwrap", "none"]
    required: bool
    network: bool
    no_network_for: tuple[str, ...]
    input: Literal["read", "write"]
    readable: tuple[str, ...]

    @model_validator(mode="after")
    def _is_possible(self) -> "SandboxConfig":
        if self.required and self.mode == "none":
            raise ValueError("required is true, so mode cannot be none (possible: auto, bwrap)")
        return self

    def has_network(self, *called: str) -> bool:
        """Whether the commands of an entity with these names have the network.

        `called` are the entity's own name and its role.
        """
        refused = any(
            fnmatchcase(own.casefold(), wanted.casefold())
            for own in called
            for wanted in self.no_network_for
        )
        return self.network and not refused


class TriggersConfig(ConfigSection):
    """How triggers fire."""

    time_zone: str
    late_seconds: float = Field(ge=0)
    per_minute: int = Field(ge=1)
    callback_seconds: float = Field(gt=0)


class QuestionsConfig(ConfigSection):
    """How long questions to the human wait, and the outcome without an answer."""

    deadline_seconds: float | None = Field(gt=0)
    urgent_deadline_seconds: float | None = Field(gt=0)
    approval_deadline_seconds: float | None = Field(gt=0)
    unanswered: Literal["decide", "leave"]


class WorktreesConfig(ConfigSection):
    """The workers that use git worktrees of the input, and the target of their changes."""

    workers: Literal["autonomous", "all", "none"]
    merge: Literal["branch", "checkout"]
    git_seconds: float = Field(gt=0)


class FilesConfig(ConfigSection):
    """Limits of the file tools, and of folders that people download."""

    read_limit: int = Field(ge=100)
    zip_bytes: int = Field(ge=1024)


class WebConfig(ConfigSection):
    """How the web is searched and read."""

    search: Literal["auto", "brave", "serper", "tavily", "searxng", "duckduckgo"]
    search_url: str = Field(pattern=r"^(https?://\S+)?$")
    results: int = Field(ge=1, le=20)
    page_limit: int = Field(ge=500)
    max_bytes: int = Field(ge=1000)
    timeout_seconds: float = Field(gt=0)
    max_redirects: int = Field(ge=0, le=50)
    robots: bool
    allow_private: bool
    user_agent: str = Field(min_length=1, pattern=r"^[\x20-\x7e]+$")
    cache_seconds: float = Field(ge=0)
    concurrent_calls: int = Field(ge=1)


class McpConfig(ConfigSection):
    """Tools of other programs, by the Model Context Protocol."""

    timeout_seconds: float = Field(gt=0)
    start_seconds: float = Field(gt=0)
    result_limit: int = Field(ge=500)
    concurrent_calls: int = Field(ge=1)
    park_after_seconds: float = Field(ge=0)
    servers: dict[ServerName, McpServerConfig]

    @field_validator("servers")
    @classmethod
    def _are_named_well(cls, servers: dict[str, McpServerConfig]) -> dict[str, McpServerConfig]:
        check_names(servers)
        return servers


class MemoryConfig(ConfigSection):
    """Limits of memories, and how a coordinator maintains its agent's memory."""

    file_limit: int = Field(ge=1000)
    total_limit: int = Field(ge=1000)
    max_files: int = Field(ge=1)
    inline_limit: int = Field(ge=0)
    search_results: int = Field(ge=1)
    prompt_limit: int = Field(ge=1000)
    worker_limit: int = Field(ge=0)
    reflection: Literal["publish", "turn"]
    insights: Literal["accept", "ask", "ignore"]
    keep_days: int = Field(ge=2)
    main_limit: int = Field(ge=1000)
    maintenance_turns: int = Field(ge=1)
    versions: int = Field(ge=1)


class KnowledgeConfig(ConfigSection):
    """The knowledge database: whether runs write to it, and its share of prompts."""

    learn: bool
    prompt_tokens: int = Field(ge=0)
    notes: Literal["project", "all"]
    wait_seconds: float = Field(gt=0, le=60)
    scan: Literal["auto", "never"]
    scan_hours: float = Field(gt=0)


class BrokerConfig(ConfigSection):
    """How calls to providers are retried."""

    attempts: int = Field(ge=1)
    first_delay_seconds: float = Field(ge=0)
    max_delay_seconds: float = Field(ge=0)
    timeout_seconds: float = Field(gt=0)
    concurrent_calls: int = Field(ge=1)
    patience_seconds: float = Field(ge=0)
    fallback_attempts: int = Field(ge=1)
    breaker_failures: int = Field(ge=1)
    breaker_seconds: float = Field(ge=0)
    record: bool


class DoorConfig(ConfigSection):
    """Limits of the broker's LLM proxy for external agents."""

    body_bytes: int = Field(ge=1024)
    connections: int = Field(ge=1)
    calls_at_once: int = Field(ge=1)
    stall_seconds: float = Field(gt=0)
    service_tools: tuple[str, ...]


class SupervisorConfig(ConfigSection):
    """How children are started, restarted and stopped."""

    launch: Literal["auto", "fork", "exec"]
    intensity: int = Field(ge=0)
    period_seconds: float = Field(gt=0)
    first_backoff_seconds: float = Field(ge=0)
    max_backoff_seconds: float = Field(ge=0)
    start_attempts: int = Field(ge=1)
    ready_within_seconds: float = Field(gt=0)
    beat_seconds: float = Field(gt=0)
    suspect_seconds: float = Field(gt=0)
    hung_seconds: float = Field(gt=0)
    shutdown_seconds: float = Field(gt=0)


class RouterConfig(ConfigSection):
    """How waiting messages are stored."""

    durability: Literal["full", "normal"]


class BusConfig(ConfigSection):
    """How actors communicate with the router."""

    noise: float = Field(ge=0, le=0.5)


class HttpConfig(ConfigSection):
    """Where the HTTP API listens, and its limits for callers."""

    host: str
    port: int = Field(ge=0, le=65535)
    names: tuple[str, ...]
    tls_cert: str
    tls_key: str
    insecure: bool
    login_link_seconds: float = Field(gt=0, le=86400)
    login_seconds: float = Field(gt=0)
    calls_per_second: float = Field(gt=0)
    burst: int = Field(ge=1)
    calls_at_once: int = Field(ge=1)
    strangers_per_second: float = Field(gt=0)
    body_bytes: int = Field(ge=1024)
    attachment_bytes: int = Field(ge=1024)
    input_bytes: int = Field(ge=1024)
    input_files: int = Field(ge=1)
    header_bytes: int = Field(ge=1024)
    head_seconds: float = Field(gt=0)
    body_seconds: float = Field(gt=0)
    stall_seconds: float = Field(gt=0)
    connections: int = Field(ge=1)
    followers: int = Field(ge=1)
    audit_bytes: int = Field(ge=1024)
    audit_files: int = Field(ge=1, le=1000)

    def why_refused(self) -> str | None:
        """Return why the gateway must not listen with these settings, None if it may."""
        if bool(self.tls_cert) != bool(self.tls_key):
            return "http.tls_cert and http.tls_key: name both of them, or neither"
        if is_loopback(self.host) or self.tls_cert or self.insecure:
            return None
        return (
            f"http.host '{self.host}' opens the API to the network, and its tokens would cross it "
            "in the clear: set http.tls_cert and http.tls_key, or http.insecure: true if a proxy "
            "that speaks TLS, or a tunnel, is all that can reach it"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    if host.lower() in ("127.0.0.1", "localhost"):
        return True
    import ipaddress  # here: this module is imported by every process

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class GatewayConfig(ConfigSection):
    """How the person is notified over the `channels`."""

    public_url: str = Field(pattern=r"^(https?://[^\s/?#]+)?$")
    answer_link_seconds: float = Field(gt=0)
    while_away: Literal["wait", "send"]
    delivery_attempts: int = Field(ge=1)
    delivery_first_delay_seconds: float = Field(ge=0)
    delivery_max_delay_seconds: float = Field(ge=0)
    delivery_timeout_seconds: float = Field(gt=0)


class TelemetryConfig(ConfigSection):
    """Where traces are sent, if anywhere."""

    otlp_endpoint: str = Field(pattern=r"^(https?://\S+)?$")
    service_name: str = Field(min_length=1)
    timeout_seconds: float = Field(gt=0)
    content: bool


class RetentionConfig(ConfigSection):
    """How long logs are kept; None: without a limit."""

    segment_bytes: int = Field(ge=1000)
    events_days: float | None = Field(gt=0)
    events_bytes: int | None = Field(ge=0)


class LogConfig(ConfigSection):
    """Which messages are logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"]
    format: Literal["text", "json"] = "text"
    file_bytes: int = Field(ge=1000)
    files: int = Field(ge=1)


class Config(ConfigSection):
    """All settings in force."""

    models: ModelsConfig
    budgets: BudgetsConfig
    run: RunConfig
    shared: SharedConfig
    shell: ShellConfig
    sandbox: SandboxConfig
    questions: QuestionsConfig
    worktrees: WorktreesConfig
    files: FilesConfig
    web: WebConfig
    mcp: McpConfig
    memory: MemoryConfig
    knowledge: KnowledgeConfig
    triggers: TriggersConfig
    callbacks: dict[str, str]
    broker: BrokerConfig
    door: DoorConfig
    supervisor: SupervisorConfig
    hosts: HostsConfig
    scaler: ScalerConfig
    router: RouterConfig
    bus: BusConfig
    http: HttpConfig
    gateway: GatewayConfig
    channels: dict[ChannelName, ChannelConfig]
    telemetry: TelemetryConfig
    retention: RetentionConfig
    log: LogConfig


@cache
def configs_folder() -> Path:
    """Return the folder with the shipped YAML, prompts and playbooks."""
    return _shipped("configs", "configs")


def ui_folder() -> Path:
    """Return the folder with the built web page; in a clone `make ui` creates it."""
    return _shipped("ui", "frontend/dist")


def _shipped(name: str, in_clone: str) -> Path:
    """Return a folder that the wheel has under `name`, and a clone under `in_clone`."""
    bundled = Path(__file__).parents[1] / "_bundled"
    return bundled / name if bundled.is_dir() else Path(__file__).parents[2] / in_clone


def load_config(*files: Path) -> Config:
    """Return the shipped defaults overridden by `files`. Raises InvalidInput with file and line."""
    values = _read(configs_folder() / "agiraph.yaml")[0]
    places: dict[KeyPath, str] = {}
    for file in files:
        over, lines = _read(file)
        _merge(values, over)
        places |= {key: f"{file}:{line}" for key, line in lines.items()}
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(_explain(error, places)) from None
    refusal = config.http.why_refused()
    if refusal is not None:
        raise InvalidInput(f"{_place(('http', 'host'), places)}: {refusal}")
    return config


def _read(file: Path) -> tuple[dict[str, Any], Lines]:
    """Return a YAML mapping and the line of every key in it."""
    text = read_text(file)
    values = parse_yaml(text, str(file))
    if values is None:
        return {}, {}
    if not isinstance(values, dict):
        raise InvalidInput(f"{file}:1: expected settings as `section:` and `key: value` lines")
    return values, key_lines(text)


def _place(path: KeyPath, places: dict[KeyPath, str]) -> str:
    return nearest(path, places) or "config"


def _merge(into: dict[str, Any], over: dict[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _explain(error: ValidationError, places: dict[KeyPath, str]) -> str:
    return "\n".join(_explain_one(dict(problem), places) for problem in error.errors())


def _explain_one(problem: dict[str, Any], places: dict[KeyPath, str]) -> str:
    place = _place(problem["loc"], places)
    path = tuple(str(part) for part in problem["loc"])
    key = ".".join(path)
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key '{key}' (possible: {', '.join(_possible(path[:-1]))})"
    if path[:1] in (("channels",), ("mcp",)):  # the value there may be a secret
        return f"{place}: {key}: {misfit_in_words(problem)}"
    return f"{place}: {key}: {misfit_in_words(problem)} (got {problem['input']!r})"


def _possible(path: tuple[str, ...]) -> list[str]:
    model: type[BaseModel] = Config
    for part in path:
        field = model.model_fields.get(part)
        inner = field.annotation if field else None
        if inner == dict[ChannelName, ChannelConfig]:
            return sorted(ChannelConfig.model_fields)
        if inner == dict[ServerName, McpServerConfig]:
            return sorted(McpServerConfig.model_fields)
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        model = inner
    return sorted(model.model_fields)
