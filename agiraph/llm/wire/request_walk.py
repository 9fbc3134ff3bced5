"""Check that a whole request refers to no content outside of the request itself. Pure.

The tables of a format (`request_rules`) list the forwarded items and fields. The walk checks all
values, at every depth: only certain fields may have an object or a list; no field names an object
at the service; an address is a data URL or leads to the web. Schemas and arguments are not checked:
a model reads them as text, and no service interprets them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject

STORED_NAMES: Final = frozenset({
    "fileid", "fileids", "fileuri", "containerid", "attachments", "audio", "vectorstoreid",
    "vectorstoreids", "previousresponseid", "responseid", "conversationid", "promptid", "itemid",
    "cachedcontent", "uploadid", "assetid", "filesearchstorenames",
})  # fmt: skip
"""The fields that refer to objects stored at a service, without underscores."""
STORED_TYPES: Final = ("item_reference", "container_reference", "container_upload")
TEXT_REFERENCE: Final = "fileid://"
"""The prefix of a text that a service (DashScope) replaces by a stored file."""
SYSTEM_ROLES: Final = ("system", "developer")
SYSTEM_FIELDS: Final = frozenset({"system", "instructions", "systeminstruction"})
SHOWN_CHARACTERS: Final = 60
SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
WEB: Final = re.compile(r"https?://[!-~]+", re.IGNORECASE)
TOKEN: Final = r"[A-Za-z0-9!#$&^_.+\-]+"
MEDIA_TYPE: Final = re.compile(
    rf"(?P<type>{TOKEN}/{TOKEN})(?: ?; ?{TOKEN}=(?:{TOKEN}|\"[^\"\\]*\"))*"
)
DATA_URL: Final = re.compile(
    rf"data:(?P<type>{TOKEN}/{TOKEN})?(?:;{TOKEN}=(?:{TOKEN}|\"[^\"\\]*\"))*(?:;base64)?,[!-~]*",
    re.IGNORECASE,
)
"""A data URL (RFC 2397), without spaces."""
PLAIN_TEXT: Final = "text/plain"
BASE64: Final = re.compile(r"[A-Za-z0-9+/_=\-\s]*")
FORWARDED_MEDIA: Final = re.compile(
    r"(image|text|video)/.+|application/(pdf|json|xml|yaml|x-yaml|toml|rtf|msword|vnd\..+"
    r"|(x-)?(javascript|ecmascript|typescript|python|sh|sql|tex|ndjson)|x-httpd-php|x-ipynb\+json)"
)
"""The types of the pictures, videos and documents that are forwarded."""
AUDIO: Final = re.compile(r"audio/.*|application/(x-)?(ogg|opus|mp3|mpeg|wav|flac|aac)\b.*")


_Waiting = tuple[Any, str, bool, frozenset[str], bool]
"""A value, its place, whether it is part of the system prompt, the fields that may have an object
or a list, and whether it is in an aside."""


@dataclass(frozen=True)
class Places:
    """The places of objects and lists in a format; names are separated by spaces.

    `top` are the parameters, `inner` the fields at any depth that may have an object or a list.
    `literal` are the fields whose JSON a model reads as text, with their required type. `asides`
    are fields that belong to an earlier answer, with the fields below them that may have an object
    or a list. `media` is the pattern of the places of pictures and files, in lower case without
    underscores; a picture or file at another place is not counted, and so refused.
    """

    top: str
    inner: str
    literal: Mapping[str, type | tuple[type, ...]]
    media: str
    asides: Mapping[str, str] = field(default_factory=dict)
    _top: frozenset[str] = field(init=False)
    _inner: frozenset[str] = field(init=False)
    _literal: Mapping[str, type | tuple[type, ...]] = field(init=False)
    _asides: Mapping[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_top", frozenset(map(plain, self.top.split())))
        object.__setattr__(self, "_inner", frozenset(map(plain, self.inner.split())))
        object.__setattr__(self, "_literal", {plain(k): v for k, v in self.literal.items()})
        asides = {plain(k): frozenset(map(plain, v.split())) for k, v in self.asides.items()}
        object.__setattr__(self, "_asides", asides)

    def check(self, body: JsonObject) -> None:
        """Raise InvalidInput for the first value that refers to content outside of the request."""
        waiting: list[_Waiting] = [(body, "", False, self._top, False)]
        while waiting:
            value, where, is_system, allowed, is_aside = waiting.pop()
            if isinstance(value, str):
                _check_text(value, where, is_system=is_system)
            elif isinstance(value, list):
                waiting += (
                    (one, f"{where}.{number}", is_system, allowed, is_aside)
                    for number, one in enumerate(value)
                )
            elif isinstance(value, dict):
                is_system = is_system or value.get("role") in SYSTEM_ROLES
                is_top = not where
                for name, inner in self._fields(value, where, allowed, is_aside=is_aside):
                    key, place = plain(name), f"{where}.{name}".lstrip(".")
                    of_system = is_system or (is_top and key in SYSTEM_FIELDS)
                    aside = None if is_aside or is_top else self._asides.get(key)
                    below = allowed if is_aside else self._inner if aside is None else aside
                    waiting.append((inner, place, of_system, below, is_aside or aside is not None))

    def _fields(
        self, value: JsonObject, where: str, allowed: frozenset[str], *, is_aside: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield the fields of an object whose values are checked further."""
        is_top = not where
        for name, inner in value.items():
            key, place = plain(name), f"{where}.{name}".lstrip(".")
            if inner is None:
                continue
            if key in STORED_NAMES or (key == "type" and inner in STORED_TYPES):
                raise InvalidInput(
                    f"{place}: an object stored at the service has no size that a budget sees"
                )
            if (expected := self._literal.get(key)) is not None and not is_top:
                if not isinstance(inner, expected):
                    raise InvalidInput(
                        f"{place}: expected JSON {_names(expected)}, not {shown(inner)}"
                    )
                continue
            if isinstance(inner, dict | list) and key not in allowed:
                kind = "a list" if isinstance(inner, list) else "an object"
                raise InvalidInput(f"{place}: expected text, a number, true or false, not {kind}")
            is_address = key.endswith(("url", "uri")) and isinstance(inner, str)
            is_media = is_address and bool(media_of_url(inner, place))
            is_media = is_media or _is_media(value, key, where)
            if is_media and not re.fullmatch(self.media, plain(place)):
                raise InvalidInput(
                    f"{place}: a picture or file here has no size that a budget sees"
                )
            if not is_address:
                yield name, inner


def _is_media(holder: JsonObject, key: str, where: str) -> bool:
    """Whether a field of an object, which is at `where`, is a picture or file or its address.

    A field `url` is one in a source or in an address that is an object; elsewhere it is a citation.
    """
    if key in ("url", "uri"):
        return holder.get("type") == "url" or plain(where).endswith("url")
    if key == "data":
        return any(plain(name) in ("mimetype", "mediatype") for name in holder)
    return key == "filedata" or key.endswith(("url", "uri"))


def plain(name: str) -> str:
    """Return a name in lower case without underscores, for comparisons."""
    return name.replace("_", "").lower()


def shown(value: Any) -> str:
    """Return a value for people, cut if it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _names(expected: type | tuple[type, ...]) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "true, false"}
    kinds = expected if isinstance(expected, tuple) else (expected,)
    return " or ".join(names[kind] for kind in kinds)


def _check_text(text: str, where: str, *, is_system: bool) -> None:
    found = text[: 1 << 20].lower() if is_system else text.lstrip()[: len(TEXT_REFERENCE)].lower()
    if TEXT_REFERENCE in found:
        raise InvalidInput(
            f"{where}: {TEXT_REFERENCE} refers to a file at the service, which has no size that a "
            "budget sees"
        )


# --- addresses and media types -------------------------------------------------------------------


def media_of_url(url: Any, where: str) -> str:
    """Return the media type of a data URL, in lower case, '' for an address in the web.

    Raises InvalidInput for any other address, for an invalid data URL, and for a type that is not
    forwarded.
    """
    if isinstance(url, str) and WEB.fullmatch(url):
        return ""
    found = DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        raise InvalidInput(
            f"{where}: {shown(url)} is not forwarded "
            "(possible: https://..., http://..., data:TYPE/SUBTYPE;base64,...)"
        )
    return _forwarded(found["type"] or PLAIN_TEXT, where)


def media_type(text: Any, where: str) -> str:
    """Return the type of a media type without its parameters, in lower case.

    Raises InvalidInput.
    """
    found = MEDIA_TYPE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput(f"{where}: {shown(text)} is no media type (possible: TYPE/SUBTYPE)")
    return _forwarded(found["type"], where)


def media_of_file(data: Any, where: str) -> str | None:
    """Return the media type of a file in a request, '' at an address, None if it has none.

    Raises InvalidInput for data that is neither base64 nor an address.
    """
    if isinstance(data, str) and SCHEME.match(data) is None and BASE64.fullmatch(data):
        return None
    return media_of_url(data, where)


def _forwarded(kind: str, where: str) -> str:
    kind = kind.lower()
    if AUDIO.fullmatch(kind):
        raise InvalidInput(f"{where}: {shown(kind)}: audio has a price of its own")
    if not FORWARDED_MEDIA.fullmatch(kind):
        raise InvalidInput(
            f"{where}: {shown(kind)} is not forwarded "
            "(possible: image/..., text/..., video/..., application/pdf and documents)"
        )
    return kind
