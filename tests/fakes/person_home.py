"""PersonHome: a person's home folder with stand-ins of tool managers, and secrets beside them.

Each program is a small script that prints its name, and each secret contains `SECRET`. The layouts
are those of pyenv, nvm, conda, asdf, mise, rustup, uv, pipx and Homebrew on Linux.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

SECRET = "never-to-be-read"
PYTHON = """#!/bin/sh
case "$1" in "") echo {0};; *) echo {0} runs $(basename "$1");; esac
"""


@dataclass
class PersonHome:
    """The home folder; `path` is the PATH of the person's shell, `programs` what they print."""

    root: Path
    entries: list[Path] = field(default_factory=list)
    secrets: list[Path] = field(default_factory=list)
    programs: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return os.pathsep.join((*map(str, self.entries), os.defpath))

    def program(self, place: str, text: str = "") -> Path:
        """Create a program that prints its name."""
        file = self.root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or f"#!/bin/sh\necho {place}\n")
        file.chmod(0o755)
        return file

    def file(self, place: str, text: str = "") -> Path:
        """Create a file that is no secret."""
        file = self.root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def secret(self, *places: str) -> None:
        """Create files that no command may read."""
        self.secrets += [self.file(place, SECRET) for place in places]

    def link(self, place: str, target: str) -> Path:
        """Create a link."""
        link = self.root / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return link

    def python(self, prefix: str, version: str) -> None:
        """Create an installed Python."""
        self.program(f"{prefix}/bin/python{version}", PYTHON.format(prefix))
        self.link(f"{prefix}/bin/python3", f"python{version}")
        self.file(f"{prefix}/lib/python{version}/os.py")

    def venv(self, place: str, base: Path, version: str) -> None:
        """Create a virtual environment of the Python in `base`."""
        self.file(f"{place}/pyvenv.cfg", f"home = {base}/bin\nversion = {version}\n")
        self.link(f"{place}/bin/python", f"{base}/bin/python{version}")
        self.file(f"{place}/lib/python{version}/site-packages/module.py")


def build_person(root: Path, project: Path) -> PersonHome:
    """Create the home folder, and the virtual environment `.venv` in the project's folder."""
    person = PersonHome(root)
    person.secret(".ssh/id_ed25519", ".netrc", ".aws/credentials", ".config/gh/hosts.yml")
    _pyenv(person)
    _node(person)
    _conda(person)
    _asdf_and_mise(person)
    _rust(person)
    _local(person)
    _homebrew(person)
    base = root / ".pyenv/versions/3.9.1"
    person.python(".pyenv/versions/3.9.1", "3.9")
    PersonHome(project).venv(".venv", base, "3.9")
    PersonHome(project).program(".venv/bin/pytest", f"#!{project}/.venv/bin/python\n")
    return person


def _pyenv(person: PersonHome) -> None:
    person.python(".pyenv/versions/3.11.7", "3.11")
    person.python(".pyenv/versions/3.12.1", "3.12")
    person.program(".pyenv/versions/3.11.7/bin/pytest")
    person.file(".pyenv/version", "3.11.7\n")
    person.program(".pyenv/shims/pytest", "#!/bin/sh\nexec pyenv exec pytest\n")
    person.program(".pyenv/shims/python3", "#!/bin/sh\nexec pyenv exec python3\n")
    person.secret(".pyenv/token", ".pyenv/versions/3.11.7/.pypirc")
    person.entries += [person.root / ".pyenv/shims", person.root / ".pyenv/gone/bin"]
    person.programs |= {
        "python3": ".pyenv/versions/3.11.7",
        "pytest": ".pyenv/versions/3.11.7/bin/pytest",
    }


def _node(person: PersonHome) -> None:
    prefix = ".nvm/versions/node/v22.1.0"
    person.program(f"{prefix}/bin/node")
    person.program(f"{prefix}/lib/node_modules/npm/bin/npm-cli.js")
    person.file(f"{prefix}/lib/node_modules/npm/package.json")
    person.link(f"{prefix}/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js")
    person.secret(f"{prefix}/.npmrc", ".nvm/.npmrc", f"{prefix}/etc/npmrc")
    person.entries.append(person.root / prefix / "bin")
    person.programs |= {
        "node": f"{prefix}/bin/node",
        "npm": f"{prefix}/lib/node_modules/npm/bin/npm-cli.js",
    }


def _conda(person: PersonHome) -> None:
    person.file("miniconda3/conda-meta/history")
    person.program("miniconda3/bin/conda-python")
    person.program("miniconda3/bin/conda", f"#!{person.root}/miniconda3/bin/conda-python\n")
    person.file("miniconda3/share/terminfo")
    person.secret("miniconda3/.condarc", "miniconda3/conda-meta/private.json")
    person.entries.append(person.root / "miniconda3/condabin")
    person.link("miniconda3/condabin/conda", "../bin/conda")
    person.programs["conda"] = "miniconda3/bin/conda-python"


def _asdf_and_mise(person: PersonHome) -> None:
    for version in ("3.2.1", "3.10.0"):
        person.program(f".asdf/installs/ruby/{version}/bin/ruby")
    person.file(".tool-versions", "ruby 3.2.1\n")
    person.program(".asdf/shims/ruby", "#!/bin/sh\nexec asdf exec ruby\n")
    for version in ("14.0.0", "14.1.0"):
        person.program(f".local/share/mise/installs/ripgrep/{version}/ripgrep-{version}/rg")
    person.link(".local/share/mise/shims/rg", "/nowhere/mise")
    person.secret(".asdf/token", ".local/share/mise/token")
    person.entries += [person.root / ".asdf/shims", person.root / ".local/share/mise/shims"]
    person.programs |= {
        "ruby": ".asdf/installs/ruby/3.2.1/bin/ruby",
        "rg": ".local/share/mise/installs/ripgrep/14.1.0/ripgrep-14.1.0/rg",
    }


def _rust(person: PersonHome) -> None:
    toolchain = ".rustup/toolchains/stable-x86_64-unknown-linux-gnu"
    person.program(f"{toolchain}/bin/rustc")
    person.file(f"{toolchain}/lib/rustlib/components")
    person.program(".rustup/toolchains/nightly-x86_64-unknown-linux-gnu/bin/rustc")
    person.file(".rustup/settings.toml", 'default_toolchain = "stable"\n')
    person.program(".cargo/bin/rustup", "#!/bin/sh\nexit 1\n")
    person.link(".cargo/bin/rustc", "rustup")
    person.program(".cargo/bin/cargo-made")
    person.secret(".cargo/credentials.toml", ".cargo/config.toml")
    person.entries.append(person.root / ".cargo/bin")
    person.programs |= {"rustc": f"{toolchain}/bin/rustc", "cargo-made": ".cargo/bin/cargo-made"}


def _local(person: PersonHome) -> None:
    """uv reaches a Python's folder by a link beside it; its tools and pipx's are links."""
    base = ".local/share/uv/python/cpython-3.13.2-linux"
    person.python(base, "3.13")
    person.link(".local/share/uv/python/cpython-3.13-linux", "cpython-3.13.2-linux")
    person.venv(".local/share/pipx/venvs/black", person.root / ".pyenv/versions/3.12.1", "3.12")
    person.venv(
        ".local/share/uv/tools/ruff",
        person.root / ".local/share/uv/python/cpython-3.13-linux",
        "3.13",
    )
    for tool in ("pipx/venvs/black", "uv/tools/ruff"):
        venv, name = f".local/share/{tool}", os.path.basename(tool)
        person.program(f"{venv}/bin/{name}", f"#!{person.root}/{venv}/bin/python\n")
        person.link(f".local/bin/{name}", f"{person.root}/{venv}/bin/{name}")
    person.program("work/private/tool")
    person.link(".local/bin/own-tool", f"{person.root}/work/private/tool")
    person.secret("work/private/key", ".local/share/keyrings/login", "work/private/.env")
    person.secret(".local/share/pipx/venvs/black/pipx_metadata.json")
    person.secret(".local/share/uv/tools/ruff/uv-receipt.toml", ".local/share/uv/credentials")
    person.entries.append(person.root / ".local/bin")
    person.programs |= {
        "black": ".pyenv/versions/3.12.1 runs black",
        "ruff": f"{base} runs ruff",
        "own-tool": "work/private/tool",
    }


def _homebrew(person: PersonHome) -> None:
    prefix = "linuxbrew/.linuxbrew"
    person.program(f"{prefix}/Cellar/jq/1.7/bin/jq")
    person.program(f"{prefix}/bin/brew")
    person.link(f"{prefix}/opt/jq", "../Cellar/jq/1.7")
    person.link(f"{prefix}/bin/jq", "../Cellar/jq/1.7/bin/jq")
    person.secret(f"{prefix}/etc/my.cnf", f"{prefix}/var/data")
    person.entries.append(person.root / prefix / "bin")
    person.programs["jq"] = f"{prefix}/Cellar/jq/1.7/bin/jq"
