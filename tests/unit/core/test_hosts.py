"""The invitation: a written invitation is read, and a damaged one is refused with its reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.hosts import INVITATION_PREFIX, Invitation, check_host_name, read_invitation

NOW = 1_000_000.0
INVITATION = Invitation(
    url="tcp://home.example:7400",
    server_key="K" * 40,
    id="7f3a",
    secret="S" * 40,
    name="north",
    expires_at=NOW + 60,
)
LINE = INVITATION.line()


@given(st.text(min_size=1), st.text())
def test_invitation_is_read_as_written(url: str, name: str) -> None:
    made = INVITATION.model_copy(update={"url": url, "name": name})
    assert read_invitation(made.line(), NOW) == made


def test_line_broken_by_a_terminal_is_accepted() -> None:
    assert read_invitation(f"  {LINE[:50]}\n  {LINE[50:]}\n", NOW) == INVITATION


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "'' is no invitation: `agiraph host invite` "),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", "is no invitation"),
        (f"{INVITATION_PREFIX}2:abc", "has version 2, this Agiraph reads version 1"),
        (f"{INVITATION_PREFIX}1:", "cut off or changed"),
        (f"{INVITATION_PREFIX}x:abc", "cut off or changed"),
        (LINE.replace("1:", "1:ä"), "cut off or changed"),
        (INVITATION.model_copy(update={"expires_at": NOW}).line(), "expired 0 s ago"),
    ],
)
def test_invalid_invitation_is_refused_with_the_reason(line: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        read_invitation(line, NOW)


def test_truncated_invitation_is_refused_as_truncated() -> None:
    for length in range(len(INVITATION_PREFIX) + 2, len(LINE)):
        with pytest.raises(InvalidInput, match="cut off or changed"):
            read_invitation(LINE[:length], NOW)


def test_a_host_has_a_plain_name_other_than_home() -> None:
    assert check_host_name("north-1") == "north-1"
    for name in ("", "-a", "A", "a/b", "..", "a" * 64, "home"):
        with pytest.raises(InvalidInput, match=f"'{name}' cannot be the name of a host"):
            check_host_name(name)
