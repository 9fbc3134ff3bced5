"""Toolchain: the parts of the machine with a command's tools; no private files.

These are the system's programs, the files of /etc that they read, and for each further folder on
PATH the program folders of its prefix (`bin`, `lib` ...), never the prefix itself: beside
`~/.cargo/bin` are credentials. Programs that are links or scripts are followed: to their prefix, if
its layout is known (`managers.py`), else to the one file. Shims are replaced by the real programs.
The input folder is not trusted: what it names is shown only if it is part of a known layout.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from agiraph.storage.home import user_home
from agiraph.tools.sandbox.managers import (
    PROGRAM_FOLDERS,
    VENDORS,
    VENV_FILE,
    base_of_venv,
    folders_of,
    is_program,
    layout_of,
    names_in,
    real_folders,
)
from agiraph.tools.sandbox.programs import interpreter_of, link_chain

ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
STORES = ("/nix/store", "/gnu/store", "/run/current-system/sw")
ETC = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "gai.conf", "resolv.conf"),
    *("services", "protocols", "localtime", "timezone", "locale.alias", "locale.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ssl/ca-bundle.pem", "gnutls"),
    *("ca-certificates/extracted", "pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust"),
    *("pki/java", "crypto-policies", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"),
    *("os-release", "mime.types", "magic", "fonts", "perl", "python3", "ImageMagick-*", "xml"),
    *("java-*/security", "java-*/net.properties", "java-*/logging.properties"),
    *("java-*/jvm-amd64.cfg", "java-*/jvm-arm64.cfg", "maven/m2.conf", "maven/logging"),
    *("R/Renviron", "R/ldpaths", "R/Makeconf", "R/repositories", "libreoffice", "chromium.d"),
)
"""Files without secrets, as patterns. Settings in which people write passwords (`environment`,
`profile.d`, `pip.conf`, `npmrc`, `gitconfig`, Maven's `settings.xml`) are not among them. Each
mount costs a command about 0.1 ms."""

OTHERS = (
    *("/sys/devices/system", "/var/cache/fontconfig", "/var/lib/ca-certificates"),
    *("/var/lib/texmf", "/var/lib/ghostscript"),
)
"""Parts of /sys and /var that programs read: processors, caches of fonts, certificates."""

LOCAL = ("/usr/local/",)
"""The part of the system in which people install programs that lead elsewhere."""

FIXED_LINKS = (("/var/run", "../run"), ("/var/tmp", "../tmp"))


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The visible parts of the machine: links unchanged (path, target), the rest read-only.

    `path` is PATH inside the sandbox: folders that exist there. `out_of_reach` are programs that
    cannot run inside, and folders on PATH that are not shown, each with the reason.
    """

    links: tuple[tuple[str, str], ...]
    readable: tuple[Path, ...]
    path: str = os.defpath
    out_of_reach: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def toolchain(
    path: str,
    around: tuple[Path, ...] = (),
    project: Path | None = None,
    home: Path | None = None,
) -> Toolchain:
    """Return the tools that a command with this PATH may use; looked up once per process.

    `around` are folders that the command sees anyway. In `project` (the input folder) virtual
    environments are searched. Models or other people may have written the files in `project` and
    `home`.
    """
    roots = [root for root in ROOTS if os.path.exists(root)]
    links = tuple((root, os.readlink(root)) for root in roots if os.path.islink(root))
    system = [Path(root) for root in roots if not os.path.islink(root)]
    system += [Path(store) for store in STORES if os.path.isdir(store)]
    etc = [file for name in ETC for file in _in_etc(name)]
    others = [Path(place) for place in OTHERS if os.path.exists(place)]
    search = _Search(path, (*system, *(Path(link) for link, _ in links)), around, project, home)
    search.follow()
    readable = (*system, *etc, *others, *search.found)
    return Toolchain(
        (*links, *FIXED_LINKS), readable, search.path_inside(), tuple(search.out_of_reach)
    )


def _in_etc(name: str) -> Iterator[Path]:
    """Yield the existing files of /etc with a name, which may contain one `*`."""
    beginning, star, rest = name.partition("*")
    names = [name]
    if star:
        names = [f"{one}{rest}" for one in names_in(Path("/etc")) if one.startswith(beginning)]
    yield from (file for one in names if (file := Path("/etc", one)).exists())


class _Search:
    """Follows the folders and programs on PATH; `found` are the paths that are shown.

    Paths are texts here: a folder of the system has hundreds of links.
    """

    def __init__(
        self,
        path: str,
        system: tuple[Path, ...],
        around: tuple[Path, ...],
        project: Path | None,
        home: Path | None,
    ) -> None:
        self._path = path
        self._project = project
        self._system = _beginnings(system)
        self._visible = (*self._system, *_beginnings(around))
        self._untrusted = _beginnings(filter(None, (project, home)))
        self._entries: dict[str, None] = {}
        self._real_folder = cache(os.path.realpath)  # hundreds of programs are in few folders
        self._followed: dict[tuple[str, bool], tuple[tuple[str, ...], bool]] = {}
        self.found: list[Path] = []
        self.out_of_reach: list[str] = []

    def follow(self) -> None:
        """Look up everything that PATH names, and the virtual environments of the input folder."""
        for word in dict.fromkeys(self._path.split(os.pathsep)):
            if os.path.isabs(word) and os.path.isdir(word):
                real = real_folders(Path(word), self._project)
                self._entries |= dict.fromkeys(map(str, real))
                if not real and _has_versions(Path(word).parent):
                    self.out_of_reach.append(f"{word} (no installed version is selected)")
        for entry in self._entries:
            if not self._is_visible(entry):
                self._show(prefix_of(Path(entry)))
            if not self._is_visible(entry):
                self.out_of_reach.append(f"{entry} (contains more than programs)")
        if self._project is not None:
            for venv in (self._project, *(self._project / one for one in names_in(self._project))):
                self._follow_base(venv)
        distinct = {os.path.realpath(one): one for one in reversed(self._entries)}
        for folder, entry in reversed(distinct.items()):
            is_system = _is_in(folder, self._system) and not _is_in(folder, LOCAL)
            self._follow_folder(folder if is_system else entry, is_system=is_system)

    def path_inside(self) -> str:
        """Return PATH without the folders that do not exist inside."""
        return os.pathsep.join(filter(self._is_visible, self._entries))

    def _follow_folder(self, folder: str, *, is_system: bool) -> None:
        """Follow the programs of a folder; in a system folder only links that lead out of it."""
        programs = _links_out_of(folder, self._system) if is_system else _programs_in(folder)
        for program in programs:
            self._follow_program(program)

    def _show(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if not self._is_visible(str(path)):
                self.found.append(path)
                self._visible = (*self._visible, f"{path}/")

    def _is_visible(self, path: str) -> bool:
        return _is_in(path, self._visible)

    def _follow_program(self, program: str) -> None:
        """Show the files that a program needs; note a program that cannot run inside."""
        if not is_program(program):
            return
        needed, is_trusted = self._follow_links(program)
        interpreter = interpreter_of(needed[-1], self._path)
        if interpreter is not None and os.path.exists(interpreter):
            steps, _ = self._follow_links(interpreter, is_trusted=is_trusted)
            needed = (*needed, *steps)
        missing = next((one for one in needed if not self._is_visible(one)), None)
        if missing is not None and self._is_visible(program):
            self.out_of_reach.append(f"{program} (needs {missing})")

    def _follow_links(
        self, program: str, *, is_trusted: bool = True
    ) -> tuple[tuple[str, ...], bool]:
        """Show the owners of a program's links and of the program itself.

        Return the paths of the links, the program last, and whether they are trusted: a link or a
        script in an untrusted folder is not trusted, nor the file to which it leads.
        """
        if (known := self._followed.get((program, is_trusted))) is not None:
            return known
        key, real = (program, is_trusted), os.path.realpath(program)
        steps = (*link_chain(program), real)
        for step in dict.fromkeys(steps):
            if not self._is_visible(step):
                self._show_owner(Path(step), is_trusted=is_trusted)
            folder = self._real_folder(os.path.dirname(step))
            is_trusted = is_trusted and not _is_in(folder, self._untrusted)
        self._followed[key] = found = (steps, is_trusted)
        return found

    def _follow_base(self, venv: Path) -> None:
        """Show the Python of a virtual environment in the input folder, if its layout is known."""
        base = base_of_venv(venv / VENV_FILE)
        if base is not None:
            self._follow_links(str(base / "python3"), is_trusted=False)
            self._follow_links(str(venv / "bin" / "python"), is_trusted=False)

    def _show_owner(self, program: Path, *, is_trusted: bool) -> None:
        """Show the prefix that a program belongs to; else the program alone, if trusted."""
        for prefix in program.parents:
            if _is_too_wide(prefix):
                break
            if layout_of(prefix) is not None:
                shown = prefix_of(prefix / "bin")
                self._show(shown if is_trusted else self._own_folders(prefix))
                return
            if is_trusted and os.path.isfile(prefix / VENV_FILE):
                self._show(prefix_of(prefix / "bin"))
                return
            if is_trusted and (prefix.name == "node_modules" or str(prefix) in VENDORS):
                self._show([prefix])
                return
        if is_trusted and is_program(program):
            self._show([program])

    def _own_folders(self, prefix: Path) -> Iterator[Path]:
        """Yield the folders of a prefix that are in it after following links; untrusted: none."""
        real = os.path.realpath(prefix)
        if _is_in(real, self._untrusted) or _is_in(str(prefix), self._untrusted):
            return
        for folder in folders_of(prefix):
            if _is_in(os.path.realpath(folder), (f"{real}/",)):
                yield folder


def _has_versions(root: Path) -> bool:
    return any(names_in(root / name) for name in ("versions", "installs"))


def prefix_of(entry: Path) -> Iterator[Path]:
    """Yield the folders that a folder of programs needs: the program folders of its prefix.

    For a virtual environment, also those of its base Python. A folder that this user may not enter
    (after su, sudo, in cron) is left out, like a missing folder: `os.path` reports no error.
    """
    if not entry.is_absolute() or not os.path.isdir(entry) or _is_too_wide(entry):
        return
    yield entry
    prefix = entry.parent
    if entry.name not in PROGRAM_FOLDERS or prefix in (user_home(), Path("/")):
        return
    yield from folders_of(prefix)
    settings = prefix / VENV_FILE
    if os.path.isfile(settings):
        yield settings
        base = base_of_venv(settings)
        if base is not None:
            yield from prefix_of(base)


def _is_too_wide(entry: Path) -> bool:
    """Whether a folder on PATH contains more than programs: a home, or a parent of homes."""
    entry = entry.resolve()
    return user_home().resolve().is_relative_to(entry) or entry in (Path("/etc"), Path("/tmp"))


def _programs_in(folder: str) -> Iterator[str]:
    return (f"{folder}/{name}" for name in names_in(Path(folder)))


@lru_cache(maxsize=16)
def _links_out_of(folder: str, system: tuple[str, ...]) -> tuple[str, ...]:
    """Return the programs of a folder of the system that are links out of the system.

    Forked processes inherit the answer: 1,700 programs take 5 ms.
    """
    try:
        with os.scandir(folder) as found:  # plain: programs of the machine
            links = [entry.path for entry in found if entry.is_symlink()]
    except OSError:
        return ()
    return tuple(one for one in sorted(links) if _leads_out(one, system))


def _leads_out(link: str, system: tuple[str, ...]) -> bool:
    target = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
    return not _is_in(target, system) and not _is_in(os.path.realpath(link), system)


def _beginnings(folders: Iterable[Path]) -> tuple[str, ...]:
    return tuple(f"{folder}/" for folder in folders)


def _is_in(path: str, beginnings: tuple[str, ...]) -> bool:
    return f"{path}/".startswith(beginnings)
