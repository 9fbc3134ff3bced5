"""The machine: Python, packages, the bus, SQLite, loopback, processes, free disk space."""

import errno
import importlib.metadata
import os
import platform
import re
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agiraph.storage.disk_space import has_room
from cli.doctor_checks.check import DoctorCheck, DoctorContext, fail, listed, ok, other_home, warn

OLDEST_PYTHON: Final = (3, 11)
LOW_DISK: Final = 1_000_000_000
FULL_DISK: Final = 50_000_000
REQUIREMENT: Final = re.compile(r"^\s*([A-Za-z0-9._-]+)")
EXTRA: Final = re.compile(r";.*\bextra\s*==\s*['\"]([\w-]+)['\"]")
PROGRAMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "git": "worktrees of nodes",
        "node": "external agents and tool servers from npm",
        "npm": "installing these",
    }
)


def check_python(_context: DoctorContext) -> DoctorCheck:
    """Check that Python is new enough."""
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return ok(found)
    return fail(found, "install Python 3.11 or newer and Agiraph in it")


def check_packages(_context: DoctorContext) -> DoctorCheck:
    """Check that every package that Agiraph requires is installed."""
    required = packages_by_extra(_requirements()).get("", [])
    missing = [name for name in required if not _is_installed(name)]
    if not missing:
        return ok(f"all {len(required)} are installed")
    advice = "install Agiraph again: pip install --force-reinstall agiraph"
    return fail(f"missing: {', '.join(missing)}", advice)


def check_extras(_context: DoctorContext) -> DoctorCheck:
    """Find the installed extras; none is required."""
    by_extra = packages_by_extra(_requirements())
    extras = {name: all(map(_is_installed, by_extra[name])) for name in sorted(by_extra) if name}
    installed = ", ".join(name for name in extras if extras[name]) or "none"
    missing = ",".join(name for name in extras if not extras[name])
    more = f"; more: pip install 'agiraph[{missing}]'" if missing else ""
    return ok(f"installed: {installed}{more}")


def _requirements() -> list[str]:
    try:
        return importlib.metadata.requires("agiraph") or []
    except importlib.metadata.PackageNotFoundError:
        return []  # Agiraph runs from a folder of sources


def packages_by_extra(requirements: list[str]) -> dict[str, list[str]]:
    """Return the packages that each extra requires; packages that are always required under ''."""
    found: dict[str, list[str]] = {}
    for line in requirements:
        package, extra = REQUIREMENT.match(line), EXTRA.search(line)
        if package is not None:
            found.setdefault(extra[1] if extra else "", []).append(package[1])
    return found


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_bus(_context: DoctorContext) -> DoctorCheck:
    """Check that ZeroMQ is installed, with the features that the router needs."""
    try:
        import zmq
    except ImportError as error:
        return fail(f"pyzmq cannot be imported ({error})", "pip install pyzmq")
    found = f"ZeroMQ {zmq.zmq_version()} (pyzmq {zmq.pyzmq_version()})"
    if zmq.has("ipc"):
        return ok(found)
    return fail(f"{found} has no ipc sockets", "pip install --force-reinstall pyzmq")


def check_sqlite(context: DoctorContext) -> DoctorCheck:
    """Check that SQLite can use a write-ahead log in the home; some network disks cannot."""
    found = f"SQLite {sqlite3.sqlite_version}"
    try:
        with tempfile.TemporaryDirectory(
            dir=context.nearest_folder, prefix=".agiraph-doctor-"
        ) as folder:
            trial = Path(folder) / "trial.db"
            database = sqlite3.connect(trial)  # plain: in a new temporary folder
            try:
                mode = database.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                database.execute("CREATE TABLE trial (x)")
            finally:
                database.close()
    except (OSError, sqlite3.Error) as error:
        return fail(f"{found} cannot write there: {error}", other_home())
    if mode != "wal":
        detail = f"{found} cannot use a write-ahead log in {context.nearest_folder}"
        return fail(detail, f"{other_home()}, on a local disk")
    return ok(f"{found}, write-ahead log works")


def check_loopback(context: DoctorContext) -> DoctorCheck:
    """Check that the API can listen on its address."""
    from agiraph.http.discovery import is_held, read_port

    http, own = context.settings().http, read_port(context.home.path)
    port = 0 if is_held(context.home.path) else http.port or own or 0
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((http.host, port))
    except OSError as error:
        detail = f"{http.host}:{port} cannot be listened on ({error.strerror or error})"
        if port and not http.port and error.errno == errno.EADDRINUSE:
            return warn(f"{detail}; the next start takes another port, and keeps it")
        return fail(detail, "choose another http.port (0: the port of this home), or http.host")
    shown = f"port {http.port or own}" if http.port or own else "the first free port from 8765"
    return ok(f"{http.host}, {shown}")


def check_launcher(context: DoctorContext) -> DoctorCheck:
    """Show how processes are started, and whether forking is safe here."""
    can_fork = sys.platform == "linux" and hasattr(os, "fork")
    wanted = context.settings().supervisor.launch
    if wanted == "fork" and not can_fork:
        detail = f"fork is configured, but it is not safe on {sys.platform}"
        return fail(detail, "set supervisor.launch to auto in agiraph.yaml")
    if wanted == "exec" or not can_fork:
        detail = f"exec ({wanted} on {sys.platform}): each process takes a second or two to start"
        return ok(detail) if wanted == "exec" else warn(detail)
    return ok("fork: processes start in milliseconds")


def check_programs(context: DoctorContext) -> DoctorCheck:
    """Check that the programs that Agiraph calls are installed."""
    path = context.environ.get("PATH", os.defpath)
    if shutil.which("bash", path=path) is None:
        return fail("bash is not installed", "apt install bash")
    there = [name for name in PROGRAMS if shutil.which(name, path=path)]
    missing = {name: f"for {use}" for name, use in PROGRAMS.items() if name not in there}
    found = ", ".join(["bash", *there])
    if not missing:
        return ok(found)
    advice = "install them if you need them: apt install git nodejs npm"
    return warn(f"{found}; not installed: {listed(missing)}", advice)


def check_disk(context: DoctorContext) -> DoctorCheck:
    """Check that there is free disk space."""
    free = shutil.disk_usage(context.nearest_folder).free
    detail = f"{free / 1e9:.1f} GB free"
    if not has_room(context.nearest_folder):
        detail = f"the disk is full ({free} bytes free): processes wait until there is room"
    if free < FULL_DISK:
        return fail(detail, f"free some space, or {other_home()}")
    if free < LOW_DISK:
        return warn(detail, "journals and results need room; free some space")
    return ok(detail)
