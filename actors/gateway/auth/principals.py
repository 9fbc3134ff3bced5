"""Who calls: the key that was shown, and what it may do."""

from dataclasses import dataclass, field
from typing import Final

from agiraph.http.api import Scope
from agiraph.http.api.access import SCOPES


@dataclass(frozen=True, slots=True)
class Principal:
    """One who was let in. `name` is the token's; `session` the id of a browser's session.

    A session bears the name of the token by which its link was made.
    """

    name: str
    scope: Scope
    session: str | None = None
    expires_at: float | None = None
    calls_per_second: float | None = None
    digest: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """What this caller is counted under."""
        return f"session {self.session}" if self.session else f"token {self.name}"

    def may(self, needed: Scope) -> bool:
        """Whether this caller's scope covers the needed one."""
        return SCOPES.index(self.scope) >= SCOPES.index(needed)


STRANGER: Final = Principal("", "read")
"""Who has shown no key, where none is needed."""
