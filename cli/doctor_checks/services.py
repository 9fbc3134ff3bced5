"""Models, the web, channels and traces: what they need is set and installed."""

import importlib.util
import shutil

from cli.doctor_checks.check import DoctorCheck, DoctorContext


def check_providers(context: DoctorContext) -> DoctorCheck:
    """A model can be called with the keys of this environment."""
    from agiraph.llm.registry import load_presets, usable

    presets = load_presets(context.home.path / "providers.yaml")
    rows = [row for row in usable(presets, context.environ) if not row["local"]]
    ready = [f"{row['name']} ({row['reason']})" for row in rows if row["usable"]]
    wanting = dict.fromkeys(str(row["reason"]) for row in rows if not row["usable"])
    reasons = ", ".join(wanting)
    if ready:
        more = f"; not usable: {reasons}" if reasons else ""
        return DoctorCheck("models", "ok", f"usable: {', '.join(ready)}{more}")
    detail = f"no provider's key is set, so the embedded script/survey is used ({reasons})"
    return DoctorCheck(
        "models", "warn", detail, "set a key, for example: export ANTHROPIC_API_KEY=..."
    )


def check_search(context: DoctorContext) -> DoctorCheck:
    """A search service is available for `web_search`."""
    from agiraph.tools.web.services import advice, chosen, why_unusable

    web = context.settings().web
    name = chosen(web.search, web.search_url, context.environ)
    has_ddgs = importlib.util.find_spec("ddgs") is not None
    reason = why_unusable(name, web.search_url, context.environ, has_ddgs=has_ddgs)
    if reason is None:
        return DoctorCheck("web search", "ok", f"{name} (web.search is {web.search})")
    return DoctorCheck("web search", "warn", f"{name} cannot be used: {reason}", advice(name))


def check_pages(_context: DoctorContext) -> DoctorCheck:
    """The main text of web pages can be extracted."""
    if importlib.util.find_spec("trafilatura") is not None:
        return DoctorCheck("web pages", "ok", "trafilatura extracts the main text of a page")
    detail = (
        "trafilatura is not installed; pages are read whole, with navigation and advertisements"
    )
    return DoctorCheck("web pages", "warn", detail, "pip install 'agiraph[web]'")


def check_channels(context: DoctorContext) -> DoctorCheck:
    """What the channels need is set and installed."""
    from agiraph.core.variables import variables_in

    channels = context.settings().channels
    if not channels:
        return DoctorCheck("channels", "ok", "none is configured (docs/channels.md)")
    plain = {name: one.model_dump(mode="json") for name, one in channels.items()}
    missing = sorted(name for name in variables_in(plain) if not context.environ.get(name))
    if missing:
        advice = f"export {missing[0]}=... where the supervisor is started"
        return DoctorCheck("channels", "warn", f"not set: {', '.join(missing)}", advice)
    needs_screen = any(one.kind == "desktop" for one in channels.values())
    if needs_screen and not (shutil.which("notify-send") or shutil.which("osascript")):
        detail = "neither notify-send nor osascript is installed for the desktop channel"
        return DoctorCheck(
            "channels", "warn", detail, "install libnotify (apt install libnotify-bin)"
        )
    return DoctorCheck("channels", "ok", ", ".join(sorted(channels)))


def check_traces(context: DoctorContext) -> DoctorCheck:
    """Traces can be sent, if they are configured."""
    endpoint = context.settings().telemetry.otlp_endpoint
    endpoint = endpoint or context.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    if not endpoint:
        return DoctorCheck("traces", "ok", "not sent (telemetry.otlp_endpoint is empty)")
    if importlib.util.find_spec("opentelemetry") is None or not _has_exporter():
        detail = f"should go to {endpoint}, but OpenTelemetry is not installed"
        return DoctorCheck("traces", "warn", detail, "pip install 'agiraph[otel]'")
    return DoctorCheck("traces", "ok", f"sent to {endpoint}")


def _has_exporter() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
