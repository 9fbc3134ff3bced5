"""After any changes of a home's keys, each secret is accepted exactly as long as it should be.

The model is a table of secrets, each with its scope and the time at which it ends. Every step may
be followed by a kill: the keys are read from disk again.
"""

import math
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agiraph.api.auth.credential_store import CredentialStore
from agiraph.http.api import ApiError, CreateTokenRequest
from agiraph.http.api.access import SCOPES, Scope
from agiraph.storage.home import Home
from tests.fakes.fake_runtime import SilentLog
from tests.unit.api.manual_clock import ManualClock

NAMES = ("ci", "wall", "phone")
SCOPE = st.sampled_from(SCOPES)


@dataclass
class Secret:
    """A secret that was shown once; `ends` is infinite if it does not expire."""

    text: str
    owner: str
    scope: Scope
    ends: float
    is_cookie: bool = False


class CredentialsMachine(RuleBasedStateMachine):
    """Adds, rotates and revokes tokens, logs in and out, lets time pass, and crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.home = Home(self.folder)
        self.clock = ManualClock()
        self.log = SilentLog()
        self.keys = CredentialStore(self.home, self.clock, self.log)
        self.secrets = [Secret(self._own(), "home", "control", math.inf)]
        self.codes: dict[str, tuple[str, Scope, float]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def _own(self) -> str:
        return self.home.system.token.read_text().strip()

    def _alive(self, name: str) -> list[Secret]:
        return [
            one
            for one in self.secrets
            if one.owner == name and not one.is_cookie and one.ends > self.clock.time
        ]

    @rule(name=st.sampled_from(NAMES), scope=SCOPE, lasts=st.none() | st.integers(1, 100))
    def add(self, name: str, scope: Scope, lasts: int | None) -> None:
        wanted = CreateTokenRequest(name=name, scope=scope, expires_in_seconds=lasts)
        status = [one.status(self.clock.time) for one in self.keys.tokens() if one.name == name]
        try:
            text = self.keys.add(wanted, "home")[1]
        except ApiError:
            assert status == ["active"]
            return
        assert status != ["active"]
        ends = self.clock.time + lasts if lasts else math.inf
        self.secrets.append(Secret(text, name, scope, ends))

    @rule(name=st.sampled_from((*NAMES, "home")), grace=st.sampled_from((0, 5, 50)))
    def rotate(self, name: str, grace: int) -> None:
        alive = self._alive(name)
        try:
            text = self.keys.rotate(name, grace)[1]
        except ApiError:
            assert not alive or name != "home"
            assert all(one.ends <= self.clock.time for one in alive)
            return
        newest = alive[-1]
        until = self.clock.time + grace
        for one in alive[:-1]:
            one.ends = self.clock.time  # only the secret before the newest has a grace
        self.secrets.append(Secret(text or self._own(), name, newest.scope, newest.ends))
        newest.ends = min(newest.ends, until)

    @rule(name=st.sampled_from(NAMES))
    def revoke(self, name: str) -> None:
        try:
            self.keys.revoke(name)
        except ApiError:
            assert not self._alive(name)
            return
        if not self._alive(name):
            return  # it was revoked before
        for one in self.secrets:
            if one.owner == name:
                one.ends = min(one.ends, self.clock.time)
        self.codes = {code: kept for code, kept in self.codes.items() if kept[0] != name}

    @rule(by=st.sampled_from((*NAMES, "home")), scope=SCOPE)
    def create_login_link(self, by: str, scope: Scope) -> None:
        code = self.keys.create_login_link(scope, by, 30, 60)[1]
        self.codes[code] = (by, scope, self.clock.time + 30)

    @precondition(lambda self: self.codes)
    @rule(data=st.data())
    def enter(self, data: st.DataObject) -> None:
        code = data.draw(st.sampled_from([*self.codes]))  # in their order: they are random
        by, scope, ends = self.codes.pop(code)
        try:
            text = self.keys.enter(code, "")[1]
        except ApiError:
            assert ends <= self.clock.time or len(self.keys.credentials.links) >= 19
        else:
            assert ends > self.clock.time
            self.secrets.append(Secret(text, by, scope, self.clock.time + 60, is_cookie=True))
        for _ in range(2):
            try:
                self.keys.enter(code, "")
            except ApiError:
                continue
            raise AssertionError("a link opened twice")

    @rule(seconds=st.sampled_from((1, 10, 40)))
    def wait(self, seconds: int) -> None:
        self.clock.time += seconds

    @rule()
    def die(self) -> None:
        self.keys = CredentialStore(self.home, self.clock, self.log)

    @invariant()
    def secrets_are_valid_until_their_end(self) -> None:
        for one in self.secrets:
            try:
                caller = self.keys.caller(one.text, is_cookie=one.is_cookie)
            except ApiError:
                assert one.ends <= self.clock.time, one
                continue
            assert one.ends > self.clock.time, one
            assert (caller.name, caller.scope) == (one.owner, one.scope)

    @invariant()
    def no_secret_is_stored(self) -> None:
        book = self.home.human.tokens
        text = book.read_text() if book.exists() else ""
        assert not any(one.text in text for one in self.secrets)
        assert not self.log.lines


TestCredentials = CredentialsMachine.TestCase
TestCredentials.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
