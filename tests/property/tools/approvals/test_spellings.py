"""Any two spellings of one thing get the same judgement from a rule that asks or denies."""

from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.tools.approvals.policy import (
    ActingEntity,
    ApprovalPolicy,
    ApprovalRule,
    actions_of_call,
)
from agiraph.tools.approvals.spellings import KnownNames, canonical_url
from agiraph.tools.scopes.scope import Scope
from tests.unit.tools.scopes.home_layout import MINE, OTHER, build

ADA, NAMES = ActingEntity("ada"), KnownNames("ada")


def is_denied(
    tool: str, pattern: str, arguments: dict[str, str], known: KnownNames = NAMES
) -> bool:
    policy = ApprovalPolicy((ApprovalRule(tool=(tool,), pattern=pattern, action="deny"),))
    return policy.judge_all(actions_of_call(tool, arguments, known), ADA).action == "deny"


# --- addresses -----------------------------------------------------------------------------------

HOSTS = (
    (
        "evil.example",
        "EVIL.Example",
        "evil.example.",
        "e%76il.example",
        "evil。example",
        "ｅvil.example",
    ),
    ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7F.1", "127.0.0.1."),
    ("xn--bcher-kva.example", "bücher.example", "BÜCHER.example", "bu\u0308cher.example"),
    ("[::1]", "[0:0:0:0:0:0:0:1]", "[0::1]"),
)
PATHS = ("priv/a-b.html", "priv/%C3%A9", "priv/x~y")


@st.composite
def addresses(draw: st.DrawFn, host: tuple[str, ...], path: str) -> str:
    """Draw a spelling of one address."""
    scheme = draw(st.sampled_from(["http", "HTTP", "Http"]))
    user = draw(st.sampled_from(["", "ada@", "a:b@"]))
    port = draw(st.sampled_from(["", ":80", ":080", ":"]))
    written = "".join(
        draw(st.sampled_from([one, f"%{ord(one):02x}", f"%{ord(one):02X}"]))
        if one.isascii() and one.isalnum() and not path.startswith("%")
        else one
        for one in path.replace("%C3%A9", "é")
    ).replace("é", draw(st.sampled_from(["%C3%A9", "%c3%a9"])))
    before = draw(st.sampled_from(["", "", "./", "x/../", "%2e/", "/", "//", "../"]))
    after = draw(st.sampled_from(["", "#top"]))
    space = draw(st.sampled_from(["", " ", "\t"]))
    return f"{space}{scheme}://{user}{draw(st.sampled_from(host))}{port}/{before}{written}{after}{space}"


@given(st.data(), st.sampled_from(HOSTS), st.sampled_from(PATHS))
def test_rule_on_a_url_matches_every_spelling_of_it(
    data: st.DataObject, host: tuple[str, ...], path: str
) -> None:
    pattern = f"http://{host[0]}/{path}".replace("[", "[[]")
    url = data.draw(addresses(host, path))
    assert is_denied("web_fetch", pattern, {"url": url}), url
    assert is_denied("web_fetch", f"*{host[0]}*".replace("[", "[[]"), {"url": url}), url
    assert not is_denied("web_fetch", "http://good.example/*", {"url": url})
    assert not is_denied("web_fetch", pattern, {"url": f"http://{host[0]}/other"})


@given(st.data(), st.sampled_from(HOSTS[:3]), st.sampled_from(PATHS))
def test_a_rule_may_be_written_in_any_spelling_of_an_address(
    data: st.DataObject, host: tuple[str, ...], path: str
) -> None:
    pattern = data.draw(
        addresses(host, path).filter(lambda url: ".." not in url and "//" not in url[8:])
    )
    url = f"http://{host[0]}/{path}"
    assert is_denied("web_fetch", pattern.strip(), {"url": url}), pattern
    assert is_denied("web_fetch", "*" + pattern.strip().partition("://")[2] + "*", {"url": url})


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_has_a_canonical_form_that_stays(host: str, path: str) -> None:
    for text in (
        host,
        f"{host}/{path}",
        f"http://{host}/{path}",
        f"http://h.example/{quote(path)}",
    ):
        once = canonical_url(text)
        assert canonical_url(once) == once


@given(st.sampled_from(["/../priv/x", "/%2e%2e/priv/x", "/a/../../priv/x", "/./../priv/x"]))
def test_a_rule_that_allows_sees_the_page_that_is_fetched(path: str) -> None:
    rules = (
        ApprovalRule(tool=("web_fetch",), pattern="https://docs.example/pub/*", action="allow"),
        ApprovalRule(tool=("web_fetch",), action="deny"),
    )
    for url, action in ((f"https://docs.example/pub{path}", "deny"),
                        ("HTTPS://Docs.Example:443/pub/%78", "allow")):  # fmt: skip
        actions = actions_of_call("web_fetch", {"url": url})
        assert ApprovalPolicy(rules).judge_all(actions, ADA).action == action


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scopes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scope, Scope]:
    layout = build(tmp_path_factory.mktemp("home").resolve())
    (layout.node.path / "scratch" / "link").symlink_to(layout.input_dir)
    (layout.node.path / "scratch" / "notes").mkdir()
    return layout.worker(), layout.coordinator()


def ways(scope: Scope, is_worker: bool) -> dict[str, list[str]]:
    """Return, for each file, the ways in which an entity may write it."""
    folder = scope.input_dir
    found = {
        "input": [
            "input/secret",
            f"{folder}/secret",
            "input//secret",
            f"/proc/self/root{folder}/secret",
        ],
        "published": [
            f"nodes/{OTHER}/published/x",
            f"./nodes/{OTHER}/published/x",
        ],
    }
    if is_worker:
        found["input"] += ["link/secret", "./link/secret"]
        found["scratch"] = ["../scratch/notes/x", "notes/x", f"nodes/{MINE}/scratch/notes/x",
                            "x/../../scratch/notes/x", "notes/../notes/./x"]  # fmt: skip
        found["own"] = ["notebook.md", "workers/ada-111111/notebook.md", "./notebook.md"]
    else:
        found["memory"] = ["memory/x.md", "./memory//x.md"]
        found["plan"] = ["_plan.md", "nodes/../_plan.md"]
    return found


@pytest.mark.parametrize("is_worker", [True, False])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "list_files"])
def test_rule_on_a_file_matches_every_path_to_it(
    scopes: tuple[Scope, Scope], tool: str, *, is_worker: bool
) -> None:
    scope = scopes[0 if is_worker else 1]
    known = KnownNames("ada", scope.names_of)
    for thing, names in ways(scope, is_worker).items():
        patterns = [
            one for one in names if "link" not in one and ".." not in one and "//" not in one
        ]
        patterns = [one for one in patterns if not one.startswith(("/proc", "./"))]
        for pattern in patterns:
            for name in names:
                assert is_denied(tool, pattern, {"path": name}, known), (thing, pattern, name)
        for name in names:
            assert not is_denied(tool, "elsewhere/*", {"path": name}, known), (thing, name)


@settings(max_examples=30)
@given(st.text(max_size=20))
def test_any_text_is_a_path_with_names(scopes: tuple[Scope, Scope], text: str) -> None:
    for scope in scopes:
        scope.names_of(text)
