"""The checks of `agiraph doctor`, which change nothing on this machine or in this home.

A check is a function from a DoctorContext to a DoctorCheck in one of these files, listed in CHECKS.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agiraph.core.errors import AgiraphError
from cli.doctor_checks import beside, damage, ends, home, hosts, machine
from cli.doctor_checks.check import DoctorCheck, DoctorContext, fail, warn

CHECKS: Mapping[str, Callable[[DoctorContext], DoctorCheck]] = MappingProxyType(
    {
        "python": machine.check_python,
        "packages": machine.check_packages,
        "extras": machine.check_extras,
        "bus": machine.check_bus,
        "sqlite": machine.check_sqlite,
        "launcher": machine.check_launcher,
        "loopback": machine.check_loopback,
        "programs": machine.check_programs,
        "disk": machine.check_disk,
        "home": home.check_home,
        "privacy": home.check_privacy,
        "files": home.check_files,
        "versions": home.check_versions,
        "records": damage.check_records,
        "ends of journals": ends.check_ends,
        "missing files": damage.check_missing,
        "register": damage.check_register,
        "knowledge database": damage.check_knowledge,
        "settings": home.check_settings,
        "approvals": home.check_approvals,
        "supervisor": home.check_supervisor,
        "processes": home.check_processes,
        "hosts": hosts.check_hosts,
        "socket path": home.check_socket,
        "sandbox": beside.check_sandbox,
        "tools of commands": beside.check_tools,
        "models": beside.check_providers,
        "external agents": beside.check_agents,
        "tool servers": beside.check_servers,
        "web search": beside.check_search,
        "web pages": beside.check_pages,
        "channels": beside.check_channels,
        "traces": beside.check_traces,
    }
)


def check_up(context: DoctorContext) -> dict[str, DoctorCheck]:
    """Return the result of every check by name; a check that raises has failed."""
    return {name: _run(check, context) for name, check in CHECKS.items()}


def _run(check: Callable[[DoctorContext], DoctorCheck], context: DoctorContext) -> DoctorCheck:
    try:
        return check(context)
    except (AgiraphError, OSError, ImportError) as error:
        try:
            context.settings()
        except AgiraphError:
            return warn("not checked: the settings cannot be read")
        return fail(f"could not be checked: {error}", "fix this first")
