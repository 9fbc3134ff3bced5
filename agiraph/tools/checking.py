"""Checking: run the checks of a node on its result, and compute the hashes of the result.

All checks are run by `run_checks`: for a worker's `publish`, an external agent's result and a
worktree that is merged:

    results = await run_checks(node.checks, scope=..., config=..., environment=..., folder=...)
    if said := why_not(results, config): ...   # refused, with the output

A check that has ended is not run again with the same `folder`, not even by the next incarnation of
a killed process; an interrupted check is, because its outcome is unknown.
"""

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.results import ARTIFACTS_NAMED, CheckResult, Evidence
from agiraph.settings.config import Config
from agiraph.storage.file_names import spelled
from agiraph.storage.files import files_below, is_folder, open_file
from agiraph.tools.command import (
    CommandLimits,
    CommandResult,
    how_ended,
    recover_command,
    run_command,
)
from agiraph.tools.sandbox.sandbox import Enclosure, Sandbox, find_sandbox
from agiraph.tools.scopes.named_places import link_named_places, pytest_options
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.shell import visible_environment

KEPT_OUTPUT = 1500
NO_CACHE = "-p no:cacheprovider"
"""Keeps pytest from writing files beside the result."""


async def run_checks(
    checks: Sequence[str],
    *,
    scope: Scope,
    config: Config,
    environment: Mapping[str, str],
    folder: Path,
    cwd: Path | None = None,
    writable: Sequence[Path] = (),
) -> tuple[CheckResult, ...]:
    """Run the checks of one result in sequence in the sandbox; return their outcomes.

    `cwd` is by default the start folder of the scope's shell. Variables and limits are those of the
    tool `bash`, the time limit of a check is the setting `shell.check_seconds`. `folder` receives
    the output of the checks; keep it until the outcome of the publishing call is journaled.
    `writable` are folders beyond the scope's (a worktree). Raises Refused if a sandbox is required
    and missing. Cancelling kills the running check.
    """
    sandbox = find_sandbox(config.sandbox)
    where = cwd or scope.cwd
    options = f"{NO_CACHE} {pytest_options(scope) if cwd is None else ''}".strip()
    variables = visible_environment(dict(environment), config.shell)
    variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": options}
    await asyncio.to_thread(link_named_places, scope)
    enclosure = await asyncio.to_thread(
        sandbox.enclose,
        scope,
        path=variables["PATH"],
        writable=writable,
        cwd=where,
        keeps_tmp=True,
    )
    results = []
    for number, check in enumerate(checks):
        place = folder / f"check-{number}"
        limits = CommandLimits.of(config.shell, config.shell.check_seconds)
        finished = await recover_command(place) if is_folder(place) else None
        if finished is None:
            finished = await _run(check, place, where, variables, limits, enclosure)
        results.append(_result(check, finished, sandbox))
    await asyncio.to_thread(link_named_places, scope)
    return tuple(results)


async def _run(
    check: str,
    place: Path,
    cwd: Path,
    variables: dict[str, str],
    limits: CommandLimits,
    enclosure: Enclosure,
) -> CommandResult | None:
    try:
        return await run_command(
            check,
            folder=place,
            cwd=cwd,
            environment=variables | {"PATH": enclosure.path},
            limits=limits,
            before=enclosure.words,
            standins=enclosure.standins,
        )
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the check `{check[:200]}` cannot be run ({error})") from None


def _result(check: str, finished: CommandResult | None, sandbox: Sandbox) -> CheckResult:
    if finished is None:
        raise Refused(f"the check `{check[:200]}` was killed; its outcome is unknown")
    return CheckResult(
        command=check,
        exit_code=finished.exit_code,
        output=finished.output[-KEPT_OUTPUT:],
        is_walled=sandbox.is_up,
    )


def why_not(results: Sequence[CheckResult], config: Config) -> str:
    """Return the text that refuses a result because of a failed check; '' if all passed."""
    failed = [result for result in results if not result.has_passed]
    if not failed:
        return ""
    shown = "\n\n".join(_failure(one, config) for one in failed)
    passed = len(results) - len(failed)
    return (
        f"[not published] {len(failed)} of {len(results)} checks of this node failed"
        f"{f', {passed} passed' if passed else ''}. They run in your folder; fix what they found "
        f"and publish again. If a check is wrong, write to the coordinator, which can change it; "
        f"or say so in `missing`: the result is then partial."
        f"\n\n{shown}"
    )


def in_words(results: Sequence[CheckResult], config: Config) -> str:
    """Return the result of each check as text, with the output of the checks that failed."""
    return "\n\n".join(
        f"passed: {one.command}" if one.has_passed else f"FAILED:\n{_failure(one, config)}"
        for one in results
    )


def _failure(result: CheckResult, config: Config) -> str:
    limits = CommandLimits.of(config.shell, config.shell.check_seconds)
    end = how_ended(result.exit_code, "it ran out of time", limits)
    return f"$ {result.command}\n{result.output.rstrip()}\n{end}"


async def require_syntax(checks: Sequence[str]) -> None:
    """Refuse checks that are not valid shell commands, with the error of `bash -n`."""
    for check in checks:
        process = await asyncio.create_subprocess_exec(
            *("bash", "-n", "-c", check),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        _, said = await process.communicate()
        if process.returncode:
            reason = said.decode("utf-8", "replace").strip()[:KEPT_OUTPUT]
            raise InvalidInput(f"the check `{check[:200]}` is not valid shell: {reason}")


def evidence_of(results: Sequence[CheckResult], published: Path, now: float) -> Evidence:
    """Return the evidence of a published result; it reads all its files, so call it in a thread."""
    files = (path for path, _ in files_below(published))
    sums = {path.as_posix(): _sha256(published / path) for path in files}
    lines = "".join(f"{digest}  {path}\n" for path, digest in sums.items())
    return Evidence(
        checks=tuple(results),
        artifacts={spelled(path): digest for path, digest in list(sums.items())[:ARTIFACTS_NAMED]},
        digest=hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest(),
        at=now,
    )


def _sha256(file: Path) -> str:
    with os.fdopen(open_file(file), "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
