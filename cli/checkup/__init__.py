"""The checks of `agiraph doctor`: one look each at this machine or this home, changing nothing.

A check is a function from a Patient to a Check in one of these files, and its line in CHECKS.
"""

from collections.abc import Callable

from agiraph.errors import AgiraphError
from cli.checkup import home, machine, others, services
from cli.checkup.check import Check, Patient

__all__ = ["CHECKS", "Check", "Patient", "check_up"]

CHECKS: tuple[Callable[[Patient], Check], ...] = (
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


def check_up(patient: Patient) -> list[Check]:
    """Make every check; one that breaks has failed and says how."""
    return [_made(check, patient) for check in CHECKS]


def _made(check: Callable[[Patient], Check], patient: Patient) -> Check:
    name = check.__name__.removeprefix("check_")
    try:
        return check(patient)
    except (AgiraphError, OSError, ImportError) as error:
        if not _has_settings(patient):
            return Check(name, "warn", "not checked: the settings cannot be read")
        return Check(name, "fail", f"could not be checked: {error}", "mend that first")


def _has_settings(patient: Patient) -> bool:
    try:
        patient.settings()
    except AgiraphError:
        return False
    return True
