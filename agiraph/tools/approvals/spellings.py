"""Spellings: texts that name the same file, address, node or receiver in a call. Pure.

A rule of approvals.yaml and a model may name a thing differently. So each action is judged with all
names of its subject. An address is judged in one canonical form (`canonical_url`), as is the
address in the pattern of a rule (`url_pattern`).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from posixpath import normpath
from socket import inet_aton, inet_ntoa
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import SplitResult, quote, unquote, urlsplit

from agiraph.core.naming import short_name

NAMED_ENTITIES: Final = ("node_id", "worker_id", "worker")
"""Arguments that name a node or a worker, in calls whose subject is all their arguments."""

SEARCHED: Final = "searched_folder"
"""The argument that names the folder of a search: every file below it may be read."""

MEMORY: Final = "memory/"
MEMORY_TOOLS: Final = ("memory_read", "memory_write")
SCRATCH_OF_NODE: Final = re.compile(r"^nodes/[^/]+/(?=scratch/)")
DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
WEB_SCHEMES: Final = tuple(DEFAULT_PORTS)
SCHEME_ALONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+-]*:(?![0-9/])")
"""The beginning of an address like `mailto:ada@example.org`."""
ESCAPED: Final = re.compile(r"%([0-9a-fA-F]{2})")
UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")
NUMBER: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
VISIBLE: Final = "".join(map(chr, range(33, 127)))
MOST_DECODED: Final = 3


def _no_names(_: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that the acting entity knows.

    `own` is its name. `of_path` returns the names of the file at a path, the usual name first,
    `of_entity` the names of a node or worker, `of_ref` the paths of the files of a ref; each
    returns an empty sequence for an unknown name.
    """

    own: str = ""
    of_path: Callable[[str], Sequence[str]] = _no_names
    of_entity: Callable[[str], Sequence[str]] = _no_names
    of_ref: Callable[[str], Sequence[str]] = _no_names


NO_NAMES: Final = KnownNames()


def subject_as_judged(name: str, value: str) -> str:
    """Return the judged text of an argument: a path without `.` and `..`, a canonical address."""
    match name:
        case "path":
            return normpath(value.strip())
        case "url":
            return canonical_url(value)
        case _:
            return value


def spellings_of(
    tool: str, name: str, subject: str, known: KnownNames = NO_NAMES
) -> tuple[str, ...]:
    """Return other spellings of `subject`, the value of the argument `name` of a call.

    A path without a known name is below scratch/, a memory's file below memory/. A receiver may
    have an `@` in front, or be an id; a key may have spaces around it.
    """
    match name:
        case "path" if tool in MEMORY_TOOLS:
            inner = subject.removeprefix(MEMORY)
            texts = [inner, MEMORY + inner]
        case "path":
            texts = list(known.of_path(subject)) or _in_scratch(subject)
        case "url":
            texts = list(_addresses(subject))
        case "to":
            plain = subject.strip().lstrip("@").strip()
            texts = [plain, short_name(plain.lower()), *known.of_entity(plain)]
        case "key":
            texts = [subject.strip()]
        case _:
            texts = []
    return tuple(dict.fromkeys(text for text in texts if text != subject))


def _in_scratch(path: str) -> list[str]:
    inner = SCRATCH_OF_NODE.sub("", path).removeprefix("scratch/")
    return [inner, f"scratch/{inner}"]


def spellings_of_all(arguments: Mapping[str, Any], known: KnownNames = NO_NAMES) -> tuple[str, ...]:
    """Return the names of nodes and workers in a call, and its arguments with each such name."""
    texts = list[str]()
    for key in NAMED_ENTITIES:
        value = arguments.get(key)
        if not isinstance(value, str):
            continue
        plain = value.strip().lstrip("@").strip()
        for name in (plain, short_name(plain.lower()), *known.of_entity(plain)):
            texts += [name, as_text(dict(arguments) | {key: name})]
    return tuple(dict.fromkeys(texts))


def as_text(arguments: Mapping[str, Any]) -> str:
    """Return all arguments of a call as one text."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)


# --- addresses -----------------------------------------------------------------------------------


def canonical_url(text: str) -> str:
    """Return an address as it is fetched: scheme, host, port, path and query in canonical form.

    The scheme and the host are in lower case, the host is in ASCII and without a final dot, an IPv4
    address has four decimal numbers, the usual port, a user name and a fragment are removed, the
    path has no `.` and `..`, and no letter or digit is escaped. A text that is not an address is
    returned unchanged.
    """
    shown = text.strip()
    if SCHEME_ALONE.match(shown):
        return shown
    try:
        parts = urlsplit(shown if "://" in shown else f"https://{shown}")
        host = _canonical_host(parts.hostname or "")
        port = parts.port
    except (ValueError, UnicodeError):
        return shown
    if not host or parts.scheme not in WEB_SCHEMES:
        return shown
    has_port = port is not None and port != DEFAULT_PORTS.get(parts.scheme)
    path = _without_dots(_unescaped(parts.path)) or "/"
    query = f"?{_unescaped(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{f':{port}' if has_port else ''}{path}{query}"


@lru_cache(maxsize=256)
def url_pattern(pattern: str) -> str:
    """Return the pattern of a rule with its address in canonical form, if possible."""
    has_scheme, has_dots = "://" in pattern, ".." in pattern
    if has_dots or "[" in pattern:
        return pattern
    found = canonical_url(pattern)
    if not has_scheme:
        found = found.partition("://")[2]
    has_path = "/" in pattern.partition("://" if has_scheme else "\0")[2 if has_scheme else 0]
    return found if has_path else found.removesuffix("/")


def _canonical_host(host: str) -> str:
    name = normalize("NFKC", unquote(host)).replace("。", ".").lower().rstrip(".")
    if not name.isascii():
        import idna  # its tables take some milliseconds to load, and few hosts need them

        try:
            name = idna.encode(name, uts46=True).decode("ascii").rstrip(".")
        except idna.IDNAError:
            return name
    number = name.strip("*")  # of a pattern
    if NUMBER.fullmatch(number):
        try:
            return name.replace(number, inet_ntoa(inet_aton(number)))
        except OSError:
            return name
    if ":" in name:
        return f"[{ip_address(name).compressed}]"
    return name


def _unescaped(text: str) -> str:
    """Return a path or query in which only invisible and non-ASCII characters are escaped."""

    def plain(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if UNRESERVED.fullmatch(character) else found[0].upper()

    return ESCAPED.sub(plain, quote(text, safe=VISIBLE))


def _without_dots(path: str) -> str:
    """Return a path without `.` and `..`; an empty name (`//`) stays."""
    names: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == "..":
            names = names[:-1] or names[:1]
        elif part != ".":
            names.append(part)
    if parts[-1] in (".", "..") and names[-1:] != [""]:
        names.append("")
    return "/".join(names)


def _addresses(canonical: str) -> Iterator[str]:
    """Yield other spellings of an address in canonical form."""
    try:
        parts = urlsplit(canonical)
        hosts = list(_hosts(parts))
    except (ValueError, UnicodeError):
        return
    if not parts.hostname:
        return
    if parts.scheme not in WEB_SCHEMES:
        return
    ports = [f":{parts.port}"] if parts.port else ["", f":{DEFAULT_PORTS[parts.scheme]}"]
    query = f"?{parts.query}" if parts.query else ""
    served = _as_served(parts.path)
    ends = [parts.path + query, served + query, _unescaped(served) + query]
    ends.append(unquote(parts.path + query))
    if parts.path == "/" and not query:
        ends.append("")
    for host in hosts:
        for port in ports:
            for end in dict.fromkeys(ends):
                yield f"{parts.scheme}://{host}{port}{end}"
                yield f"{host}{port}{end}"


def _hosts(parts: SplitResult) -> Iterator[str]:
    """Yield the names of a host: an internationalized name decoded, an IPv6 address's IPv4 part."""
    host = parts.hostname or ""
    if ":" in host:
        address = ip_address(host)
        yield f"[{host}]"
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            yield str(address.ipv4_mapped)
        return
    yield host
    if "xn--" in host:
        import idna  # its tables take some milliseconds to load, and few hosts need them

        try:
            yield idna.decode(host)
        except idna.IDNAError:
            return


def _as_served(path: str) -> str:
    """Return a path as many servers interpret it: unescaped, with single slashes."""
    for _ in range(MOST_DECODED):
        path = unquote(path)
    path = re.sub(r"/+", "/", path.replace("\\", "/"))
    return re.sub(r"/+", "/", _without_dots(path)) or "/"
