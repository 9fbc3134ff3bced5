"""A policy: the first match wins, later rules change nothing, a permanent approval is narrow."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.models import ProposedAction
from agiraph.tools.approvals.policy import (
    ActingEntity,
    ApprovalPolicy,
    ApprovalRule,
    SpelledAction,
    remembers,
)

TOOLS = st.sampled_from(["bash", "write_file", "read_file", "stage", "spend"])
WORDS = st.text("ab*?[]. /\n", max_size=6)
RULES = st.builds(
    ApprovalRule,
    action=st.sampled_from(["allow", "ask", "deny"]),
    tool=st.lists(st.sampled_from(["bash", "*_file", "*", "stage", "spend"]), min_size=1).map(
        tuple
    ),
    pattern=st.one_of(st.just("*"), WORDS),
    worker=st.sampled_from([("*",), ("ada",), ("b*", "coder")]),
    outside=st.booleans(),
    over_usd=st.one_of(st.none(), st.floats(0, 10)),
)
ACTIONS = st.builds(ProposedAction, tool=TOOLS, subject=WORDS)
WHO = st.builds(ActingEntity, st.sampled_from(["ada", "bob"]), st.sampled_from(["coder", ""]))
SPENT = st.floats(0, 20)


@settings(max_examples=150)
@given(st.lists(RULES, max_size=5).map(tuple), ACTIONS, WHO, SPENT)
def test_the_first_rule_that_matches_alone_decides(
    rules: tuple[ApprovalRule, ...], act: ProposedAction, who: ActingEntity, spent: float
) -> None:
    decision = ApprovalPolicy(rules).judge(act, who, spent)
    alone = [ApprovalPolicy((rule,)).judge(act, who, spent) for rule in rules]
    first = next((one for one in alone if one.rule is not None), None)
    if first is None:
        assert (decision.action, decision.rule) == ("allow", None)
    else:
        assert (decision.action, decision.rule) == (first.action, first.rule)


@given(st.lists(RULES, max_size=4).map(tuple), RULES, ACTIONS, WHO, SPENT)
def test_rule_after_the_matching_one_changes_nothing(
    rules: tuple[ApprovalRule, ...],
    last: ApprovalRule,
    act: ProposedAction,
    who: ActingEntity,
    spent: float,
) -> None:
    before = ApprovalPolicy(rules).judge(act, who, spent)
    after = ApprovalPolicy((*rules, last)).judge(act, who, spent)
    assert before.rule is None or after == before


@given(
    st.lists(RULES, max_size=4).map(tuple), st.lists(ACTIONS, min_size=1, max_size=3), WHO, SPENT
)
def test_several_actions_are_ruled_like_the_strictest_of_them(
    rules: tuple[ApprovalRule, ...], deeds: list[ProposedAction], who: ActingEntity, spent: float
) -> None:
    order = ("deny", "ask", "allow")
    together = ApprovalPolicy(rules).judge_all([*map(SpelledAction, deeds)], who, spent)
    alone = [ApprovalPolicy(rules).judge(act, who, spent).action for act in deeds]
    assert order.index(together.action) == min(order.index(action) for action in alone)


@settings(max_examples=150)
@given(RULES, ACTIONS, ACTIONS)
def test_remembered_approval_covers_its_action_and_no_other_tool(
    rule: ApprovalRule, act: ProposedAction, other: ProposedAction
) -> None:
    plain = rule.model_copy(update={"remember": ""})
    about = (
        ApprovalPolicy((plain.model_copy(update={"tool": (act.tool,)}),))
        .judge(act, ActingEntity("ada"))
        .about
    )
    assert remembers(about, act)
    if other.tool != act.tool or (act.tool != "stage" and other.subject != act.subject):
        assert not remembers(about, other)
