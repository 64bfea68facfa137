"""A reader of YAML that processes events on an explicit stack and returns plain data.

Deep nesting cannot exhaust the interpreter's stack. Aliases and merge keys are counted by the values that they expand
to. Duplicate keys and tags beyond the JSON types are rejected. The API server's decoder takes the last value of a
duplicate key: `yaml_documents(…, repeated=[])` does so too and lists such keys.

Source: sigs.k8s.io/yaml (YAMLToJSONStrict: duplicate keys, keys become strings); YAML 1.1 types as PyYAML reads them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from kitlib.api.boundary import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_KEY,
    MAX_NODES,
    SURROGATE,
    check_size,
    field_path,
    shortened,
)
from kitlib.api.errors import ManifestError
from kitlib.api.go_values import go_quote

_MERGE = "tag:yaml.org,2002:merge"
_CORE = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float", "str", "seq", "map")}


class _Built(NamedTuple):
    """A value with its size.

    Attributes:
        value: the plain data.
        size: the number of values in it, with aliases expanded.
        height: the number of levels below it.
    """

    value: Any
    size: int = 1
    height: int = 0


class _Open:
    """A sequence or mapping that has begun and not ended.

    Attributes:
        value: the items so far.
        key: the key of a mapping whose value comes next.
        merged: the items that `<<` adds.
        line: the line of the value of a duplicate key; 0 = the key is not a duplicate.
    """

    __slots__ = ("anchor", "awaits", "height", "key", "line", "merged", "size", "value")

    def __init__(self, value: list[Any] | dict[str, Any], anchor: str | None) -> None:
        self.value, self.anchor = value, anchor
        self.key, self.awaits, self.line = "", False, 0
        self.merged: list[dict[str, Any]] = []
        self.size, self.height = 1, 0


def yaml_documents(text: str | bytes, file: str = "", repeated: list[str] | None = None) -> Iterator[Any]:
    """Yield the documents of a YAML text as plain data; None for an empty document.

    Args:
        text: the YAML text.
        file: the file's name, for messages.
        repeated: receives a line in go-yaml's words for each duplicate key; None = duplicate keys are rejected.

    Raises:
        ManifestError: the text is invalid; the error has the document's number, line, column and the field's path.
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
            reader = _Reader(file, number, count, repeated)
            yield reader.document(parser)
            count = reader.count
            parser.get_event()  # its end
    except yaml.YAMLError as error:
        found = ManifestError(f"not YAML: {_one_line(error)}", file=file, document=max(1, number))
        found.excerpt = _excerpt(text, getattr(error, "problem_mark", None))
        raise found from None
    except UnicodeError as error:
        raise ManifestError(f"not text: {getattr(error, 'reason', error)}", file=file) from None


_WIDEST = 160
"""The maximum length of a line in an excerpt, in characters."""


@lru_cache(maxsize=1)
def _parser_type() -> Any:
    """Return the class of a parser of events only: libyaml's where it is installed."""
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


def _excerpt(text: str | bytes, mark: Any) -> str:
    """Return the line of a mark and the two above it, numbered, with a caret below the position."""
    if mark is None or not isinstance(text, str):
        return ""
    lines = text.splitlines()
    last = min(mark.line, len(lines) - 1)
    shown = [f"{n + 1:4} | {lines[n][:_WIDEST]}" for n in range(max(0, last - 2), last + 1)]
    return "\n".join([*shown, f"     | {' ' * min(mark.column, _WIDEST)}^"])


class _Reader:
    """Builds one document from its events.

    Args:
        file, number: the file's name and the document's number, for messages.
        count: the number of values in the documents before.
        repeated: receives a line for each duplicate key; None = duplicate keys are rejected.
    """

    def __init__(self, file: str, number: int, count: int, repeated: list[str] | None = None) -> None:
        self._file, self._number, self._repeated = file, number, repeated
        self._anchors: dict[str, _Built] = {}
        self._open: list[_Open] = []
        self.count = count + 1

    def document(self, parser: Any) -> Any:
        """Return the document's value, from a parser positioned behind the document's start."""
        import yaml

        while True:
            event = parser.get_event()
            kind = type(event)
            if self._open and self._open[-1].line < 0:
                self._open[-1].line = event.start_mark.line + 1
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
            # The size includes expanded aliases, so nested aliases ("billion laughs") reach the limit early.
            self.count += made.size
            if self.count > MAX_NODES:
                raise self._wrong(f"more than {MAX_NODES} values, aliases expanded; as JSON it can be larger", event)
            if not self._open:
                return made.value
            self._put(made, event)

    def _begin(self, event: Any, value: Any) -> None:
        tag = event.tag
        if tag is not None and tag not in ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self._wrong(f"tag {shortened(tag)} is not one of JSON's types", event)
        if len(self._open) >= MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} levels", event)
        if event.anchor is not None:
            # An anchor counts from its end on: an alias inside of its own value would make the data cyclic.
            self._anchors.pop(event.anchor, None)
        if self._open and isinstance(self._open[-1].value, dict) and not self._open[-1].awaits:
            raise self._wrong("a key must be a text, a number or a truth value", event)
        self._open.append(_Open(value, event.anchor))

    def _end(self, event: Any) -> _Built:
        done = self._open.pop()
        value = done.value
        if done.merged and isinstance(value, dict):
            whole: dict[str, Any] = {}
            for merged in reversed(done.merged):  # the first merge wins; the mapping's own keys win over all
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
            inside = any(open_.anchor == event.anchor for open_ in self._open)
            why = "contains itself" if inside else "is not defined before"
            raise self._wrong(f"anchor {shortened(event.anchor)} {why}", event)
        if len(self._open) + made.height > MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} levels", event)
        return made

    def _may_merge(self) -> bool:
        """Return whether `<<` is at the position of a key."""
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
                if top.line and self._repeated is not None:  # go-yaml reports it after it has read the value
                    self._repeated.append(f"line {top.line}: key {go_quote(top.key)} already set in map")
                    top.line = 0

    def _key(self, value: Any, event: Any) -> str:
        """Convert a key to text. Source: sigs.k8s.io/yaml convertToJSONableObject."""
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
        if value in self._open[-1].value and self._repeated is not None:
            self._open[-1].line = -1  # the line of the value, which begins with the next event
        elif value in self._open[-1].value:
            raise self._wrong(f"key {shortened(value)} already set in map", event)
        return value

    def _merged(self, value: Any, event: Any) -> list[dict[str, Any]]:
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in found):
            raise self._wrong("a merge key needs a mapping or a list of mappings", event)
        return found

    def _scalar(self, event: Any) -> Any:
        text, tag = event.value, event.tag
        if tag in (None, "!"):
            # Only plain scalars are resolved to other types; a quoted "1" remains a string.
            plain = tag is None and event.implicit[0]
            value = _resolved(text) if plain and len(text) <= MAX_DIGITS else text
            if isinstance(value, _Unreadable):
                raise self._wrong(f"{shortened(text)}: {value.why}", event)
            if plain and value is text and len(text) > MAX_DIGITS and _NUMBER.fullmatch(text):
                raise self._wrong(f"a number of {len(text)} digits", event)
        elif tag in _CORE:
            value = _tagged(text, _CORE[tag])
            if isinstance(value, _Unreadable):
                raise self._wrong(f"{shortened(text)}: {value.why}", event)
        else:
            raise self._wrong(f"tag {shortened(tag)} is not one of JSON's types", event)
        if type(value) is str and not value.isascii() and (found := SURROGATE.search(value)):
            raise self._wrong(f"character U+{ord(found[0]):04X} is not allowed in a text", event)
        return value

    def _wrong(self, problem: str, event: Any) -> ManifestError:
        mark = event.start_mark
        steps: list[Any] = []
        for open_ in self._open:
            if isinstance(open_.value, list):
                steps.append(len(open_.value))
            elif open_.awaits:
                steps.append(open_.key)
        where = f"{problem}, line {mark.line + 1}, column {mark.column + 1}"
        return ManifestError(where, file=self._file, document=self._number, field=field_path(tuple(steps)))


class _Merge:
    """The plain scalar `<<`."""


class _Unreadable(NamedTuple):
    """A scalar that is invalid for its tag."""

    why: str


_NUMBER = re.compile(r"[-+]?[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?")


@lru_cache(maxsize=1)
def _safe() -> Any:
    import yaml

    return yaml.SafeLoader("")


@lru_cache(maxsize=16_384)
def _resolved(text: str) -> Any:
    """Return the value of a plain scalar by PyYAML's rules of YAML 1.1; dates remain text, as in Kubernetes."""
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
