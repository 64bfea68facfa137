"""Every text from outside becomes plain data here, or one error of the kit's own, in bounded time and memory.

YAML is read event by event on a stack of our own: nesting cannot exhaust the interpreter's, aliases and merge keys are
counted by what they expand to, a key stands once, a tag beyond the JSON types is refused. JSON keeps the same rules.
What comes out consists of dict, list, str, int, float, bool and None alone, with text that can be written as UTF-8.

Source: sigs.k8s.io/yaml (YAMLToJSONStrict: duplicate keys, keys become strings); YAML 1.1 types as PyYAML reads them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, wraps
from itertools import accumulate
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from kitlib.api.errors import KitError, ManifestError

MAX_BYTES = 256 << 20
"""Of a text: a dump of 20,000 pods as JSON is half of this."""
MAX_DEPTH = 100
"""Levels of a document: a Pod has 15, a CustomResourceDefinition's schema rarely more than 40."""
MAX_NODES = 600_000
"""Values that a YAML text may expand to: a second of work. Larger ones are read as JSON, or in plain block style."""
LARGE = 4 << 20
"""Bytes from which a JSON text counts as written by a program: keys that stand twice are not looked for."""
MAX_KEY = 65_536
MAX_DIGITS = 400
"""Digits of a number: none that is compared with anything has more than 40."""
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BAD = re.compile("[\ud800-\udfff]")
_MERGE = "tag:yaml.org,2002:merge"
_CORE = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float", "str", "seq", "map")}


P = ParamSpec("P")
R = TypeVar("R")


def guarded(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Whatever a reader of foreign input raises beside the kit's own errors becomes one of these.

    It stands around the outermost function of each reader, behind the checks that name fields: a value of a type that
    nobody thought of is still an error that says what was read.

    Args:
        what: was read, for the message.
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
    """How deeply a JSON text is nested, without reading it."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH // 2:
        return MAX_DEPTH // 2
    brackets = _TEXTS.sub(b"", text).translate(None, _ALL_BUT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def check_size(text: str | bytes, file: str = "") -> None:
    """Raises: ManifestError, for a text that is too long."""
    if len(text) > MAX_BYTES:
        raise ManifestError(f"too long: {len(text)} bytes, at most {MAX_BYTES} are read", file=file)


def json_document(text: str | bytes, file: str = "", document: int = 1) -> Any:
    """The data of a JSON text.

    Raises:
        ManifestError: not JSON, a key twice in one object, a number or a nesting out of bounds.
        ValueError: not JSON at all; it may be YAML's flow style.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    check_size(raw, file)
    if bracket_depth(raw) > MAX_DEPTH:
        raise ManifestError(f"more than {MAX_DEPTH} levels", file=file, document=document)
    try:
        if len(raw) > LARGE:
            return msgspec.json.decode(raw)
        data = _json.decode(raw.decode("utf-8"))
    except msgspec.DecodeError as error:
        raise ManifestError(f"not JSON: {error}", file=file, document=document) from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"not text: {error}", file=file, document=document) from None
    except RecursionError:
        raise ManifestError(f"more than {MAX_DEPTH} levels", file=file, document=document) from None
    except _Refused as error:
        raise ManifestError(str(error), file=file, document=document) from None
    if "\\u" in (text if isinstance(text, str) else text.decode("utf-8")):  # only escapes can write what is refused
        check_data(data, file=file, document=document)
    return data


class _Refused(Exception):
    """A value that the rules do not allow."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"key {_short(key)} already set in map")
            seen.add(key)
    return made


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"a number of {len(digits)} digits")
    return int(digits)


def _decimal(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found) or len(digits) > 10 * MAX_DIGITS:
        raise _Refused(f"number {_short(digits)} is out of range")
    return found


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON value")


_json = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_decimal, parse_constant=_constant, strict=False
)


def check_data(data: Any, *, file: str = "", document: int = 0) -> None:
    """Plain data that did not come through a parser: bounded, acyclic, of JSON's types, text that UTF-8 can hold.

    Raises:
        ManifestError: with the path of the first value that is not.
    """
    stack: list[tuple[Any, int, tuple[Any, ...]]] = [(data, 0, ())]
    count = 0
    while stack:
        value, depth, path = stack.pop()
        count += 1
        problem = _problem(value, depth, count)
        if problem:
            raise ManifestError(problem, file=file, document=document, field=_path(path))
        if isinstance(value, Mapping):
            for key, item in value.items():
                if not isinstance(key, str) or len(key) > MAX_KEY or (not key.isascii() and _BAD.search(key)):
                    problem = f"key {_short(key)}: a text of at most {MAX_KEY} characters is expected"
                    raise ManifestError(problem, file=file, document=document, field=_path(path))
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
        found = None if value.isascii() else _BAD.search(value)
        return f"character U+{ord(found[0]):04X} is not allowed in a text" if found else ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON value"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1024:
        return f"a number of more than {MAX_DIGITS} digits"
    return ""


def _path(path: tuple[Any, ...]) -> str:
    text = ""
    for step in path[:MAX_DEPTH]:
        text += f"[{step}]" if isinstance(step, int) else f".{step[:200]}" if text else step[:200]
    return text if len(text) < 1000 else f"{text[:500]}…"


def _short(value: Any) -> str:
    text = str(value)
    return json.dumps(text if len(text) <= 80 else f"{text[:80]}… ({len(text)} characters)", ensure_ascii=True)


# YAML.


class _Built(NamedTuple):
    """A value with what it costs to walk it.

    Attributes:
        value: plain data.
        size: values in it, aliases counted by what they stand for.
        height: levels below it.
    """

    value: Any
    size: int = 1
    height: int = 0


class _Open:
    """A sequence or mapping that has begun.

    Attributes:
        value: what it holds so far.
        key: of a mapping, when its value is awaited.
        merged: what `<<` brought.
    """

    __slots__ = ("anchor", "awaits", "height", "key", "merged", "size", "value")

    def __init__(self, value: list[Any] | dict[str, Any], anchor: str | None) -> None:
        self.value, self.anchor = value, anchor
        self.key, self.awaits = "", False
        self.merged: list[dict[str, Any]] = []
        self.size, self.height = 1, 0


def yaml_documents(text: str | bytes, file: str = "") -> Iterator[Any]:
    """The documents of a YAML text as plain data; None for an empty one.

    Raises:
        ManifestError: with the document's number, line and column, and the path of the field.
    """
    import yaml

    check_size(text, file)
    number = count = 0
    try:
        parser = _parser_type()(text)
        while not parser.check_event(yaml.StreamEndEvent):
            if parser.check_event(yaml.StreamStartEvent):
                parser.get_event()
                continue
            number += 1
            parser.get_event()  # the document's start
            reader = _Reader(file, number, count)
            yield reader.document(parser)
            count = reader.count
            parser.get_event()  # its end
    except yaml.YAMLError as error:
        raise ManifestError(f"not YAML: {_one_line(error)}", file=file, document=max(1, number)) from None
    except UnicodeError as error:
        raise ManifestError(f"not text: {getattr(error, 'reason', error)}", file=file) from None


@lru_cache(maxsize=1)
def _parser_type() -> Any:
    """A parser of events alone: libyaml's where it is installed."""
    import yaml

    if hasattr(yaml, "CSafeLoader"):
        return type("EventParser", (vars(yaml.cyaml)["CParser"],), {})
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    def begin(self: Any, stream: Any) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)

    return type("EventParser", (Reader, Scanner, Parser), {"__init__": begin})


def _one_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    text = str(getattr(error, "problem", None) or error).replace("\n", " ")
    return f"{text[:200]}{where}"


class _Reader:
    """Builds one document from its events.

    Args:
        file, number: for messages.
        count: values of the documents before.
    """

    def __init__(self, file: str, number: int, count: int) -> None:
        self._file, self._number = file, number
        self._anchors: dict[str, _Built] = {}
        self._open: list[_Open] = []
        self.count = count + 1

    def document(self, parser: Any) -> Any:
        """The document's value; the parser stands behind its start."""
        import yaml

        while True:
            event = parser.get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                made = _Built(self._scalar(event))
                self._remember(event.anchor, made)
                if isinstance(made.value, _Merge) and not self._may_merge():
                    made = _Built("<<")
            elif kind is yaml.AliasEvent:
                made = self._alias(event)
            elif kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                self._begin(event, {} if kind is yaml.MappingStartEvent else [])
                continue
            else:
                made = self._end(event)
            self.count += made.size
            if self.count > MAX_NODES:
                raise self._wrong(f"more than {MAX_NODES} values, aliases expanded; as JSON it can be larger", event)
            if not self._open:
                return made.value
            self._put(made, event)

    def _begin(self, event: Any, value: Any) -> None:
        tag = event.tag
        if tag is not None and tag not in ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self._wrong(f"tag {_short(tag)} is not one of JSON's types", event)
        if len(self._open) >= MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} levels", event)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        if self._open and isinstance(self._open[-1].value, dict) and not self._open[-1].awaits:
            raise self._wrong("a key must be a text, a number or a truth value", event)
        self._open.append(_Open(value, event.anchor))

    def _end(self, event: Any) -> _Built:
        done = self._open.pop()
        value = done.value
        if done.merged and isinstance(value, dict):
            whole: dict[str, Any] = {}
            for merged in reversed(done.merged):  # the first one wins, the mapping's own keys win over all
                whole.update(merged)
            value = {**whole, **value}
        made = _Built(value, done.size, done.height)
        self._remember(done.anchor, made)
        return made

    def _remember(self, anchor: str | None, made: _Built) -> None:
        if anchor is not None:
            self._anchors[anchor] = made

    def _alias(self, event: Any) -> _Built:
        made = self._anchors.get(event.anchor)
        if made is None:
            inside = any(one.anchor == event.anchor for one in self._open)
            why = "contains itself" if inside else "is not defined before"
            raise self._wrong(f"anchor {_short(event.anchor)} {why}", event)
        if len(self._open) + made.height > MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} levels", event)
        return made

    def _may_merge(self) -> bool:
        """Whether `<<` stands where a key does."""
        return bool(self._open) and isinstance(self._open[-1].value, dict) and not self._open[-1].awaits

    def _put(self, made: _Built, event: Any) -> None:
        top = self._open[-1]
        top.size += made.size
        top.height = max(top.height, made.height + 1)
        if isinstance(top.value, list):
            top.value.append(made.value)
        elif not top.awaits:
            top.key, top.awaits = self._key(made.value, event), True
        else:
            top.awaits = False
            if top.key is _MERGE:
                top.merged += self._merged(made.value, event)
            else:
                top.value[top.key] = made.value

    def _key(self, value: Any, event: Any) -> str:
        """Keys become text. Source: sigs.k8s.io/yaml convertToJSONableObject."""
        if isinstance(value, _Merge):
            return _MERGE
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            raise self._wrong("a key must be a text, a number or a truth value", event)
        if len(value) > MAX_KEY:
            raise self._wrong(f"a key of {len(value)} characters, at most {MAX_KEY} are read", event)
        if value in self._open[-1].value:
            raise self._wrong(f"key {_short(value)} already set in map", event)
        return value

    def _merged(self, value: Any, event: Any) -> list[dict[str, Any]]:
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in found):
            raise self._wrong("a merge key needs a mapping or a list of mappings", event)
        return found

    def _scalar(self, event: Any) -> Any:
        text, tag = event.value, event.tag
        if tag in (None, "!"):
            plain = tag is None and event.implicit[0]
            value = _resolved(text) if plain and len(text) <= MAX_DIGITS else text
            if isinstance(value, _Unreadable):
                raise self._wrong(f"{_short(text)}: {value.why}", event)
            if plain and value is text and len(text) > MAX_DIGITS and _NUMBER.fullmatch(text):
                raise self._wrong(f"a number of {len(text)} digits", event)
        elif tag in _CORE:
            value = _tagged(text, _CORE[tag])
            if isinstance(value, _Unreadable):
                raise self._wrong(f"{_short(text)}: {value.why}", event)
        else:
            raise self._wrong(f"tag {_short(tag)} is not one of JSON's types", event)
        if type(value) is str and not value.isascii() and (found := _BAD.search(value)):
            raise self._wrong(f"character U+{ord(found[0]):04X} is not allowed in a text", event)
        return value

    def _wrong(self, problem: str, event: Any) -> ManifestError:
        mark = event.start_mark
        steps: list[Any] = []
        for one in self._open:
            if isinstance(one.value, list):
                steps.append(len(one.value))
            elif one.awaits:
                steps.append(one.key)
        where = f"{problem}, line {mark.line + 1}, column {mark.column + 1}"
        return ManifestError(where, file=self._file, document=self._number, field=_path(tuple(steps)))


class _Merge:
    """The plain scalar `<<`."""


class _Unreadable(NamedTuple):
    """A scalar that its type does not allow."""

    why: str


_NUMBER = re.compile(r"[-+]?[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?")


@lru_cache(maxsize=1)
def _safe() -> Any:
    import yaml

    return yaml.SafeLoader("")


@lru_cache(maxsize=16_384)
def _resolved(text: str) -> Any:
    """What a plain scalar means by YAML 1.1's rules, as PyYAML applies them; dates stay texts, as in Kubernetes."""
    import yaml

    tag = _safe().resolve(yaml.ScalarNode, text, (True, False))
    if tag == _MERGE:
        return _Merge()
    name = _CORE.get(tag, "str")
    return text if name == "str" else _tagged(text, name)


def _tagged(text: str, name: str) -> Any:
    import yaml

    if name == "str":
        return text
    if name in ("seq", "map"):
        return _Unreadable(f"a {name} is expected")
    if len(text) > MAX_DIGITS:
        return _Unreadable(f"a number of {len(text)} digits")
    node = yaml.ScalarNode(f"tag:yaml.org,2002:{name}", text)
    try:
        value = getattr(_safe(), f"construct_yaml_{name}")(node)
    except (ValueError, KeyError, OverflowError, IndexError, yaml.YAMLError):
        return _Unreadable(f"not a value of type {name}")
    if isinstance(value, float) and not math.isfinite(value):
        return _Unreadable("not a JSON value")
    return value
