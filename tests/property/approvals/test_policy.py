"""Properties of a policy: first match wins, rules behind it change nothing, always is narrow."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.approvals.policy import Policy, Rule, Who, remembers
from agiraph.models import Deed

TOOLS = st.sampled_from(["bash", "write_file", "read_file", "stage", "spend"])
WORDS = st.text("ab*?[]. /\n", max_size=6)
RULES = st.builds(
    Rule,
    action=st.sampled_from(["allow", "ask", "deny"]),
    tool=st.lists(st.sampled_from(["bash", "*_file", "*", "stage", "spend"]), min_size=1).map(
        tuple
    ),
    pattern=st.one_of(st.just("*"), WORDS),
    worker=st.sampled_from([("*",), ("ada",), ("b*", "coder")]),
    outside=st.booleans(),
    over_usd=st.one_of(st.none(), st.floats(0, 10)),
)
DEEDS = st.builds(Deed, tool=TOOLS, subject=WORDS)
WHO = st.builds(Who, st.sampled_from(["ada", "bob"]), st.sampled_from(["coder", ""]))
SPENT = st.floats(0, 20)


@settings(max_examples=150)
@given(st.lists(RULES, max_size=5).map(tuple), DEEDS, WHO, SPENT)
def test_the_first_rule_that_matches_alone_decides(
    rules: tuple[Rule, ...], deed: Deed, who: Who, spent: float
) -> None:
    ruling = Policy(rules).judge(deed, who, spent)
    alone = [Policy((rule,)).judge(deed, who, spent) for rule in rules]
    first = next((one for one in alone if one.rule is not None), None)
    if first is None:
        assert (ruling.action, ruling.rule) == ("allow", None)
    else:
        assert (ruling.action, ruling.rule) == (first.action, first.rule)


@settings(max_examples=100)
@given(st.lists(RULES, max_size=4).map(tuple), RULES, DEEDS, WHO, SPENT)
def test_a_rule_behind_one_that_matches_changes_nothing(
    rules: tuple[Rule, ...], last: Rule, deed: Deed, who: Who, spent: float
) -> None:
    before = Policy(rules).judge(deed, who, spent)
    after = Policy((*rules, last)).judge(deed, who, spent)
    assert before.rule is None or after == before


@settings(max_examples=100)
@given(st.lists(RULES, max_size=4).map(tuple), st.lists(DEEDS, min_size=1, max_size=3), WHO, SPENT)
def test_several_deeds_are_never_allowed_more_than_each_of_them(
    rules: tuple[Rule, ...], deeds: list[Deed], who: Who, spent: float
) -> None:
    order = ("deny", "ask", "allow")
    together = Policy(rules).judge_all(deeds, who, spent)
    alone = [Policy(rules).judge(deed, who, spent).action for deed in deeds]
    assert order.index(together.action) == min(order.index(action) for action in alone)


@settings(max_examples=150)
@given(RULES, DEEDS, DEEDS)
def test_what_is_remembered_covers_the_deed_and_no_other_tool(
    rule: Rule, deed: Deed, other: Deed
) -> None:
    plain = rule.model_copy(update={"remember": ""})
    about = Policy((plain.model_copy(update={"tool": (deed.tool,)}),)).judge(deed, Who("ada")).about
    assert remembers(about, deed)
    if other.tool != deed.tool or (deed.tool != "stage" and other.subject != deed.subject):
        assert not remembers(about, other)
