"""LimitRanger: defaults of containers, and minimum, maximum and ratio of containers and pods."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import LimitRange
from kitlib.api.errors import Forbidden
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.limit_range import LimitRangerPlugin, apply_defaults, check
from tests.apiserver.admission.writes import made, pod, write


def limits(name: str, *items: dict[str, Any]) -> LimitRange:
    found: LimitRange = made("LimitRange", name, namespace="default", spec={"limits": list(items)})
    return found


def container(
    name: str, requests: dict[str, str] | None = None, limits: dict[str, str] | None = None
) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": name, "image": "i", "resources": {key: value for key, value in resources.items() if value}}


NOTE = "kubernetes.io/limit-ranger"
DEFAULTS = {
    "type": "Container",
    "default": {"memory": "1Gi", "cpu": "1"},
    "defaultRequest": {"cpu": "100m"},
}


def test_missing_amounts_are_set_and_listed() -> None:
    """Source: mergePodResourceRequirements; the pod's items give no defaults."""
    new = pod(
        containers=[container("a"), container("b", {"cpu": "5m"}, {"cpu": "2"})],
        initContainers=[container("i", None, {"memory": "1Mi", "cpu": "3"})],
    )
    apply_defaults(new, [limits("l", {"type": "Pod", "default": {"cpu": "9"}}, DEFAULTS)])
    spec = to_dict(new)["spec"]
    assert [one["resources"] for one in (*spec["containers"], *spec["initContainers"])] == [
        {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "5m"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        {"requests": {"cpu": "100m"}, "limits": {"memory": "1Mi", "cpu": "3"}},
    ]
    assert new.metadata.annotations[NOTE] == (
        "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for "
        "container b; cpu request for init container i"
    )


def test_a_pod_that_has_all_amounts_gets_no_annotation() -> None:
    new = pod(containers=[container("a", {"cpu": "1"}, {"cpu": "1", "memory": "1"})])
    apply_defaults(new, [limits("l", DEFAULTS)])
    assert new.metadata.annotations == {}
    assert apply_defaults(new, []) is new


def test_the_first_range_and_the_last_item_of_a_range_win() -> None:
    new = pod(containers=[container("a")])
    first = limits("l", {"type": "Container", "default": {"cpu": "1"}}, {"type": "Container", "default": {"cpu": "2"}})
    apply_defaults(new, [first, limits("m", {"type": "Container", "default": {"cpu": "3"}})])
    assert str(new.spec.containers[0].resources.limits["cpu"]) == "2"


def problem(new: Any, item: dict[str, Any]) -> str:
    try:
        check(new, [limits("l", item)])
    except Forbidden as error:
        return error.why
    return ""


MINIMUM = "minimum cpu usage per Container is 100m"
MAXIMUM = "maximum cpu usage per Container is 1"
RATIO = "cpu max limit to request ratio per Container is 2"


@pytest.mark.parametrize(
    ("item", "request_", "limit", "expected"),
    [
        ({"min": {"cpu": "100m"}}, "100m", None, ""),
        ({"min": {"cpu": "100m"}}, None, "1", f"{MINIMUM}.  No request is specified"),
        ({"min": {"cpu": "100m"}}, "99m", "1", f"{MINIMUM}, but request is 99m"),
        ({"min": {"cpu": "100m"}}, "100m", "99m", f"{MINIMUM}, but limit is 99m"),
        ({"max": {"cpu": "1"}}, None, "1", ""),
        ({"max": {"cpu": "1"}}, "1", None, f"{MAXIMUM}.  No limit is specified"),
        ({"max": {"cpu": "1"}}, "1", "1001m", f"{MAXIMUM}, but limit is 1001m"),
        ({"max": {"cpu": "1"}}, "1001m", "1", f"{MAXIMUM}, but request is 1001m"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, "500m", "1", ""),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "400m",
            "1",
            f"{RATIO}, but provided ratio is 2.500000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            None,
            "1",
            f"{RATIO}, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "0",
            "1",
            f"{RATIO}, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "1",
            None,
            f"{RATIO}, but no limit is specified or limit is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "1",
            "0",
            f"{RATIO}, but no limit is specified or limit is 0",
        ),
        ({"maxLimitRequestRatio": {"cpu": "1500m"}}, "1", "1500m", ""),
    ],
)
def test_the_limits_of_a_container(
    item: dict[str, Any], request_: str | None, limit: str | None, expected: str
) -> None:
    """Source: minConstraint, maxConstraint, limitRequestRatioConstraint."""
    new = pod(
        containers=[container("c", request_ and {"cpu": request_}, limit and {"cpu": limit})]  # type: ignore[arg-type]
    )
    assert problem(new, {"type": "Container", **item}) == expected


def test_the_amounts_of_a_pod_are_those_of_its_containers_together() -> None:
    new = pod(
        containers=[container("a", {"cpu": "1"}, {"cpu": "1"}), container("b", {"cpu": "1"}, {"cpu": "2"})],
        initContainers=[container("i", {"cpu": "1"}, {"cpu": "1"})],
    )
    assert problem(new, {"type": "Pod", "max": {"cpu": "3"}, "min": {"cpu": "2"}}) == ""
    assert problem(new, {"type": "Pod", "max": {"cpu": "2"}}) == "maximum cpu usage per Pod is 2, but limit is 3"
    assert problem(new, {"type": "Container", "max": {"cpu": "2"}}) == ""
    assert problem(new, {"type": "PersistentVolumeClaim", "max": {"cpu": "0"}}) == ""


def test_all_problems_are_reported_in_order() -> None:
    new = pod(containers=[container("a", {"cpu": "1"}, {"cpu": "2"})], initContainers=[container("i", {"memory": "1"})])
    item = {"type": "Container", "min": {"memory": "2"}, "max": {"cpu": "1"}}
    with pytest.raises(Forbidden) as raised:
        check(new, [limits("l", item)])
    memory, cpu = "minimum memory usage per Container is 2", "maximum cpu usage per Container is 1"
    assert raised.value.why == (
        f"[{memory}.  No request is specified, {cpu}, but limit is 2, {memory}, but request is 1, "
        f"{cpu}.  No limit is specified]"
    )


def test_the_plugin_sets_defaults_of_new_pods_only() -> None:
    stored = limits("l", DEFAULTS)
    new, old = pod(containers=[container("a")]), pod()
    LimitRangerPlugin().admit(*write(new, None, stored))
    assert new.spec.containers[0].resources.requests
    changed = pod(containers=[container("a")])
    LimitRangerPlugin().admit(*write(changed, old, limits("l", DEFAULTS), subresource="resize"))
    assert not changed.spec.containers[0].resources.requests
    with pytest.raises(Forbidden):
        LimitRangerPlugin().validate(*write(changed, old, limits("l", {"type": "Container", "min": {"cpu": "1"}})))
    LimitRangerPlugin().validate(*write(made("ConfigMap", namespace="default"), None, stored))
