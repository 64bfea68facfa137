"""What kubectl prints around and instead of objects."""

from __future__ import annotations

import io

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.printed import check_end, described, is_description, printed
from kitlib.api.errors import ManifestError
from kitlib.api.serialize import load

ONE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}'
DESCRIBED = """Name:             db-0
Namespace:        default
Status:           Pending
Events:
  Type     Reason            Age   From               Message
  ----     ------            ----  ----               -------
  Warning  FailedScheduling  7s    default-scheduler  0/3 nodes are available: 3 Insufficient cpu.
"""


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        f"Warning: v1 ComponentStatus is deprecated in v1.19+\n{ONE}",
        f"W1126 10:00:00.000000  1 warnings.go:70] deprecated\n{ONE}",
        f"Error from server (Forbidden): pvc is forbidden\n{ONE}\nError from server (Forbidden): pv is forbidden\n",
    ],
)
def test_warnings_around_the_objects_are_passed_over(text: str) -> None:
    assert [obj.name for obj in load(printed(text))] == ["n1"]
    assert [obj.name for obj in load(printed(io.StringIO(text)))] == ["n1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   1d    v1.36.0\n", "a table of kubectl get"),
        ("NAMESPACE   NAME   READY   STATUS\nx   y   1/1   Running\n", "a table of kubectl get"),
        (DESCRIBED, "the text of kubectl describe"),
        ("Warning: v1 X is deprecated\nNAME    READY   STATUS\nweb-0   0/1     Pending\n", "a table of kubectl get"),
        ("Error from server (Forbidden): nodes is forbidden: User\n", "kubectl printed no objects: Error from server"),
    ],
)
def test_other_texts_are_refused_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ManifestError, match="kubectl") as error:
        printed(text)
    assert said in str(error.value)


def test_the_events_of_a_description_are_read() -> None:
    assert is_description(DESCRIBED)
    assert described(DESCRIBED) == [
        ("FailedScheduling", "default-scheduler", "0/3 nodes are available: 3 Insufficient cpu.")
    ]


@pytest.mark.parametrize(
    "text",
    [ONE[:40], f"Warning: v1 X is deprecated\n{ONE[:40]}", '{\n    "apiVersion": "v1",\n    "items": [\n'],
    ids=["one line", "after a warning", "indented"],
)
def test_json_that_is_cut_off_says_so(text: str) -> None:
    with pytest.raises(ManifestError, match=r"the JSON is cut off after [0-9]+ bytes: run the kubectl command again"):
        Dump.read(f"{text}\n")


def test_complete_json_and_other_texts_are_not_cut_off() -> None:
    for text in (f"{ONE}\n", "apiVersion: v1\n", f"{ONE}, nonsense]\n"):
        check_end(text)
