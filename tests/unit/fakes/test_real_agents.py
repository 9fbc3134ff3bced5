"""Releases are installed once, whole or not at all; a failure names its reason."""

from pathlib import Path

import pytest

from tests.fakes import real_agents
from tests.fakes.real_agents import CannotInstall, Release, installed, newest, node_folder

KIT = Release("npm", "@x/kit", "1.0.0", "kit", 22)
NPM = """\
#!/bin/sh
echo "$1" >> "$(dirname "$0")/asked"
if [ "$1" = view ]; then
    echo '{"version": "2.0.0", "engines": {"node": "^22.1.0 || >=24"}}'
    exit
fi
case "$6" in *@bad@*) echo "no such package" >&2; exit 1;; esac
mkdir -p "$5/node_modules/.bin"
touch "$5/node_modules/.bin/kit"
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and npm and node of our own on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("npm", NPM), ("node", "#!/bin/sh\necho v22.11.0\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setattr(real_agents, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_release_is_installed_once(programs: Path) -> None:
    assert installed(KIT) == installed(KIT)
    assert installed(KIT).exists()
    assert (programs / "asked").read_text() == "install\n"


def test_interrupted_installation_is_restarted(programs: Path) -> None:
    installed(KIT)
    KIT.folder.rename(KIT.folder.with_name(f"{KIT.folder.name}.part"))
    assert installed(KIT).exists()
    assert (programs / "asked").read_text() == "install\ninstall\n"


def test_failed_installation_names_the_reason_and_leaves_no_usable_folder() -> None:
    bad = Release("npm", "@bad", "1.0.0", "kit", 22)
    with pytest.raises(CannotInstall, match="no such package"):
        installed(bad)
    assert not bad.folder.exists()
    with pytest.raises(CannotInstall, match="has no program other"):
        installed(Release("npm", "@x/kit", "1.0.0", "other", 22))


def test_the_newest_release_and_its_node_are_asked_of_the_registry() -> None:
    assert newest("npm", "@x/kit") == ("2.0.0", 22)


def test_node_of_the_machine_is_used_if_new_enough(programs: Path) -> None:
    assert node_folder(22) == programs
