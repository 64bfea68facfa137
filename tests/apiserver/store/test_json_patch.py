"""JSON patches with the results and the words of the API server's library.

Source of the cases: mutating/patch json_patch_test.go; json-patch.v4 patch.go; RFC 6902 appendix A.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.store.json_patch import MAX_COPIED, CopiesTooLarge, PatchError, UnmetTest, apply_json_patch

LIST = {"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "labels": {"x": "1", "y": "2"}, "a/b": {"m~n": 1}}


def patched(*operations: dict[str, Any]) -> Any:
    return apply_json_patch(LIST, operations)


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        (op("add", "/labels/z", value="3"), {"labels": {"x": "1", "y": "2", "z": "3"}}),
        (op("add", "/labels", value={}), {"labels": {}}),
        (op("add", "/items/0", value=1), {"items": [1, *LIST["items"]]}),
        (op("add", "/items/3", value=1), {"items": [*LIST["items"], 1]}),
        (op("add", "/items/-", value=1), {"items": [*LIST["items"], 1]}),
        (op("add", "/items/-1", value=1), {"items": [*LIST["items"], 1]}),
        (op("add", "/new"), {"new": None}),
        (op("add", "/a~1b/m~0n", value=2), {"a/b": {"m~n": 2}}),
        (op("remove", "/items/1"), {"items": [{"name": "a"}, {"name": "c"}]}),
        (op("remove", "/items/-1"), {"items": [{"name": "a"}, {"name": "b"}]}),
        (op("remove", "/labels/x"), {"labels": {"y": "2"}}),
        (op("replace", "/labels/x", value="9"), {"labels": {"x": "9", "y": "2"}}),
        (op("replace", "/labels/new", value="9"), {"labels": {"x": "1", "y": "2", "new": "9"}}),
        (op("replace", "/items/0", value=1), {"items": [1, {"name": "b"}, {"name": "c"}]}),
        (op("move", "/labels/z", **{"from": "/labels/x"}), {"labels": {"y": "2", "z": "1"}}),
        (op("move", "/items/-", **{"from": "/items/0"}), {"items": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
        (op("copy", "/labels/z", **{"from": "/labels/x"}), {"labels": {"x": "1", "y": "2", "z": "1"}}),
        (op("copy", "/labels/z", **{"from": "/labels/none"}), {"labels": {"x": "1", "y": "2", "z": None}}),
        (op("test", "/labels/x", value="1"), {}),
        (op("test", "/labels/none"), {}),
        (op("test", "", value=LIST), {}),
    ],
)
def test_an_operation_changes_a_copy(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    before = repr(LIST)
    assert patched(operation) == {**LIST, **changed}
    assert repr(LIST) == before


def test_a_whole_document_is_replaced_by_an_object_alone() -> None:
    assert patched(op("replace", "", value={"a": 1})) == {"a": 1}
    with pytest.raises(PatchError, match="replace operation value must be object or array"):
        patched(op("replace", "", value=1))


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            op("replace", "/items/-", value=1),
            "replace operation does not apply: doc is missing key: /items/-: missing value",
        ),
        (
            op("replace", "/none/a", value=1),
            "replace operation does not apply: doc is missing path: /none/a: missing value",
        ),
        (op("add", "/none/a"), 'add operation does not apply: doc is missing path: "/none/a": missing value'),
        (op("add", ""), 'add operation does not apply: doc is missing path: "": missing value'),
        (op("add", "/labels/x/y"), 'add operation does not apply: doc is missing path: "/labels/x/y": missing value'),
        (
            op("add", "/items/4"),
            "error in add for path: '/items/4': Unable to access invalid index: 4: invalid index detected",
        ),
        (
            op("add", "/items/a"),
            "error in add for path: '/items/a': value was not a proper array index: 'a': strconv.Atoi: parsing \"a\": "
            "invalid syntax",
        ),
        (op("add", "/items/9/x"), 'add operation does not apply: doc is missing path: "/items/9/x": missing value'),
        (
            op("remove", "/labels/z"),
            "error in remove for path: '/labels/z': Unable to remove nonexistent key: z: missing value",
        ),
        (op("remove", "/none/a"), 'remove operation does not apply: doc is missing path: "/none/a": missing value'),
        (op("move", "/a"), "move operation failed to decode from: operation, missing from field: missing value"),
        (
            op("move", "/a", **{"from": "/none"}),
            "error in move for path: 'none': Unable to remove nonexistent key: none: missing value",
        ),
        (
            op("copy", "/none/a", **{"from": "/labels"}),
            "copy operation does not apply: doc is missing destination path: /none/a: missing value",
        ),
        (op("spin", "/a"), "Unexpected kind: spin"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)
def test_an_operation_that_cannot_be_carried_out(operation: dict[str, Any], words: str) -> None:
    with pytest.raises(PatchError) as error:
        patched(operation)
    assert str(error.value) == words


@pytest.mark.parametrize("value", ["2", 1, True, None])
def test_a_test_that_fails_says_so(value: Any) -> None:
    with pytest.raises(UnmetTest, match="testing value /labels/x failed: test failed"):
        patched(op("test", "/labels/x", value=value))


def test_copies_have_a_bound() -> None:
    size = MAX_COPIED // 2 + 1
    with pytest.raises(CopiesTooLarge, match=f"exceeding the limit {MAX_COPIED}"):
        apply_json_patch({"a": "x" * size}, [op("copy", f"/{i}", **{"from": "/a"}) for i in range(2)])
