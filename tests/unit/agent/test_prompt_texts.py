"""Prompt texts: every template is rendered with every combination of its options, and read."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from types import SimpleNamespace as Options
from typing import Any, Final

import pytest
from jinja2 import meta

from agiraph.agent.prompts import render, system_prompt, templates_in, with_article
from agiraph.settings.prompt_folder import shipped

Values = dict[str, tuple[Any, ...]]
EITHER: Final = (False, True)
NONE_OR_TWO: Final = ((), ("alpha", "beta"))
NODE: Final = tuple(
    Options(name="sums", checks=checks, failed_before=before)
    for checks, before in (((), ""), (("true", "false"), ""), (("true",), "it was stuck"))
)
WORKERS: Final = tuple(
    Options(name="ann", role=role, can_lead=leads)
    for role, leads in product(("analyst", "writer"), EITHER)
)
ROLE: Final = tuple(
    Options(title=title, responsibilities=duties)
    for title, duties in product(("", "Writer"), ("", "Writes the text."))
)
TEAM: Final = Options(
    roles={"lead": ROLE[0], "writer": ROLE[3]},
    lead_role="lead",
    max_turns=12,
    agent_of=lambda role: f"agent of {role}",
)
MODEL: Final = {
    "name": "a/b", "strength": None, "vision": None, "context": 9, "input": None, "output": None,
}  # fmt: skip
PRICED: Final = {
    "name": "a/c", "strength": "strong", "vision": True, "context": 9, "input": 1, "output": 2,
}  # fmt: skip
AGENTS: Final = tuple(
    (Options(name="codex", about="an agent", parameters=parameters),)
    for parameters in ({}, {"effort": ("low", "high"), "mode": ("fast",)})
)
FILES: Final = (Options(ref="a", name="x.md", text="one"), Options(ref="b", name="y.md", text="2"))
ASSIGNMENT: Final[Values] = {
    "node": NODE,
    "spec": ("Add it up.",),
    "schema": ("", '{"type": "object"}'),
    "notes": ("", "An earlier run found 7."),
    "today": ("", "2026-02-12"),
    "goal": ("Find the sum.",),
    "stage": ("", "Research"),
    "stage_goal": ("", "find all numbers"),
    "stage_brief": ("", "Prices are in euros."),
    "has_known_brief": (False, True),
    "team": ("ann, bob",),
    "shared_keys": ((), ("prices", "sellers")),
    "attempt": (1, 2),
    "worktree": (None, Options(branch="work/sums")),
}
SHORT: Final[Values] = {
    "input_dir": (None, "/data"),
    "guidance": ("", "### bash\n\nRun commands."),
    "today": ("2026-02-12",),
}
LEAD: Final[Values] = SHORT | {
    "agent": tuple(
        Options(name="shop", mode=mode, worker_model="a/b", worker_models=models)
        for mode, models in (("finite", ""), ("infinite", ""), ("finite", "<=5"))
    ),
    "max_concurrent": (4,),
    "memory": ("Remember this.",),
    "notes": ("", "An earlier run found 7."),
}
WORKER: Final[Values] = SHORT | {
    "worker": WORKERS,
    "identity": ("", "Likes numbers."),
    "agent_name": ("shop",),
}
OPTIONS: Final[Mapping[str, Values]] = {
    "assignment": ASSIGNMENT
    | {
        "refs": ((), (("a", "nodes/a", "`x.md` (9 bytes)"), ("b", "nodes/b", ""))),
        "turns": (7,),
        "today": ("2026-02-12",),
        "has_known_schema": EITHER,
        "has_known_goal": EITHER,
        "has_known_team": EITHER,
        "has_known_notes": EITHER,
    },
    "compacted": {},
    "coordinator": LEAD
    | {
        "soul": ("", "You are calm."),
        "rules": ("- Be exact.",),
        "skills": ("", "# Skills\n\n- one"),
        "goal": ("Find the sum.",),
        "models": ((), (MODEL, PRICED)),
        "agents": ((), *AGENTS),
        "limits": tuple(
            {"turns": 60, "minutes": "30", "calls": calls, "stage_minutes": minutes}
            for calls, minutes in ((None, None), (250, "45"))
        ),
    },
    "coordinator_short": LEAD,
    "cycle": {"cycle": (2,), "now": ("2026-02-12T09:00",), "goal": ("g",), "notes": ("n",)},
    "flush": {"tools": ("`write_file`",), "is_worker": EITHER},
    "known": {"memory": ("", "m"), "notebook": ("", "n"), "history": ("- sums: 7",)},
    "learned": {"node": ("sums",), "learned": ("Use bc.",)},
    "maintenance": {
        "turns": (6,), "reasons": (("long",), ("long", "old")), "logs": ((), ("a.md", "b.md")),
    },
    "outside": ASSIGNMENT
    | {
        "worker": WORKERS[:1],
        "refs": ((), (Options(name="a", path="/a"), Options(name="b", path="/b"))),
        "input_dir": (None, "/data"),
        "checks": NONE_OR_TWO,
        "calls": (None, 250),
        "known": ("", "The sum is 7."),
        "today": ("2026-02-12",),
        "node": NODE[:1],
    },
    "outside_again": {
        "why": ("", "time"), "messages": ((), ("[ann]: a", "[bob]: b")), "checkpoint": EITHER,
    },
    "planner": {"planning": ("static", "hybrid"), "max_nodes": (9,)},
    "reflect": {},
    "rules": {},
    "served_tools": {},
    "single": {key: WORKER[key] for key in ("worker", "identity", "agent_name", "today")},
    "single_assignment": ASSIGNMENT | {"refs": ((), FILES[:1], FILES), "node": NODE[:1]},
    "skills": {"skills": ("- one",)},
    "solo": {},
    "soul": {},
    "summarize": {},
    "role": {
        "named": ("lead", "writer"), "role": ROLE, "team": (TEAM,), "can_act": EITHER,
        "earlier": ((), (Options(task="a", output="b"), Options(task="c", output="d"))),
    },
    "role_turn": {
        "named": ("lead",), "number": (1,), "most": (9,), "about": ("", "You are Lead."),
        "said": NONE_OR_TWO, "files": NONE_OR_TWO,
        "window": ((), (Options(turn=1, from_role="a", to_role="b", message="m"),) * 2),
        "incoming": (None, Options(from_role="a", message="m")),
    },
    "worker": WORKER
    | {"rules": ("- Be exact.",), "skills": ("", "# Skills"), "has_leader": EITHER},
    "worker_short": WORKER,
}  # fmt: skip
WRONG: Final = {
    "three line breaks in a row": re.compile(r"\n{3}"),
    "a space at the end of a line": re.compile(r"[ \t]\n"),
    "two spaces in a sentence": re.compile(r"[a-z.,:;)`] {2,}\S"),
    "a wrong article": re.compile(r"[Aa] analyst|[Aa]n writer"),
    "an unfilled placeholder": re.compile(r"[{]{2}|[{]%|%[}]|None|Undefined|namespace[(]"),
    "a space before a full stop": re.compile(r" [.,;]\s"),
    "an empty pair of signs": re.compile(r"\(\)|[^`]``[^`]"),
    "a list without a space above": re.compile(r"^[^-\n|`#].*[^:\n]\n- ", re.MULTILINE),
    "a heading without a space above": re.compile(r"[^\n]\n#+ \S"),
    "a heading without a text": re.compile(r"\n(##+) [^\n]*\n\n\1 "),
    "a colon or comma at the end": re.compile(r"[,:;]\Z"),
}


def combinations(options: Values) -> Iterator[dict[str, Any]]:
    for chosen in product(*options.values()):
        yield dict(zip(options, chosen, strict=True))


def values_of(name: str) -> set[str]:
    text = (shipped() / f"{name}.md").read_text("utf-8")
    return meta.find_undeclared_variables(templates_in(()).parse(text))


def faults_in(text: str) -> list[str]:
    return [name for name, wrong in WRONG.items() if wrong.search(text)]


def test_every_template_has_its_options_listed_here() -> None:
    names = {path.stem for path in shipped().glob("*.md")}
    assert names == set(OPTIONS)
    for name, options in OPTIONS.items():
        assert values_of(name) <= set(options), f"{name}.md uses values without options"


@pytest.mark.parametrize("name", OPTIONS)
def test_template_is_well_formed_with_every_combination_of_its_options(name: str) -> None:
    used = values_of(name)
    options = {key: values for key, values in OPTIONS[name].items() if key in used}
    for chosen in combinations(options):
        shown = render(name, **chosen)
        assert not faults_in(shown), f"{chosen}:\n{shown}"


def test_runbook_of_every_tool_is_well_formed() -> None:
    for path in (shipped() / "tools").glob("*.md"):
        text = path.read_text("utf-8").strip()
        assert not faults_in(text), f"{path.name}: {faults_in(text)}"


def test_system_prompt_separates_its_list_of_skills() -> None:
    options = {key: found[-1] for key, found in OPTIONS["worker"].items() if key != "rules"}
    for skills in ("", "- one"):
        shown = system_prompt("worker", **options | {"skills": skills})
        assert ("# Skills and guides" in shown) == bool(skills)
        assert not faults_in(shown), shown


@pytest.mark.parametrize(
    ("noun", "shown"),
    [
        ("analyst", "an analyst"),
        ("Engineer", "an Engineer"),
        ("unit tester", "a unit tester"),
        ("UX designer", "a UX designer"),
        ("underwriter", "an underwriter"),
        ("writer", "a writer"),
    ],
)
def test_article_follows_the_sound_of_a_role(noun: str, shown: str) -> None:
    assert with_article(noun) == shown
