"""Results: the JSON Schema of a node's `result.json`, and the evidence for a published result.

Evidence consists of executed checks and of hashes of the files. Checks are shell commands in the
spec of a node: `publish` runs them in the node's `scratch/`, and refuses the result if one fails.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import parse_json
from agiraph.core.record import Record, finite, read_strict, refuse_constant, why_not_stored
from agiraph.core.turns import encodable

RESULT_FILE: Final = "result.json"
FENCED: Final = re.compile(r"```\w*\s*\n(.*)\n\s*```", re.DOTALL)
LONGEST_SCHEMA: Final = 16_384
SCHEMAS_KNOWN: Final = 64
MOST_MISFITS: Final = 5
MOST_OBJECTS: Final = 64
MISFIT_CHARACTERS: Final = 300


def check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a valid JSON Schema; raises ValueError with the reason for an invalid one."""
    if why := why_not_stored(schema):
        raise ValueError(f"a schema may not have {why}")
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > LONGEST_SCHEMA:
        raise ValueError(f"a schema may have {LONGEST_SCHEMA} characters, not {len(text)}")
    if why := _why_no_schema(text):
        raise ValueError(f"is not a JSON Schema: {why}")
    return schema


def misfits(schema: dict[str, Any], value: object) -> str:
    """Return the mismatches between a value and a schema as lines, '' if it matches.

    A `$ref` can only refer to the schema itself: nothing is downloaded.
    """
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        found = list(_validator(json.dumps(schema)).iter_errors(value))
    except Unresolvable as error:
        return f"the schema has a $ref that leads nowhere: {error}"
    first = sorted(found, key=lambda error: list(map(str, error.absolute_path)))[:MOST_MISFITS]
    best = best_match(found)
    told = dict.fromkeys(_shown(error) for error in ([best, *first] if best else first))
    return "\n".join(list(told)[:MOST_MISFITS])


def read_result(text: str, schema: dict[str, Any]) -> tuple[Any, str]:
    """Return the value of a JSON text, and why it does not match the schema ('' if it does)."""
    try:
        value = encodable(read_strict(text))
    except ValueError as error:
        return None, f"it is not JSON: {error}"
    return value, misfits(schema, value)


def json_in(text: str, schema: dict[str, Any]) -> Any:
    """Return the JSON value in a text that matches a schema: the whole text, or one object in it.

    The object may be inside a code fence or between other words. Nothing is guessed or repaired:
    raises InvalidInput if no object matches, or if several different ones match.
    """
    fenced = FENCED.fullmatch(text.strip())
    whole, why = read_result(fenced[1] if fenced else text.strip(), schema)
    if not why:
        return whole
    found = list(_objects_in(text))
    fitting: list[Any] = []
    for value in found:
        if not misfits(schema, value) and value not in fitting:
            fitting.append(value)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InvalidInput(f"{len(fitting)} different JSON objects in it fit: give one")
    raise InvalidInput(misfits(schema, found[0]) if len(found) == 1 else why)


def _objects_in(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects in a text; at most MOST_OBJECTS are tried."""
    decoder = json.JSONDecoder(parse_constant=refuse_constant, parse_float=finite)
    at = text.find("{")
    for _ in range(MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if not why_not_stored(value):
                yield encodable(value)
        at = text.find("{", end)


@lru_cache(SCHEMAS_KNOWN)
def _why_no_schema(text: str) -> str:
    """Return why a JSON text is not a valid JSON Schema, '' if it is valid; the result is cached.

    Each record with a schema is validated whenever it is read, and a validation takes milliseconds.
    """
    from jsonschema import SchemaError  # few nodes have a schema

    try:
        type(_validator(text)).check_schema(parse_json(text))
    except SchemaError as error:
        place = "".join(f"[{part!r}]" for part in error.absolute_path)
        return f"{place}: {error.message:.300}"
    return ""


@lru_cache(SCHEMAS_KNOWN)
def _validator(text: str) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    schema = parse_json(text)
    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _shown(error: Any) -> str:
    message = error.message
    if len(message) > MISFIT_CHARACTERS:
        message = f"{message[:MISFIT_CHARACTERS]} ..."
    return f"{error.json_path}: {message}"


MOST_CHECKS = 20
LONGEST_CHECK = 4000
ARTIFACTS_NAMED = 100
PASSED = 0


class CheckResult(Record):
    """The result of a check. `exit_code` None: it timed out; `output` keeps only the end.

    `is_walled`: whether it ran inside the sandbox.
    """

    command: str
    exit_code: int | None
    output: str = ""
    is_walled: bool = False

    @property
    def has_passed(self) -> bool:
        """Whether the check passed."""
        return self.exit_code == PASSED


class Evidence(Record):
    """The checks of a published result, and the SHA-256 sums of the files in `published/`.

    `artifacts` are hexadecimal sums by relative path, the first `ARTIFACTS_NAMED`; `digest`
    is the sum over all files: over the lines `{sum}  {path}` sorted by path, in the
    format of `sha256sum`. `at` is the time when the checks had passed.
    """

    checks: tuple[CheckResult, ...] = ()
    artifacts: dict[str, str] = Field(default_factory=dict)
    digest: str = ""
    at: float = 0.0


def normal_checks(checks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the checks of a node, stripped; raises InvalidInput for too many or invalid ones."""
    kept = tuple(stripped for check in checks if (stripped := check.strip()))
    if len(kept) > MOST_CHECKS:
        raise InvalidInput(f"a node may have {MOST_CHECKS} checks, not {len(kept)}; join some: &&")
    for check in kept:
        if len(check) > LONGEST_CHECK:
            raise InvalidInput(
                f"a check is a command of at most {LONGEST_CHECK} characters, not {len(check)}: "
                f"{check[:60]} ..."
            )
        if "\0" in check:
            raise InvalidInput(f"a check cannot hold a NUL character: {check[:60]!r}")
    return kept
