"""The roster resolves known names; it asks the coordinator once about an unknown name."""

from actors.entity.roster import Roster
from agiraph.core.ids import AgentId, WorkerId
from agiraph.core.models import TeamMember, TeamRoster

ADA = TeamMember(id=WorkerId("ada-1"), name="ada")
BOB = TeamMember(id=WorkerId("bob-2"), name="bob")


class Coordinator:
    """Knows ada and bob, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def roster(self) -> TeamRoster:
        self.asked += 1
        return TeamRoster(version=2, members=(ADA, BOB))


def roster_of(coordinator: Coordinator) -> Roster:
    roster = Roster(AgentId("shop"), coordinator.roster)
    roster.update(TeamRoster(version=1, members=(ADA,)))
    return roster


async def test_a_known_name_or_id_is_found_without_asking() -> None:
    coordinator = Coordinator()
    roster = roster_of(coordinator)
    for named in ("ada", "ada-1", "Ada"):
        assert await roster.find_anywhere(named) == "shop/ada-1"
    assert coordinator.asked == 0


async def test_unknown_name_is_requested_once_per_lookup() -> None:
    coordinator = Coordinator()
    roster = roster_of(coordinator)
    assert await roster.find_anywhere("bob") == "shop/bob-2"
    assert await roster.find_anywhere("bob") == "shop/bob-2"
    assert coordinator.asked == 1
    assert await roster.find_anywhere("carol") is None
    assert coordinator.asked == 2


async def test_roster_requests_all_members() -> None:
    roster = roster_of(Coordinator())
    assert [name for name, _ in await roster.everyone()] == ["ada", "bob"]


def test_older_roster_that_arrives_late_changes_nothing() -> None:
    roster = Roster(AgentId("shop"))
    roster.update(TeamRoster(version=7, members=(ADA, BOB)))
    roster.update(TeamRoster(version=3, members=(ADA,)))
    assert roster.names == ["ada", "bob"]
