"""The tools of a person in the real sandbox: programs of every manager run, no secret is read."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agiraph.settings.config import load_config
from agiraph.tools.command import CommandLimits, run_command
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.sandbox.toolchain import toolchain
from tests.fakes.person_home import SECRET, PersonHome, build_person
from tests.unit.tools.scopes.home_layout import HomeLayout, build

FOUND = probe()
pytestmark = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")


@pytest.fixture
def layout(tmp_path: Path) -> HomeLayout:
    return build(tmp_path.resolve() / "home")


@pytest.fixture
def person(layout: HomeLayout, monkeypatch: pytest.MonkeyPatch) -> PersonHome:
    root = layout.root.parent / "person"
    monkeypatch.setenv("HOME", str(root))
    return build_person(root, layout.input_dir)


def run(layout: HomeLayout, person: PersonHome, command: str) -> str:
    """Run a command as `bash` does, with the person's PATH."""
    scope = layout.worker()
    toolchain.cache_clear()
    enclosure = find_sandbox(load_config().sandbox).enclose(scope, path=person.path)
    finished = asyncio.run(
        run_command(
            command,
            folder=layout.root.parent / "call",
            cwd=scope.cwd,
            environment={"PATH": enclosure.path},
            limits=CommandLimits(60, 50_000),
            before=enclosure.words,
        )
    )
    assert finished is not None
    return finished.output


def test_programs_of_every_manager_run(layout: HomeLayout, person: PersonHome) -> None:
    command = "; ".join(f"echo $({name} 2>&1)" for name in person.programs)
    output = run(layout, person, command)
    lines = [line.replace(f"{person.root}/", "") for line in output.splitlines()]
    assert dict(zip(person.programs, lines, strict=True)) == person.programs


def test_no_secret_beside_programs_is_read(layout: HomeLayout, person: PersonHome) -> None:
    looks = "; ".join(f"cat {secret}" for secret in person.secrets)
    output = run(
        layout, person, f"({looks}) 2>/dev/null; grep -rs {SECRET} {person.root}; echo end"
    )
    assert output == "end\n"


def test_path_inside_names_only_folders_that_exist(layout: HomeLayout, person: PersonHome) -> None:
    output = run(layout, person, 'IFS=:; for one in $PATH; do test -d "$one" || echo "$one"; done')
    assert output == ""


def test_virtual_environment_of_the_input_runs_with_its_python(
    layout: HomeLayout, person: PersonHome
) -> None:
    venv = layout.input_dir / ".venv/bin"
    output = run(layout, person, f"{venv}/python; {venv}/pytest")
    assert output == ".pyenv/versions/3.9.1\n.pyenv/versions/3.9.1 runs pytest\n"


def test_version_file_of_the_input_selects_a_version(
    layout: HomeLayout, person: PersonHome
) -> None:
    (layout.input_dir / ".python-version").write_text("3.12\n")
    assert run(layout, person, "python3") == ".pyenv/versions/3.12.1\n"


@pytest.mark.parametrize(
    "form", ["home", "link", "program", "script", "through", "version", "nested"]
)
def test_input_folder_cannot_name_private_folders(
    layout: HomeLayout, person: PersonHome, form: str
) -> None:
    """Files written there by a model or a stranger reveal only known programs."""
    project, target = PersonHome(layout.input_dir), person.root / "work/private"
    if form == "home":
        project.file("fake/pyvenv.cfg", f"home = {target}\n")
    elif form == "link":
        project.file("fake/pyvenv.cfg", f"home = {layout.input_dir}/base/bin\n")
        project.file("base/lib/python3.1/os.py")
        project.link("base/libexec", str(target))
        project.link("base/bin", str(target))
    elif form == "program":
        project.link(".venv/bin/key", str(target / "tool"))
        person.entries.insert(0, layout.input_dir / ".venv/bin")
    elif form == "script":
        project.link("python", str(person.root / "work/private/venv/bin/python"))
        person.venv("work/private/venv", target, "3.1")
        person.program("work/private/venv/bin/python3.1")
        person.program("work/private/bin/python3.1")
        person.secret("work/private/venv/lib/secret")
        person.program(".local/bin/script", f"#!{layout.input_dir}/python\n")
        project.program("tools/own", f"#!{person.root}/work/private/venv/bin/python\n")
        person.link(".local/bin/own", str(layout.input_dir / "tools/own"))
    elif form == "through":
        person.venv("work/private/venv", target, "3.1")
        person.program("work/private/venv/bin/own")
        person.secret("work/private/venv/lib/secret")
        person.link("door", str(layout.input_dir))
        project.link("tools/own", str(person.root / "work/private/venv/bin/own"))
        person.link(".local/bin/own", str(person.root / "door/tools/own"))
    elif form == "version":
        project.file(".python-version", f"../../work\n{target}\n..\n")
        project.file(".tool-versions", f"ruby ../../../work/private {target}\n")
    else:
        inner = layout.root / "agents/fake"
        PersonHome(inner).file("lib/python3.1/os.py")
        PersonHome(inner).link("lib64", str(target))
        project.file("fake/pyvenv.cfg", f"home = {inner}/bin\n")
    looks = f"ls {target}/key {target}/.env; grep -rs {SECRET} {person.root} {layout.root}"
    assert run(layout, person, f"({looks}) 2>/dev/null; echo end") == "end\n"


def test_programs_that_cannot_run_inside_are_named(layout: HomeLayout, person: PersonHome) -> None:
    PersonHome(layout.input_dir).link("tools/own", str(person.root / "work/private/other"))
    person.program("work/private/other")
    person.entries += [layout.input_dir / "tools", person.root, person.root / ".rbenv/shims"]
    person.program(".rbenv/shims/ruby")
    person.program(".rbenv/versions/3.2/bin/ruby")
    toolchain.cache_clear()
    found = toolchain(person.path, (layout.input_dir,), layout.input_dir, layout.root)
    assert found.out_of_reach == (
        f"{person.root}/.rbenv/shims (no installed version is selected)",
        f"{person.root} (contains more than programs)",
        f"{layout.input_dir}/tools/own (needs {person.root}/work/private/other)",
    )


REAL = {
    "chromium": "chromium --version",
    "node": "node -e 'new ArrayBuffer(1); console.log(process.version)'",
    "java": "java -version",
    "go": "go version",
    "cargo": "cargo --version",
}


def test_programs_with_large_address_spaces_run_with_the_default_limits(
    layout: HomeLayout,
) -> None:
    """They reserve gigabytes, and read parts of /etc, /sys and /var."""
    config, scope, path = load_config(), layout.worker(), os.environ["PATH"]
    enclosure = find_sandbox(config.sandbox).enclose(scope, path=path)
    names = [name for name in REAL if shutil.which(name, path=enclosure.path)]
    finished = asyncio.run(
        run_command(
            " && ".join(f"{REAL[name]} && echo {name} ended" for name in names) or "true",
            folder=layout.root.parent / "call",
            cwd=scope.cwd,
            environment={"PATH": enclosure.path},
            limits=CommandLimits.of(config.shell, 120),
            before=enclosure.words,
        )
    )
    assert finished is not None
    assert [line for line in finished.output.splitlines() if line.endswith("ended")] == [
        f"{name} ended" for name in names
    ], finished.output
