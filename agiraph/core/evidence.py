"""Evidence: what shows that a result is what was asked for: checks that were run, and hashes.

Checks are shell commands that a node's spec names. `publish` runs them in the node's `scratch/`,
and a result that one of them fails is not published.
"""

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record

MOST_CHECKS = 20
LONGEST_CHECK = 4000
ARTIFACTS_NAMED = 100
PASSED = 0


class CheckResult(Record):
    """How one check ended. `exit_code` None: its time ran out; `output` is the end of what it said.

    `is_walled`: whether it ran behind the sandbox's wall.
    """

    command: str
    exit_code: int | None
    output: str = ""
    is_walled: bool = False

    @property
    def has_passed(self) -> bool:
        """Whether the result is as this check wants it."""
        return self.exit_code == PASSED


class Evidence(Record):
    """The checks of a published result, and the SHA-256 of what is in `published/`.

    `artifacts` are hexadecimal sums by relative path, the first `ARTIFACTS_NAMED` of them; `digest`
    is the sum over all of them: of the lines `{sum}  {path}` in the order of the paths, as
    `sha256sum` writes and reads them. `at` is when the checks had passed.
    """

    checks: tuple[CheckResult, ...] = ()
    artifacts: dict[str, str] = Field(default_factory=dict)
    digest: str = ""
    at: float = 0.0


def normal_checks(checks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the checks of a node, stripped; InvalidInput for too many or what is no command."""
    kept = tuple(stripped for check in checks if (stripped := check.strip()))
    if len(kept) > MOST_CHECKS:
        raise InvalidInput(f"a node may have {MOST_CHECKS} checks, not {len(kept)}; join some: &&")
    for check in kept:
        if len(check) > LONGEST_CHECK:
            raise InvalidInput(
                f"a check is a command of at most {LONGEST_CHECK} characters, not {len(check)}: "
                f"{check[:60]} ..."
            )
        if "\0" in check:
            raise InvalidInput(f"a check cannot hold a NUL character: {check[:60]!r}")
    return kept
