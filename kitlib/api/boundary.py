"""The reader of all text from outside: it returns plain data or raises a `KitError`, in bounded time and memory.

YAML is read event by event on an explicit stack, so that deep nesting cannot exhaust the interpreter's. Aliases and
merge keys are counted by the values that they expand to. Duplicate keys and tags beyond the JSON types are rejected.
The same rules hold for JSON. The result consists of dict, list, str, int, float, bool and None alone, and its text
can be encoded as UTF-8.

Source: sigs.k8s.io/yaml (YAMLToJSONStrict: duplicate keys, keys become strings); YAML 1.1 types as PyYAML reads them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import accumulate
from typing import Any, ParamSpec, TypeVar

import msgspec

from kitlib.api.errors import KitError, ManifestError

MAX_BYTES = 256 << 20
"""The maximum size of a text in bytes; a dump of 20,000 pods as JSON has half of it."""
MAX_DEPTH = 100
"""The maximum depth of a document; a Pod has 15 levels, a CustomResourceDefinition's schema rarely more than 40."""
MAX_NODES = 600_000
"""The maximum number of values of an expanded YAML text, about a second of work. JSON and plain block style have no
such limit."""
LARGE = 4 << 20
"""The size in bytes from which a JSON text counts as generated; it is not searched for duplicate keys."""
MAX_KEY = 65_536
MAX_DIGITS = 400
"""The maximum number of digits of a number; numbers that matter have at most 40."""
_ALL_BUT_BRACKETS_AND_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))
_ROUND = bytes.maketrans(b"[]{}", b"()()")
_OPENS = ord("(")
SURROGATE = re.compile("[\ud800-\udfff]")


P = ParamSpec("P")
R = TypeVar("R")


def guarded(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a reader of foreign input: exceptions other than KitError and OSError become a ManifestError.

    The decorator belongs on the outermost function of each reader. The checks inside it name the fields; this is the
    last resort for values of a type that no check covers, and its error still names the input.

    Args:
        what: the kind of input that the function reads, for the message.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except (KitError, OSError):
                raise
            except RecursionError:
                raise ManifestError(f"{what}: nested too deeply") from None
            except Exception as error:
                raise ManifestError(f"{what}: cannot be read: {type(error).__name__}: {str(error)[:300]}") from error

        return call

    return decorate


def bracket_depth(text: bytes) -> int:
    """Return the depth of the nesting of a JSON text without parsing it."""
    if len(text) <= LARGE and text.count(b"[") + text.count(b"{") <= MAX_DEPTH // 2:
        return MAX_DEPTH // 2
    # Brackets inside of strings do not nest. Without escaped backslashes and quotes, every second part between quotes
    # is outside of strings. Two quotes without a bracket between them can be dropped, because the parity remains.
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    quoted = text.translate(_ROUND, _ALL_BUT_BRACKETS_AND_QUOTES)
    brackets = b"".join(quoted.replace(b'""', b"").split(b'"')[::2])
    depth = 0
    while b"()" in brackets and depth <= MAX_DEPTH:  # each pass removes the innermost level
        brackets, depth = brackets.replace(b"()", b""), depth + 1
    return depth + max(accumulate(1 if bracket == _OPENS else -1 for bracket in brackets), default=0)


def check_size(text: str | bytes, file: str = "") -> None:
    """Raise ManifestError for a text of more than MAX_BYTES."""
    if len(text) > MAX_BYTES:
        raise ManifestError(f"too long: at most {MAX_BYTES} bytes are read", file=file)


def json_document(text: str | bytes, file: str = "", document: int = 1) -> Any:
    """Parse a JSON text.

    Raises:
        ManifestError: not JSON, a duplicate key in an object, a number or a nesting out of bounds.
        ValueError: not JSON at all; it may be YAML's flow style.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    check_size(raw, file)
    if bracket_depth(raw) > MAX_DEPTH:
        raise ManifestError(f"more than {MAX_DEPTH} levels", file=file, document=document)
    try:
        # msgspec takes the last of duplicate keys; files of this size come from programs, which write none.
        if len(raw) > LARGE:
            return msgspec.json.decode(raw)
        data = _json.decode(raw.decode("utf-8"))
    except msgspec.DecodeError as error:
        raise ManifestError(f"not JSON: {error}", file=file, document=document) from None
    except UnicodeDecodeError as error:
        raise ManifestError(not_utf8(error), file=file, document=document) from None
    except RecursionError:
        raise ManifestError(f"more than {MAX_DEPTH} levels", file=file, document=document) from None
    except _Refused as error:
        raise ManifestError(str(error), file=file, document=document) from None
    # Surrogates, which UTF-8 cannot contain, can only come from \u escapes.
    if "\\u" in (text if isinstance(text, str) else text.decode("utf-8")):
        check_data(data, file=file, document=document)
    return data


def not_utf8(error: UnicodeDecodeError) -> str:
    """Report the byte of a text that is not UTF-8, and its position."""
    return f"not text in UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start}"


class _Refused(Exception):
    """A value that the rules do not allow, with the reason as its text."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"key {shortened(key)} already set in map")
            seen.add(key)
    return made


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"a number of {len(digits)} digits")
    return int(digits)


def _decimal(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found) or len(digits) > 10 * MAX_DIGITS:
        raise _Refused(f"number {shortened(digits)} is out of range")
    return found


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON value")


_json = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_decimal, parse_constant=_constant, strict=False
)


def check_data(data: Any, *, file: str = "", document: int = 0) -> None:
    """Check plain data that did not come from a parser: bounded, acyclic, of JSON's types, text encodable as UTF-8.

    Raises:
        ManifestError: a value breaks one of these rules; the error has the path of the first one.
    """
    # An explicit stack: data that contains itself reaches MAX_DEPTH instead of the interpreter's recursion limit.
    stack: list[tuple[Any, int, tuple[Any, ...]]] = [(data, 0, ())]
    count = 0
    while stack:
        value, depth, path = stack.pop()
        count += 1
        problem = _problem(value, depth, count)
        if problem:
            raise ManifestError(problem, file=file, document=document, field=field_path(path))
        if isinstance(value, Mapping):
            for key, item in value.items():
                if not isinstance(key, str) or len(key) > MAX_KEY or (not key.isascii() and SURROGATE.search(key)):
                    problem = f"key {shortened(key)}: a text of at most {MAX_KEY} characters is expected"
                    raise ManifestError(problem, file=file, document=document, field=field_path(path))
                if type(item) is not str or not item.isascii():
                    stack.append((item, depth + 1, (*path, key)))
        elif isinstance(value, list | tuple):
            stack += [(item, depth + 1, (*path, number)) for number, item in enumerate(value)]


def _problem(value: Any, depth: int, count: int) -> str:
    if depth > MAX_DEPTH:
        return f"more than {MAX_DEPTH} levels (or a value that contains itself)"
    if count > 20 * MAX_NODES:
        return f"more than {20 * MAX_NODES} values"
    if isinstance(value, str):
        found = None if value.isascii() else SURROGATE.search(value)
        return f"character U+{ord(found[0]):04X} is not allowed in a text" if found else ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON value"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1024:
        return f"a number of more than {MAX_DIGITS} digits"
    return ""


def field_path(path: tuple[Any, ...]) -> str:
    text = ""
    for step in path[:MAX_DEPTH]:
        text += f"[{step}]" if isinstance(step, int) else f".{step[:200]}" if text else step[:200]
    return text if len(text) < 1000 else f"{text[:500]}…"


def shortened(value: Any) -> str:
    text = str(value)
    return json.dumps(text if len(text) <= 80 else f"{text[:80]}… ({len(text)} characters)", ensure_ascii=True)
