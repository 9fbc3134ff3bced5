"""Files for all: `shared/` of a run and the files of refs, in tools, commands and checks."""

from tests.fakes.model_server import call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, bash, finish, node, publish, spawn, write

CHECK = "python3 shared/count.py rows.csv && cmp rows.csv refs/up/rows.csv"
COUNT = "import sys\nprint(len(open(sys.argv[1]).readlines()), 'lines')\n"


def test_files_for_the_team_have_one_name_in_tools_commands_and_checks(
    live_home: LiveHome,
) -> None:
    up = call("create_work_node", name="up", worker="ann", task="Make rows")
    down = call(
        *("create_work_node",),
        name="down",
        worker="bea",
        task="Copy rows",
        refs={"up": "up"},
        checks=[CHECK],
    )
    live_home.plays(
        coordinator=[
            calls(spawn("ann"), spawn("bea"), write("shared/count.py", COUNT)),
            calls(up, down),
            WAIT,
            finish("done"),
        ],
        ann=[write("rows.csv", "a,b\n1,2\n"), publish("two lines")],
        bea=[
            calls(
                call("read_file", path="shared/count.py"),
                call("read_file", path="refs/up/rows.csv"),
                call("write_file", path="shared/count.py", content="x"),
                bash("python3 shared/count.py refs/up/rows.csv; cp refs/up/rows.csv ."),
            ),
            publish("the same lines"),
        ],
    )
    outcome = live_home.complete("Copy the rows", "--name", "shared-files")
    first, second = live_home.server.seen_by("bea")[:2]
    assert "refs/up: `rows.csv` (8 bytes)" in first.said
    assert second.results("read_file")[:2] == [COUNT, "a,b\n1,2\n"]
    assert "may not be written" in second.result("write_file")
    assert second.result("bash").startswith("2 lines\n")
    assert outcome.published("down") == {"rows.csv": "a,b\n1,2\n"}
    assert outcome.data("node.checked")[-1]["has_passed"]


def test_a_command_that_replaces_a_built_in_name_edits_the_same_file(live_home: LiveHome) -> None:
    edit = "sed -i s/42/43/ {0} && cat {0}"
    read = call("read_file", path="notebook.md")
    live_home.plays(
        coordinator=[
            call("memory_write", path="MEMORY.md", content="It is 42.\n"),
            bash(edit.format("MEMORY.md")),
            calls(spawn("ann"), node("sum", "ann"), call("read_file", path="MEMORY.md")),
            WAIT,
            finish("done"),
        ],
        ann=[
            bash("echo It is 42. > notebook.md; echo text > out.md"),
            bash(edit.format("notebook.md")),
            calls(read, bash("sed -i s/a/b/ _spec.md; cat notebook.md")),
            bash("rm _spec.md.moved-*; test -L _spec.md"),
            publish("one file"),
        ],
    )
    outcome = live_home.complete("Edit the notes", "--name", "replaced-names")
    seen = live_home.server.seen_by("ann")
    assert seen[2].result("bash") == "It is 43.\n[exit code 0]"
    assert seen[3].result("read_file") == "It is 43.\n"
    assert "It is 43." in seen[3].result("bash")
    assert "`_spec.md` is now `_spec.md.moved-" in seen[3].result("bash")
    assert seen[4].result("bash") == "[exit code 0]"
    assert outcome.published("sum") == {"out.md": "text\n"}
    assert live_home.server.seen_by("coordinator")[3].result("read_file") == "It is 43.\n"
    assert (outcome.agent / "MEMORY.md").read_text() == "It is 43.\n"
