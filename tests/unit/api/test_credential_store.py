"""Tokens, links and browser logins: permissions, expiry, and their form on disk."""

import json
import stat
from pathlib import Path

import pytest

from agiraph.api.auth import credential_store as keys_module
from agiraph.api.auth.credential_store import CredentialStore
from agiraph.api.auth.credentials import KEEP_SECONDS, MOST_LINKS
from agiraph.http.api import ApiError, CreateTokenRequest
from agiraph.storage.home import Home
from agiraph.storage.walk import UnsafeFile
from tests.fakes.fake_runtime import SilentLog
from tests.fakes.irregular_files import UNREADABLE
from tests.unit.api.manual_clock import ManualClock

DAY = 86400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def opened(home: Home, clock: ManualClock) -> CredentialStore:
    return CredentialStore(home, clock, SilentLog())


@pytest.fixture
def keys(home: Home, clock: ManualClock) -> CredentialStore:
    return opened(home, clock)


def refusal(keys: CredentialStore, secret: str, *, is_cookie: bool = False) -> str:
    with pytest.raises(ApiError) as refused:
        keys.caller(secret, is_cookie=is_cookie)
    assert refused.value.status == 401
    assert not secret or secret not in refused.value.detail
    return refused.value.detail


def test_the_homes_own_token_may_do_everything(keys: CredentialStore, home: Home) -> None:
    caller = keys.caller(home.system.token.read_text().strip())
    assert (caller.name, caller.scope) == ("home", "control")
    for wrong in ("", "x", "ä", "\udcff", home.system.token.read_text()[:-2]):
        assert "needs a token" in refusal(keys, wrong)


def test_a_named_token_opens_at_once_and_after_a_restart(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci", scope="talk"), "home")
    for ring in (keys, opened(home, clock)):
        caller = ring.caller(secret)
        assert (caller.name, caller.scope) == ("ci", "talk")
        assert caller.may("read")
        assert not caller.may("control")


def test_tokens_are_stored_as_digests_in_a_private_file(keys: CredentialStore, home: Home) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci"), "home")
    _, code = keys.create_login_link("read", "home", 60, DAY)
    _, cookie = keys.enter(code, "Firefox")
    text = home.human.tokens.read_text()
    for hidden in (secret, code, cookie, home.system.token.read_text().strip()):
        assert hidden not in text
    assert stat.S_IMODE(home.human.tokens.stat().st_mode) == 0o600


def test_a_link_for_one_user_of_the_machine_serves_no_other(keys: CredentialStore) -> None:
    for user in (1000, 0, None):
        _, code = keys.create_login_link("read", "home", 60, DAY, 1000)
        with pytest.raises(ApiError, match="for user 1000 of this machine alone"):
            keys.enter(code, "Firefox", 1001)
        assert keys.enter(code, "Firefox", user)
    _, code = keys.create_login_link("read", "home", 60, DAY)
    assert keys.enter(code, "Firefox", 1001)


def test_expired_token_is_refused_as_expired(keys: CredentialStore, clock: ManualClock) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci", expires_in_seconds=60), "home")
    clock.time += 59
    assert keys.caller(secret).expires_at == clock.time + 1
    clock.time += 1
    assert "'ci' expired at" in refusal(keys, secret)
    keys.add(CreateTokenRequest(name="ci"), "home")  # its name is free again
    assert "needs a token" in refusal(keys, secret)


def test_revoking_a_token_ends_its_logins_and_links(keys: CredentialStore) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci", scope="control"), "home")
    code = keys.create_login_link("control", "ci", 60, DAY)[1]
    mine = keys.enter(keys.create_login_link("control", "ci", 60, DAY)[1], "")[1]
    other = keys.enter(keys.create_login_link("read", "home", 60, DAY)[1], "")[1]
    keys.revoke("ci")
    assert "'ci' was revoked at" in refusal(keys, secret)
    refusal(keys, mine, is_cookie=True)
    with pytest.raises(ApiError):
        keys.enter(code, "")
    assert keys.caller(other, is_cookie=True).scope == "read"


def test_old_ended_tokens_are_removed(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    keys.add(CreateTokenRequest(name="old"), "home")
    keys.revoke("old")
    clock.time += KEEP_SECONDS + 1
    keys.add(CreateTokenRequest(name="new"), "home")
    assert [token.name for token in keys.tokens()] == ["home", "new"]
    assert "old" not in home.human.tokens.read_text()


def test_a_rotated_token_opens_beside_the_old_one_for_the_grace_alone(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    _, first = keys.add(CreateTokenRequest(name="ci", scope="talk"), "home")
    _, second = keys.rotate("ci", 600)
    assert second is not None
    for ring in (keys, opened(home, clock)):
        assert ring.caller(first).expires_at == clock.time + 600
        assert ring.caller(second).expires_at is None
    clock.time += 600
    assert "rotated" in refusal(keys, first)
    _, third = keys.rotate("ci", 0)
    assert third is not None
    refusal(keys, second)
    assert keys.caller(third).scope == "talk"


def test_the_homes_own_token_is_rotated_in_its_file(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    first = home.system.token.read_text().strip()
    token, shown = keys.rotate("home", 60)
    assert (token.name, token.scope, shown) == ("home", "control", None)
    second = home.system.token.read_text().strip()
    for ring in (keys, opened(home, clock)):
        assert ring.caller(second).name == "home"
        assert ring.caller(first).scope == "control"
    clock.time += 60
    refusal(keys, first)
    keys.rotate("home", 0)
    refusal(keys, second)
    assert [token.name for token in keys.tokens()] == ["home"]


@pytest.mark.parametrize(
    ("act", "status", "expected"),
    [
        (lambda keys: keys.rotate("nobody", 0), 404, "known: ci, home"),
        (lambda keys: keys.revoke("nobody"), 404, "known: ci, home"),
        (lambda keys: keys.revoke("home"), 409, "rotated, not revoked"),
        (lambda keys: keys.add(CreateTokenRequest(name="ci"), "home"), 409, "rotate or revoke"),
        (lambda keys: keys.add(CreateTokenRequest(name="home"), "home"), 409, "home's own"),
        (lambda keys: keys.end_login("x"), 404, "known: none"),
    ],
)
def test_invalid_request_is_refused_with_the_possible_values(
    keys: CredentialStore, act: object, status: int, expected: str
) -> None:
    keys.add(CreateTokenRequest(name="ci"), "home")
    with pytest.raises(ApiError, match=expected) as refused:
        act(keys)  # type: ignore[operator]
    assert refused.value.status == status


def test_a_login_link_opens_once(keys: CredentialStore, home: Home, clock: ManualClock) -> None:
    _, code = keys.create_login_link("talk", "home", 60, DAY)
    restarted = opened(home, clock)
    login, cookie = restarted.enter(code, "Firefox")
    for ring in (restarted, opened(home, clock)):
        with pytest.raises(ApiError, match="used already"):
            ring.enter(code, "Firefox")
        caller = ring.caller(cookie, is_cookie=True)
        assert (caller.name, caller.scope, caller.login) == ("home", "talk", login.id)


def test_a_login_link_that_is_too_old_opens_nothing(
    keys: CredentialStore, clock: ManualClock
) -> None:
    _, code = keys.create_login_link("talk", "home", 60, DAY)
    clock.time += 60
    with pytest.raises(ApiError, match="too old"):
        keys.enter(code, "")


def test_oldest_links_are_dropped_beyond_the_limit(keys: CredentialStore) -> None:
    codes = [keys.create_login_link("read", "home", 60, DAY)[1] for _ in range(MOST_LINKS + 1)]
    with pytest.raises(ApiError):
        keys.enter(codes[0], "")
    assert keys.enter(codes[1], "")


def test_login_ends_at_its_expiry_or_on_request(keys: CredentialStore, clock: ManualClock) -> None:
    _, one = keys.enter(keys.create_login_link("read", "home", 60, DAY)[1], "")
    login, two = keys.enter(keys.create_login_link("read", "home", 60, 2 * DAY)[1], "")
    clock.time += DAY
    assert "log in again" in refusal(keys, one, is_cookie=True)
    assert [known.id for known in keys.logins()] == [login.id]
    keys.end_login(login.id)
    refusal(keys, two, is_cookie=True)
    assert keys.logins() == []


def test_cookie_and_token_are_not_interchangeable(keys: CredentialStore, home: Home) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci"), "home")
    _, cookie = keys.enter(keys.create_login_link("read", "home", 60, DAY)[1], "")
    refusal(keys, cookie)
    refusal(keys, secret, is_cookie=True)
    refusal(keys, home.system.token.read_text().strip(), is_cookie=True)


def test_a_change_that_cannot_be_written_does_not_count(
    keys: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = keys.add(CreateTokenRequest(name="ci"), "home")

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keys_module, "write_private", full)
    with pytest.raises(OSError, match="No space"):
        keys.revoke("ci")
    assert keys.caller(secret).name == "ci"


def test_a_call_made_again_after_a_death_makes_one_token_with_a_secret(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    _, lost = keys.add(CreateTokenRequest(name="ci"), "home", "call-1")
    restarted = opened(home, clock)
    _, told = restarted.add(CreateTokenRequest(name="ci"), "home", "call-1")
    refusal(restarted, lost)
    assert restarted.caller(told).name == "ci"
    with pytest.raises(ApiError, match="rotate or revoke"):
        restarted.add(CreateTokenRequest(name="ci"), "home", "call-2")


def test_a_rotation_made_again_after_a_death_keeps_the_grace_of_the_one_before(
    keys: CredentialStore, home: Home, clock: ManualClock
) -> None:
    _, first = keys.add(CreateTokenRequest(name="ci"), "home", "call-1")
    _, lost = keys.rotate("ci", 60, "call-2")
    assert lost is not None
    restarted = opened(home, clock)
    _, told = restarted.rotate("ci", 60, "call-2")
    assert told is not None
    assert restarted.caller(first).expires_at == clock.time + 60
    assert restarted.caller(told).expires_at is None
    refusal(restarted, lost)


def test_a_rotation_of_the_homes_own_made_again_changes_nothing_more(
    keys: CredentialStore, home: Home, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = home.system.token.read_text().strip()

    def die(path: Path) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keys_module, "renew_token", die)  # between the book and the token's file
        with pytest.raises(KeyboardInterrupt):
            keys.rotate("home", 60, "call-1")
    restarted = opened(home, clock)
    assert restarted.caller(first).name == "home"
    restarted.rotate("home", 60, "call-1")
    second = home.system.token.read_text().strip()
    assert second != first
    again = opened(home, clock)
    again.rotate("home", 60, "call-1")
    assert home.system.token.read_text().strip() == second
    assert again.caller(first).expires_at == clock.time + 60


def test_a_token_that_was_revoked_can_be_revoked_again(
    keys: CredentialStore, clock: ManualClock
) -> None:
    keys.add(CreateTokenRequest(name="ci"), "home")
    first = keys.revoke("ci")
    clock.time += 5
    assert keys.revoke("ci") == first


def test_empty_token_file_ends_every_token_but_the_home_token(
    home: Home, clock: ManualClock
) -> None:
    _, secret = opened(home, clock).add(CreateTokenRequest(name="ci"), "home")
    whole = home.human.tokens.read_text()
    for damaged in (whole[:-9], "[]", '{"tokens": 3}'):
        home.human.tokens.write_text(damaged)
        log = SilentLog()
        keys = CredentialStore(home, clock, log)
        refusal(keys, secret)
        assert keys.caller(home.system.token.read_text().strip()).name == "home"
        assert "void" in log.lines[0]
        assert not home.human.tokens.exists()
        clock.time += 1
    assert len(list(home.human.path.glob("tokens.json.corrupt-*"))) == 3


def test_a_newer_file_with_more_fields_still_opens(home: Home, clock: ManualClock) -> None:
    _, secret = opened(home, clock).add(CreateTokenRequest(name="ci"), "home")
    book = json.loads(home.human.tokens.read_text())
    book["tokens"][0]["colour"] = "red"
    home.human.tokens.write_text(json.dumps(book | {"more": 1}))
    assert opened(home, clock).caller(secret).name == "ci"


def test_two_homes_have_two_cookies(tmp_path: Path, clock: ManualClock) -> None:
    names = {opened(Home(tmp_path / name), clock).cookie for name in ("a", "b")}
    assert len(names) == 2


@pytest.mark.parametrize("kind", UNREADABLE)
def test_running_gateway_replaces_an_irregular_token_file(
    keys: CredentialStore, home: Home, kind: str
) -> None:
    token = home.system.token.read_text()
    home.system.token.unlink()
    UNREADABLE[kind](home.system.token)
    keys.keep_home_token()
    assert not home.system.token.is_symlink()
    assert home.system.token.read_text() == token
    assert stat.S_IMODE(home.system.token.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("name", ["system/token", "human/tokens.json"])
def test_irregular_token_files_are_named(
    home: Home, clock: ManualClock, name: str, kind: str
) -> None:
    path = home.path / name
    path.parent.mkdir()
    UNREADABLE[kind](path)
    with pytest.raises(UnsafeFile, match=f"^{path} "):
        opened(home, clock)
