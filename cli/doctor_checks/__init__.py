"""The checks of `agiraph doctor`, which change nothing on this machine or in this home.

A check is a function from a DoctorContext to a DoctorCheck in one of these files, listed in CHECKS.
"""

from collections.abc import Callable

from agiraph.core.errors import AgiraphError
from cli.doctor_checks import home, machine, others, services
from cli.doctor_checks.check import DoctorCheck, DoctorContext

__all__ = ["CHECKS", "DoctorCheck", "DoctorContext", "check_up"]

CHECKS: tuple[Callable[[DoctorContext], DoctorCheck], ...] = (
    machine.check_python,
    machine.check_packages,
    machine.check_extras,
    machine.check_bus,
    machine.check_sqlite,
    machine.check_launcher,
    machine.check_loopback,
    machine.check_programs,
    machine.check_disk,
    home.check_home,
    home.check_privacy,
    home.check_files,
    home.check_versions,
    home.check_settings,
    home.check_approvals,
    home.check_supervisor,
    home.check_processes,
    home.check_socket,
    others.check_sandbox,
    services.check_providers,
    others.check_agents,
    others.check_servers,
    services.check_search,
    services.check_pages,
    services.check_channels,
    services.check_traces,
)


def check_up(context: DoctorContext) -> list[DoctorCheck]:
    """Run every check; one that raises has failed, with the error."""
    return [_run(check, context) for check in CHECKS]


def _run(check: Callable[[DoctorContext], DoctorCheck], context: DoctorContext) -> DoctorCheck:
    name = check.__name__.removeprefix("check_")
    try:
        return check(context)
    except (AgiraphError, OSError, ImportError) as error:
        if not _has_settings(context):
            return DoctorCheck(name, "warn", "not checked: the settings cannot be read")
        return DoctorCheck(name, "fail", f"could not be checked: {error}", "fix this first")


def _has_settings(context: DoctorContext) -> bool:
    try:
        context.settings()
    except AgiraphError:
        return False
    return True
