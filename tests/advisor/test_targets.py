"""The object that a name means."""

from __future__ import annotations

import pytest

from kitlib.advisor.targets import find_target
from kitlib.api.errors import KitError, NotFound
from tests.advisor.dumps import dump, node, pod

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml"}}


@pytest.mark.parametrize(
    ("name", "namespace", "found"),
    [
        ("web-0", "", "Pod shop/web-0"),
        ("shop/web-0", "", "Pod shop/web-0"),
        ("pod/web-0", "", "Pod shop/web-0"),
        ("pods/web-0", "shop", "Pod shop/web-0"),
        ("job/train", "", "Job ml/train"),
        ("job.batch/train", "ml", "Job ml/train"),
        ("job ml/train", "", "Job ml/train"),
        ("ml/train", "", "Job ml/train"),
        ("", "", "Pod shop/web-0"),
    ],
)
def test_names_are_read_as_kubectl_reads_them(name: str, namespace: str, found: str) -> None:
    obj = find_target(dump(node("n1"), pod("web-0", namespace="shop"), JOB), name, namespace)
    assert f"{obj.kind} {obj.key}" == found


def test_a_name_that_is_missing_or_of_several_objects_is_refused() -> None:
    two = dump(node("n1"), pod("x", namespace="a"), pod("x", namespace="b"))
    with pytest.raises(KitError, match="more than one pod has this name"):
        find_target(two, "x")
    with pytest.raises(NotFound, match=r'jobs "nope" not found'):
        find_target(two, "job/nope")
