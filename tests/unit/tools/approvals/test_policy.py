"""The deciding rule, the input of a rule, and the scope of "allow always"."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.models import ProposedAction
from agiraph.settings.config import configs_folder
from agiraph.tools.approvals.policy import (
    FURTHER_PATHS,
    SPEND,
    STAGE,
    ActingEntity,
    ApprovalPolicy,
    ApprovalRule,
    SpelledAction,
    actions_of_call,
    names_outside,
    remembers,
    subject_of,
)
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile, policy_file, read_policy
from agiraph.tools.approvals.spellings import SEARCHED
from agiraph.tools.approvals.wording import parse_verdict, question_in_words

TOOLS = ("bash", "write_file", "read_file")
ADA = ActingEntity("ada", "coder", ("/home/run/nodes/a", "/data"))


def bash(command: str) -> ProposedAction:
    return ProposedAction(tool="bash", subject=command)


def test_a_rule_can_be_about_commands_without_a_sandbox_alone() -> None:
    rule = ApprovalRule(action="ask", tool=("bash",), sandboxed=False)
    act = ProposedAction(tool="bash", subject="make")
    assert ApprovalPolicy((rule,)).judge(act, ActingEntity("ada")).action == "ask"
    assert (
        ApprovalPolicy((rule,)).judge(act, ActingEntity("ada", is_sandboxed=True)).action == "allow"
    )


def test_the_first_rule_that_matches_decides() -> None:
    policy = ApprovalPolicy(
        (
            ApprovalRule(action="allow", tool=("bash",), pattern="git status*"),
            ApprovalRule(action="deny", tool=("bash",), pattern="git push --force*"),
            ApprovalRule(action="ask", tool=("bash",), pattern="git *"),
        )
    )
    actions = {
        command: policy.judge(bash(command), ADA).action
        for command in ("git status -s", "git push --force", "git push", "ls")
    }
    assert actions == {
        "git status -s": "allow",
        "git push --force": "deny",
        "git push": "ask",
        "ls": "allow",
    }


def test_rule_matches_the_acting_worker_by_name_or_role() -> None:
    policy = ApprovalPolicy((ApprovalRule(action="ask", worker=("intern*", "Coder")),))
    assert policy.judge(bash("ls"), ADA).action == "ask"
    assert policy.judge(bash("ls"), ActingEntity("interna")).action == "ask"
    assert policy.judge(bash("ls"), ActingEntity("bob", "writer")).action == "allow"


def test_stage_and_spend_have_to_be_named() -> None:
    every = ApprovalPolicy((ApprovalRule(action="deny"),))
    assert every.judge(ProposedAction(tool=STAGE, subject="Research"), ADA).action == "allow"
    named = ApprovalPolicy((ApprovalRule(action="ask", tool=(SPEND,), over_usd=5.0),))
    assert named.judge(ProposedAction(tool=SPEND), ADA, 5.0).action == "allow"
    assert named.judge(ProposedAction(tool=SPEND), ADA, 5.01).action == "ask"
    assert named.needs_spent([SpelledAction(ProposedAction(tool=SPEND))])
    assert not named.needs_spent([SpelledAction(bash("ls"))])


def test_strictest_ruling_of_several_actions_counts() -> None:
    policy = ApprovalPolicy(
        (
            ApprovalRule(action="ask", tool=(STAGE,)),
            ApprovalRule(action="deny", tool=("launch_roles",)),
        )
    )
    deeds = [
        ProposedAction(tool="launch_roles", subject="{}"),
        ProposedAction(tool=STAGE, subject="Research"),
    ]
    assert policy.judge_all([*map(SpelledAction, deeds)], ADA).action == "deny"
    assert policy.judge_all([*map(SpelledAction, deeds[1:])], ADA).action == "ask"


@pytest.mark.parametrize(
    ("command", "is_outside"),
    [
        ("ls -la", False),
        ("cat notes/a.md > b.md", False),
        ("cat /data/table.csv 2>/dev/null", False),
        ("cat /etc/passwd", True),
        ("cat </etc/passwd", True),
        ("cd .. && ls", True),
        ("cat ../../secret", True),
        ("cat ~/.ssh/id_rsa", True),
        ("FILE=/etc/hosts sort", True),
        ("cat /database", True),
    ],
)
def test_a_command_that_names_a_path_outside_is_seen(command: str, is_outside: bool) -> None:
    assert names_outside(command, ADA.folders) == is_outside


def test_allow_always_covers_only_its_subject_by_default() -> None:
    odd = bash("rm [a]*?.txt")
    decision = ApprovalPolicy((ApprovalRule(action="ask", name="r"),)).judge(odd, ADA)
    assert remembers(decision.about, odd)
    assert not remembers(decision.about, bash("rm a1.txt"))
    assert not remembers(decision.about, ProposedAction(tool="write_file", subject=odd.subject))
    wider = ApprovalPolicy((ApprovalRule(action="ask", remember="rm *.txt"),)).judge(odd, ADA)
    assert remembers(wider.about, bash("rm a1.txt"))


def test_allow_always_covers_nothing_where_a_call_needs_further_approvals() -> None:
    rules = tuple(ApprovalRule(action="ask", tool=(tool,)) for tool in ("bash", "write_file"))
    policy = ApprovalPolicy(rules)
    both = [bash("make"), ProposedAction(tool="write_file", subject="a.txt")]
    alone = policy.judge_all([SpelledAction(both[0])], ADA)
    one_of_two = policy.judge_all([*map(SpelledAction, both)], ADA)
    assert (alone.action, one_of_two.action) == ("ask", "ask")
    assert remembers(alone.about, both[0])
    assert not remembers(one_of_two.about, both[0])
    assert "allows it once" in question_in_words(one_of_two)
    assert policy.asking(one_of_two.about, (ADA.name,)) == rules[0]


def test_an_unused_argument_hides_no_other_subject_of_a_served_tool_from_a_rule() -> None:
    rule = ApprovalRule(tool=("files__*",), pattern="*secret*", action="deny")
    policy = ApprovalPolicy((rule,))
    for more in ({}, {"command": "ls"}, {"query": "x", "name": "y"}):
        actions = actions_of_call("files__read", {"path": "/home/secret", **more})
        assert policy.judge_all(actions, ActingEntity("ada")).action == "deny"
    assert len(actions_of_call("spawn_worker", {"name": "a", "task": "b"})) == 1


@pytest.mark.parametrize(
    ("tool", "argument", "pattern", "texts"),
    [
        (
            *("write_file", "path", "vault/*"),
            ["vault/a", "./vault/a", "x/../vault/a", "scratch/../vault/a", "scratch/vault//a"],
        ),
        ("read_file", "path", "scratch/vault/*", ["vault/a", " ./scratch/vault/a"]),
        (
            *("web_fetch", "url", "*evil.example*"),
            [
                "http://EVIL.example/x",
                "evil\u3002example",
                "https://evil.example:8080",
                "Evil.example",
            ],
        ),
        ("web_fetch", "url", "https://evil.example/*", ["evil.example/x", "HTTPS://evil.example/"]),
        ("send_message", "to", "Human*", ["human", "HUMAN", " @human ", "*"]),
        ("send_message", "to", "bob", ["bob", "bob-8f2b48", "BOB-8F2B48", "@bob-8f2b48"]),
        ("read_file", "path", "secret.md", ["secret.md", "nodes/n1/scratch/secret.md"]),
        ("write_shared_value", "key", "plan*", ["plan-x", " plan-x", "\tplan-y", "\u00a0plan-z"]),
    ],
)
def test_a_rule_that_denies_sees_each_spelling_of_a_subject(
    tool: str, argument: str, pattern: str, texts: list[str]
) -> None:
    policy = ApprovalPolicy((ApprovalRule(tool=(tool,), pattern=pattern, action="deny"),))
    for text in texts:
        actions = actions_of_call(tool, {argument: text, "content": "x"})
        assert policy.judge_all(actions, ADA).action == "deny", text
    others = {"path": "notes/a", "url": "https://good.example/", "to": "ada", "key": "other"}
    actions = actions_of_call(tool, {argument: others[argument]})
    assert policy.judge_all(actions, ADA).action == "allow"


def test_allowing_rule_matches_the_resolved_path() -> None:
    rules = (
        ApprovalRule(tool=("write_file",), pattern="docs/*", action="allow"),
        ApprovalRule(tool=("write_file",), action="deny"),
    )
    policy = ApprovalPolicy(rules)
    for path, action in {"docs/a": "allow", "./docs/a": "allow", "docs/../vault/a": "deny"}.items():
        assert policy.judge_all(actions_of_call("write_file", {"path": path}), ADA).action == action


def denied(pattern: str, tool: str, arguments: dict[str, Any], allowed: str = "") -> bool:
    rules = [ApprovalRule(tool=(tool,), pattern=pattern, action="deny")]
    if allowed:
        rules.insert(0, ApprovalRule(tool=(tool,), pattern=allowed, action="allow"))
    return (
        ApprovalPolicy(tuple(rules)).judge_all(actions_of_call(tool, arguments), ADA).action
        == "deny"
    )


def test_url_of_another_scheme_is_matched_as_written() -> None:
    for url in ("postgres://ada@Data/shop", "s3://Data/a/../b", "mailto:ada@Data", "file:///Data"):
        assert denied("*Data*", "db__open", {"url": url})
        assert denied("*", "db__open", {"url": url}, allowed="*data*")
        assert not denied("*", "db__open", {"url": url}, allowed="*Data*")
    assert denied("*ada@*", "web_fetch", {"url": "https://ada@data.example/"})


def test_an_external_agents_further_arguments_hide_no_file_from_a_rule() -> None:
    for more in ({"command": "view"}, {"command": "docs/a"}, {"url": "docs/a", "task": "docs/a"}):
        assert denied("*", "write_file", {"path": "vault/a", **more}, allowed="docs/*"), more
        assert not denied("*", "write_file", {"path": "docs/a", **more}, allowed="docs/*"), more
    assert denied("*rm *", "bash", {"command": "rm x", "path": "ls", "query": "ls"}, allowed="ls")


def test_every_file_of_a_call_is_matched() -> None:
    moved = {"path": "docs/a", FURTHER_PATHS: ["docs/b", "vault/a"]}
    assert denied("vault/*", "write_file", moved)
    assert denied("*", "write_file", moved, allowed="docs/*")
    assert not denied("*", "write_file", moved | {FURTHER_PATHS: ["docs/b"]}, allowed="docs/*")


@pytest.mark.parametrize(
    ("pattern", "folder", "is_denied"),
    [
        ("input/secret*", "input", True),
        ("secret*", ".", True),
        ("input/secret*", ".", False),
        ("input/secret*", "input/", True),
        ("input/secret*", "INPUT", True),
        ("input/secret/*", "input/secret/deep", True),
        ("*.pem", "input/docs", True),
        ("input/secret*", "input/docs", False),
        ("input/secret*", "in", False),
        ("input/docs/a.md", "input/docs/a", False),
    ],
)
def test_a_search_reads_every_file_below_its_folder(
    pattern: str, folder: str, *, is_denied: bool
) -> None:
    assert denied(pattern, "read_file", {SEARCHED: folder, "pattern": "x"}) is is_denied


@given(
    tool=st.sampled_from(
        ["read_file", "write_file", "web_fetch", "cancel_node", "schedule", "bash"]
    ),
    key=st.sampled_from(["path", "url", "to", "node_id", "command", "key", SEARCHED]),
    value=st.sampled_from(["docs/a", "docs", ".", "http://127.1/%70", "bob-1a2b3c", "@bob", " x "]),
    pattern=st.sampled_from(["*", "docs/*", "doc*a", "*127.0.0.1/p", "bob", "x", "*bob*"]),
)
def test_each_question_that_a_rule_asks_can_be_asked(
    tool: str, key: str, value: str, pattern: str
) -> None:
    """The gateway looks for the rule again, and knows only the question."""
    rule = ApprovalRule(name="r", tool=("*",), pattern=pattern, action="ask")
    named = rule.model_copy(update={"tool": ("*_file", "web_*", "cancel_*", "send_*", "bash")})
    for one in (rule, named):
        policy = ApprovalPolicy((one,))
        decision = policy.judge_all(actions_of_call(tool, {key: value}), ADA)
        if decision.action == "ask":
            assert policy.asking(decision.about, ("ada",)) == one


@pytest.mark.parametrize("value", [None, 3, "x", {}, [3, None, {}], [[]]])
def test_arguments_of_any_shape_are_accepted(value: object) -> None:
    for key in (FURTHER_PATHS, SEARCHED, "path", "command", "url"):
        assert actions_of_call("read_file", {key: value})


def test_subject_of_a_call_is_its_main_argument() -> None:
    assert subject_of({"timeout": 3, "command": "ls"}) == "ls"
    assert subject_of({"path": "a.md", "content": "x"}) == "a.md"
    assert subject_of({"b": 1, "a": [2]}) == '{"a": [2], "b": 1}'


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Allow once", "allow once"),
        ("yes", "allow once"),
        ("ALWAYS", "allow always"),
        ("deny: not on Fridays", "deny: not on Fridays"),
        ("No, use main", "deny: use main"),
        ("deny", "deny"),
    ],
)
def test_verdict_has_one_written_form(answer: str, text: str) -> None:
    assert parse_verdict(answer).text == text
    assert parse_verdict(text).text == text


def test_invalid_verdict_is_refused_with_the_possible_ones() -> None:
    with pytest.raises(InvalidInput, match="allow once, allow always, deny"):
        parse_verdict("maybe")


# --- the file ------------------------------------------------------------------------------------


def test_shipped_policy_has_no_rules_and_an_own_file_replaces_it(
    tmp_path: Path,
) -> None:
    assert read_policy(policy_file(tmp_path), TOOLS) == ApprovalPolicy()
    (tmp_path / "approvals.yaml").write_text("rules:\n  - {tool: bash, action: ask}\n")
    [rule] = read_policy(policy_file(tmp_path), TOOLS).rules
    assert (rule.name, rule.tool, rule.action) == ("rule 1", ("bash",), "ask")


def test_the_examples_of_the_shipped_file_can_be_used(tmp_path: Path) -> None:
    text = (configs_folder() / "approvals.yaml").read_text("utf-8")
    lines = [line[2:] for line in text.splitlines() if line.startswith("#   ")]
    examples = "\n".join(lines[lines.index("  rules:") :])
    (tmp_path / "approvals.yaml").write_text(examples)
    policy = read_policy(tmp_path / "approvals.yaml", TOOLS)
    assert len(policy.rules) == 8
    assert policy.judge(bash("git push origin"), ADA).action == "ask"
    assert policy.judge(bash("sudo ls"), ADA).action == "deny"
    assert policy.judge(bash("cat /etc/passwd"), ADA).action == "ask"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a", ":1: expected `rules:`"),
        ("rules:\n  - {tool: bash, actoin: ask}", ":2: rule 1: unknown key 'actoin', did you mean"),
        ("rules:\n  - {tool: bash, action: maybe}", "'maybe' (possible: allow, ask, deny)"),
        ("rules:\n  - {action: ask}\n  - {name: n, tool: bsh, action: ask}", ":3: rule 2 ('n'): "),
        ("rules:\n  - {tool: bsh, action: ask}", "unknown tool 'bsh', did you mean 'bash'?"),
        ("rules:\n  - {tool: spend, action: ask}", "needs `over_usd`"),
        ("rules:\n  - {tool: bash, action: ask, over_usd: much}", "over_usd: must be a number"),
        ("rules:\n  - [", "is not YAML"),
        ("rules:\n  - bash", "expected keys and values"),
    ],
)
def test_error_in_the_policy_file_is_named(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "approvals.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as error:
        read_policy(file, TOOLS)
    assert str(error.value).startswith(str(file))
    assert expected in str(error.value)


def test_changed_policy_applies_at_once_and_a_broken_one_allows_nothing_more(
    tmp_path: Path,
) -> None:
    file = tmp_path / "approvals.yaml"
    policies = ApprovalPolicyFile(tmp_path, TOOLS)
    assert policies.current() == ApprovalPolicy()
    file.write_text("rules:\n  - {tool: bash, action: deny}\n")
    assert policies.current().judge(bash("ls"), ADA).action == "deny"
    file.write_text("rules:\n  - {tool: bash, action: dney}\n\n")
    assert policies.current().judge(bash("ls"), ADA).action == "deny"
    fresh = ApprovalPolicyFile(tmp_path, TOOLS)
    assert fresh.current().judge(bash("ls"), ADA).action == "ask"
