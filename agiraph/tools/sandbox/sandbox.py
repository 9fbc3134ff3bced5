"""Sandbox: separates a model's command from the machine by bubblewrap, or says why it cannot.

    sandbox = find_sandbox(config.sandbox)
    enclosure = sandbox.enclose(scope, path=environment["PATH"])
    argv = [*enclosure.words, "bash", "-c", "make"]

runs `make` in the folder of the scope, with the scope table as folders. The command's environment
and limits are the caller's, and the caller holds the stand-ins (`standin.py`) while it runs.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.settings.config import SandboxConfig
from agiraph.storage.files import make_folder, make_private_folder
from agiraph.storage.home import expanded
from agiraph.tools.sandbox.bubblewrap import TMP, SandboxContents
from agiraph.tools.sandbox.input_guard import InputGuard, guard_of
from agiraph.tools.sandbox.mounts import Mount, mounts_of, temporary_of
from agiraph.tools.sandbox.probe import SandboxProbe, probe
from agiraph.tools.sandbox.toolchain import Toolchain, toolchain
from agiraph.tools.scopes.scope import Scope

OFF = "sandbox.mode is none"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The arguments in front of a command that run it in the sandbox; empty without a sandbox.

    `path` is the command's PATH; `standins` are paths at which an empty folder must exist while the
    command runs.
    """

    path: str
    words: tuple[str, ...] = ()
    standins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of one home on this machine."""

    config: SandboxConfig
    found: SandboxProbe

    @property
    def is_up(self) -> bool:
        """Whether the sandbox works and is not turned off, so that commands run in it."""
        return self.config.mode != "none" and self.found.works

    @property
    def is_required(self) -> bool:
        """Whether no command may run without the sandbox."""
        return self.config.required or self.config.mode == "bwrap"

    @property
    def why_missing(self) -> str:
        """The reason why commands run without the sandbox; '' if it works."""
        return OFF if self.config.mode == "none" else self.found.why

    @property
    def advice(self) -> str:
        """Advice on how to make the sandbox work; '' if it works."""
        return "set sandbox.mode to auto" if self.config.mode == "none" else self.found.advice

    def around_helper(
        self,
        command: Sequence[str],
        *,
        readable: Sequence[Path],
        home: Path | None,
        has_network: bool,
        writable: Sequence[Path] = (),
    ) -> list[str]:
        """Return the argv that runs a process of our own, which reads untrusted input.

        The process sees the program's own tools, `readable` and `writable`, and no other files, in
        particular none of `home`. Without a sandbox it runs unconfined.
        """
        if not self.is_up:
            return list(command)
        inside = SandboxContents(
            toolchain=toolchain(os.pathsep.join((os.path.dirname(command[0]), os.defpath))),
            around=tuple(readable),
            home=home,
            mounts=tuple(Mount(folder, is_writable=True) for folder in writable),
            cwd=Path("/tmp"),
            has_network=has_network or not self.found.has_no_network,
        )
        return [*self.found.words_before(inside), *command]

    def enclose(
        self,
        scope: Scope,
        *,
        path: str = os.defpath,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        has_network: bool | None = None,
        cwd: Path | None = None,
        keeps_tmp: bool = False,
    ) -> Enclosure:
        """Return the enclosure of a command for the entity of this scope.

        `path` is the PATH outside: its programs are shown. `writable` and `readable` are
        folders beyond the scope table, which must exist; `has_network` None: as the settings say
        for this entity; `cwd` None: where the scope's shell starts; `keeps_tmp`: whether /tmp
        is the node's own folder, which lasts as long as the node. Paths are the same inside and
        outside. The first call of a run blocks while a writable input folder is surveyed. Raises
        Refused if a sandbox is required and missing, or if the kernel does not support it.
        """
        if not self.is_up:
            self._refuse_without()
            return Enclosure(path)
        network = scope.has_network if has_network is None else has_network
        if not network and not self.found.has_no_network:
            raise Refused("this command may not have the network, and the kernel cannot remove it")
        around = self._around(scope.input_dir, readable)
        tools = toolchain(path, around, scope.input_dir, scope.home)
        guard = self.input_guard(scope)
        guards = guard.mounts() if guard is not None else ()
        written = [Mount(guard.folder, is_writable=True)] if guard is not None and guards else []
        inside = SandboxContents(
            toolchain=tools,
            around=around,
            home=scope.home,
            mounts=(
                *_links_to(readable, (*tools.readable, *around), scope.home),
                *mounts_of(scope),
                *written,
                *(Mount(folder.resolve(), is_writable=True) for folder in writable),
            ),
            cwd=cwd or scope.cwd,
            has_network=network,
            guards=guards,
        )
        if keeps_tmp:
            inside = replace(inside, temporary=_made_temporary(scope, inside))
        return Enclosure(
            tools.path,
            tuple(self.found.words_before(inside)),
            tuple(str(one.path) for one in guards if one.kind == "stand_in"),
        )

    def tools(self, path: str, input_dir: Path | None, home: Path) -> Toolchain:
        """Return the tools of commands with the PATH `path` outside.

        Without a sandbox PATH is unchanged.
        """
        if not self.is_up:
            return Toolchain((), (), path)
        return toolchain(path, self._around(input_dir), input_dir, home)

    def _around(self, input_dir: Path | None, readable: Sequence[Path] = ()) -> tuple[Path, ...]:
        """Return the folders that commands see besides those of the home and the programs."""
        further = [expanded(folder).resolve() for folder in self.config.readable]
        further += [input_dir] if input_dir else []
        further += [folder.resolve() for folder in readable]
        return tuple(folder for folder in dict.fromkeys(further) if folder.exists())

    def input_guard(self, scope: Scope) -> InputGuard | None:
        """Return the protection of the input folder from commands that may write there.

        None without a sandbox, or if no command of this scope may write there. The first call of a
        run blocks while the folder is surveyed.
        """
        folder = scope.input_dir
        if not self.is_up or self.config.input == "read" or folder is None or not folder.is_dir():
            return None
        if scope.home is not None and scope.home.is_relative_to(folder):
            return None
        return guard_of(scope.rules.run, folder)

    def _refuse_without(self) -> None:
        if not self.is_required:
            return
        advice = f" ({self.advice})" if self.advice else ""
        raise Refused(
            f"commands may only run in a sandbox, and there is none: {self.why_missing}{advice}"
        )


def _made_temporary(scope: Scope, inside: SandboxContents) -> Path | None:
    """Create the folder for /tmp, and in it the folders on which others are mounted.

    None if that is not possible: a command may have put a file in their place.
    """
    folder = temporary_of(scope)
    if folder is None:
        return None
    names = inside.folders_in_tmp()
    if any((TMP / name).is_file() for name in names):
        return None
    try:
        make_private_folder(folder)
        for name in names:
            make_folder(folder / name)
    except OSError:
        return None
    return folder


def _links_to(
    readable: Sequence[Path], shown: Sequence[Path], home: Path | None
) -> Iterator[Mount]:
    """Return mounts for paths that lead through links outside of the shown folders.

    `uv` reaches a Python's folder by a link beside it, `pipx` a program. A folder that contains the
    home is not shown a second time, because the home would not be covered there.
    """
    for path in readable:
        real = path.resolve()
        holds_home = home is not None and home.is_relative_to(real)
        if path != real and not holds_home and not any(map(path.is_relative_to, shown)):
            yield Mount(path, source=real)


def find_sandbox(config: SandboxConfig) -> Sandbox:
    """Return this machine's sandbox; the first call blocks for some milliseconds."""
    return Sandbox(config, SandboxProbe() if config.mode == "none" else probe())
