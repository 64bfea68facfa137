"""JSON patches as the API server's library applies them.

It differs from RFC 6902: `replace` of an absent key adds it, negative indices count from the end, and a failed `test`
is an error of its own.

Source: gopkg.in/evanphx/json-patch.v4 patch.go; RFC 6902, RFC 6901.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from kitlib.api.errors import KitError

MAX_COPIED = 3 << 20
"""The maximum total size in bytes of a patch's copies. Source: apiserver server.Config JSONPatchMaxCopyBytes."""
_MISSING, _NO_INDEX = "missing value", "invalid index detected"


class PatchError(KitError):
    """A patch that cannot be applied."""


class UnmetTest(PatchError):
    """A failed `test` operation."""


class CopiesTooLarge(PatchError):
    """The copies of a patch exceed MAX_COPIED."""


def apply_json_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Apply the operations in order to a copy of the document and return it.

    Raises:
        PatchError: with the library's message.
    """
    patch = _Patch(deepcopy(document))
    for operation in operations:
        work = _WORK.get(str(operation.get("op")))
        if work is None:
            raise PatchError(f"Unexpected kind: {operation.get('op', 'unknown')}")
        work(patch, operation)
    return patch.document


class _Patch:
    """A document that is being patched."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied = 0

    def add(self, one: Mapping[str, Any]) -> None:
        path = _path(one, "path", "add operation failed to decode path")
        place, key = self._place(path, f'add operation does not apply: doc is missing path: "{path}"')
        # A copy, because later operations can change the inserted value, but must not change the patch.
        _wrapped(f"error in add for path: '{path}'", _insert, place, key, deepcopy(one.get("value")))

    def remove(self, one: Mapping[str, Any]) -> None:
        path = _path(one, "path", "remove operation failed to decode path")
        place, key = self._place(path, f'remove operation does not apply: doc is missing path: "{path}"')
        _wrapped(f"error in remove for path: '{path}'", _take, place, key)

    def replace(self, one: Mapping[str, Any]) -> None:
        path = _path(one, "path", "replace operation failed to decode path")
        value = deepcopy(one.get("value"))
        if not path:
            if not isinstance(value, dict | list):
                raise PatchError("replace operation value must be object or array")
            self.document = value
            return
        place, key = self._place(path, f"replace operation does not apply: doc is missing path: {path}")
        if isinstance(place, dict):
            place[key] = value
            return
        try:
            _get(place, key)
        except PatchError:
            raise PatchError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None
        place[_index(key, len(place))] = value

    def move(self, one: Mapping[str, Any]) -> None:
        _, place, key = self._end(one, "from", "move", "from")
        value = _wrapped(f"error in move for path: '{key}'", _take, place, key)
        path, place, key = self._end(one, "path", "move", "destination")
        _wrapped(f"error in move for path: '{path}'", _insert, place, key, value)

    def copy(self, one: Mapping[str, Any]) -> None:
        source, place, key = self._end(one, "from", "copy", "from")
        value = _wrapped(f"error in copy for from: '{source}'", _get, place, key)
        _, place, key = self._end(one, "path", "copy", "destination")
        self._copied += len(json.dumps(value, separators=(",", ":")))
        if self._copied > MAX_COPIED:
            size = f"the accumulated size increase of copy is {self._copied}, exceeding the limit {MAX_COPIED}"
            raise CopiesTooLarge(f"Unable to complete the copy, {size}")
        _wrapped("error while adding value during copy", _insert, place, key, deepcopy(value))

    def test(self, one: Mapping[str, Any]) -> None:
        path = _path(one, "path", "test operation failed to decode path")
        if path:
            place, key = self._place(path, f"test operation does not apply: is missing path: {path}")
            value = _wrapped(f"error in test for path: '{path}'", _get, place, key)
        else:
            value = self.document
        if not _same(value, one.get("value")):
            raise UnmetTest(f"testing value {path} failed: test failed")

    def _end(self, one: Mapping[str, Any], field: str, operation: str, end: str) -> tuple[str, Any, str]:
        """Return the path of a move's or copy's end, the container at its parent, and the path's last step."""
        path = _path(one, field, f"{operation} operation failed to decode {field}")
        place, key = self._place(path, f"{operation} operation does not apply: doc is missing {end} path: {path}")
        return path, place, key

    def _place(self, path: str, missing: str) -> tuple[Any, str]:
        """Return the container at the parent of a path, and the path's last step. Source: findObject."""
        steps = path.split("/")
        place = self.document
        if len(steps) < 2:
            raise PatchError(f"{missing}: {_MISSING}")
        for step in map(_decoded, steps[1:-1]):
            try:
                place = _get(place, step)
            except PatchError:
                place = None
            if not isinstance(place, dict | list):
                raise PatchError(f"{missing}: {_MISSING}")
        return place, _decoded(steps[-1])


_WORK = {
    "add": _Patch.add,
    "remove": _Patch.remove,
    "replace": _Patch.replace,
    "move": _Patch.move,
    "copy": _Patch.copy,
    "test": _Patch.test,
}


def _path(one: Mapping[str, Any], field: str, problem: str) -> str:
    found = one.get(field)
    if not isinstance(found, str):
        raise PatchError(f"{problem}: operation, missing {field} field: {_MISSING}")
    return found


def _decoded(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _wrapped(words: str, work: Any, *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except PatchError as error:
        raise PatchError(f"{words}: {error}") from None


def _index(key: str, size: int) -> int:
    """Return the index in a list; a negative one counts from the end. Source: partialArray, SupportNegativeIndices."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", key):
        raise PatchError(f'strconv.Atoi: parsing "{key}": invalid syntax')
    found = int(key)
    if not -size <= found < size:
        raise PatchError(f"Unable to access invalid index: {found}: {_NO_INDEX}")
    return found % size


def _get(place: Any, key: str) -> Any:
    """Return a key's value, None if it is absent, or a list's element; an index out of range is a PatchError."""
    return place.get(key) if isinstance(place, dict) else place[_index(key, len(place))]


def _insert(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    elif key == "-":
        place.append(value)
    else:
        try:
            place.insert(_index(key, len(place) + 1), value)
        except PatchError as error:
            problem = str(error)
            if _NO_INDEX not in problem:
                problem = f"value was not a proper array index: '{key}': {problem}"
            raise PatchError(problem) from None


def _take(place: Any, key: str) -> Any:
    if not isinstance(place, dict):
        return place.pop(_index(key, len(place)))
    if key not in place:
        raise PatchError(f"Unable to remove nonexistent key: {key}: {_MISSING}")
    return place.pop(key)


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, and 1 is not 1.0. Source: lazyNode.equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)
