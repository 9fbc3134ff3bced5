"""The wheel as people get it: built from the sdist, installed, run among decoys of our folders.

The clean environment sees the wheel and, linked one by one, the distributions that its metadata
declares (and those that they declare). A dependency that we import and forgot to declare is
missing there, though this checkout has it.
"""

import email.message
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from frontend.build import built as build_web_ui
from tests.integration.commands import KEYS, await_nothing_left

pytestmark = [pytest.mark.slow, pytest.mark.releases]

ROOT = Path(__file__).resolve().parents[2]
WEB_UI = ROOT / "frontend" / "dist"
FOLDERS = ("actors", "transport", "cli", "configs")
DEADLINE_SECONDS = 120.0


@dataclass(frozen=True)
class InstalledWheel:
    """A clean environment with the wheel in it, and a folder of decoys to run it from."""

    wheel: Path
    environment: Path
    decoys: Path
    home: Path

    @property
    def site(self) -> Path:
        """Its site-packages."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.environment / "lib" / version / "site-packages"

    def run(self, program: str, *args: str) -> "subprocess.CompletedProcess[str]":
        """Run a program of the environment among the decoys, on the path by folder and by name."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith((*KEYS, "PYTHON"))}
        return subprocess.run(
            [str(self.environment / "bin" / program), *args],
            cwd=self.decoys,
            env=kept | {"AGIRAPH_HOME": str(self.home), "PYTHONPATH": str(self.decoys)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that was built from it; both hold the web UI."""
    build_web_ui()
    out = tmp_path_factory.mktemp("dist")
    _do("-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT))
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(
    built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InstalledWheel]:
    folder = tmp_path_factory.mktemp("clean")
    clean_env = InstalledWheel(built[1], folder / "env", folder / "decoys", folder / "home")
    _do("-m", "venv", "--without-pip", str(clean_env.environment))
    pip = ["-m", "pip", "--python", str(clean_env.environment / "bin" / "python")]
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    _do(*pip, "install", *options, str(clean_env.wheel))
    _link_declared(_metadata(clean_env.wheel).get_all("Requires-Dist", []), folder / "declared")
    (clean_env.site / "declared.pth").write_text(f"{folder / 'declared'}\n")
    for name in FOLDERS:
        (clean_env.decoys / name).mkdir(parents=True)
        (clean_env.decoys / name / "__init__.py").write_text(f"raise SystemExit('decoy {name}')\n")
    yield clean_env
    await_nothing_left(clean_env.home)


def test_only_agiraph_is_installed_in_site_packages(installed: InstalledWheel) -> None:
    names = {path.name for path in installed.site.iterdir()} - {"declared.pth", "__pycache__"}
    assert {name.split("-")[0] for name in names} == {"agiraph"}
    code = f"import importlib.util as u; print([n for n in {FOLDERS!r} if u.find_spec(n)])"
    assert installed.run("python", "-I", "-c", code).stdout == "[]\n"


def test_the_wheel_is_the_same_from_the_checkout_and_from_the_sdist(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    _do("-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names == set(zipfile.ZipFile(built[1]).namelist())
    sources = _sources(*FOLDERS)
    samples = {name for name in sources if name.startswith("configs/sample/")}
    assert samples, "the sample is in the checkout alone"
    bundled = {f"agiraph/_bundled/{name}" for name in sources - samples}
    assert _sources("agiraph") | bundled <= names
    assert {name for name in names if name.startswith("agiraph/_bundled/ui/")} == _of_web_ui()
    assert not [name for name in names if "configs/sample" in name]
    assert not [name for name in names if "/." in name or "__pycache__" in name]


def test_sdist_contains_the_files_for_packaging(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "hatch_build.py", "CHANGELOG.md"} <= names
    assert "frontend/dist/index.html" in names


def test_wheel_metadata_describes_the_package(installed: InstalledWheel) -> None:
    told = _metadata(installed.wheel)
    assert told["Name"] == "agiraph"
    assert told["Requires-Python"] == ">=3.11"
    assert str(told.get_payload()).strip() == (ROOT / "README.md").read_text().strip()


def test_declared_dependencies_suffice_and_agree(installed: InstalledWheel) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "pip", "--python", installed.environment / "bin/python", "check"],
        capture_output=True,
        text=True,
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    assert found.returncode == 0, found.stdout + found.stderr
    every_module = "\n".join(
        [
            "import importlib, pathlib, sys, agiraph",
            "EXTRAS = ('mcp', 'mcp_types')  # what comes with an extra alone",
            "root = pathlib.Path(agiraph.__file__).parent",
            "sys.path.insert(0, str(root / '_bundled'))",
            "for base in (root.parent / 'agiraph', *(root / '_bundled').iterdir()):",
            "    for file in base.rglob('*.py'):",
            "        parts = file.relative_to(base.parent).with_suffix('').parts",
            "        if '_bundled' not in parts and parts[-1] != '__main__':",
            "            try:",
            "                importlib.import_module('.'.join(parts).removesuffix('.__init__'))",
            "            except ModuleNotFoundError as error:",
            "                assert error.name.partition('.')[0] in EXTRAS, error",
        ]
    )
    done = installed.run("python", "-P", "-c", every_module)
    assert done.returncode == 0, done.stderr


def test_commands_work_among_decoy_packages(installed: InstalledWheel) -> None:
    for program, *args in (("agiraph", "--help"), ("agiraph-supervisor", "--help")):
        done = installed.run(program, *args)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("Usage: ")


def test_doctor_succeeds_among_decoy_packages(installed: InstalledWheel) -> None:
    told = json.loads(installed.run("agiraph", "doctor", "--json").stdout)
    assert told["home"] == str(installed.home)
    assert {check["name"] for check in told["checks"] if check["status"] == "fail"} == set()


def test_team_surveys_a_folder_among_decoy_packages(
    installed: InstalledWheel, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("item,price\nbolt,2\nnut,1\nwasher,3\n")
    (tmp_path / "notes.md").write_text("# Orders\nSee prices.csv.\n")
    survey = ("run", "Survey", "--input", str(tmp_path), "--model", "script/survey", "--json")
    done = installed.run("python", "-m", "agiraph", *survey)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "completed"
    assert "prices.csv" in told["result"]


def _do(*args: str) -> None:
    done = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=DEADLINE_SECONDS, cwd=ROOT
    )
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"


def _sources(*folders: str) -> set[str]:
    """Return files that a wheel must hold, as paths from the root."""
    return {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in (".py", ".yaml", ".md", ".sh", ".csv", ".typed")
    }


def _of_web_ui() -> set[str]:
    """Return the files of the web UI that a wheel must contain."""
    files = [path.relative_to(WEB_UI) for path in WEB_UI.rglob("*") if path.is_file()]
    assert Path("index.html") in files
    return {f"agiraph/_bundled/ui/{file}" for file in files if not str(file).startswith(".")}


def _metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def _link_declared(declared: list[str], folder: Path) -> None:
    """Link everything that the declared distributions, and theirs, put into site-packages."""
    folder.mkdir()
    for found in _closure(declared):
        for file in found.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (folder / top).exists():
                (folder / top).symlink_to(Path(str(found.locate_file(top))))


def _closure(declared: list[str]) -> list[Distribution]:
    """Return the distributions that are declared, with all that they need in turn."""
    seen: dict[str, Distribution] = {}
    left = [(Requirement(line), "") for line in declared]
    while left:
        wish, extra = left.pop()
        if wish.marker is not None and not wish.marker.evaluate({"extra": extra}):
            continue
        key = f"{wish.name.lower()}[{','.join(sorted(wish.extras))}]"
        if key in seen:
            continue
        seen[key] = found = distribution(wish.name)
        needed = [Requirement(line) for line in found.requires or ()]
        left += [(need, extra) for extra in ("", *wish.extras) for need in needed]
    return list(seen.values())
