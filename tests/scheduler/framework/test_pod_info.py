"""What is computed of a pod once is what the plain rules say."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.pod_info import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, PodInfo, amounts

requests = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(["0", "50m", "2"]), "memory": st.sampled_from(["0", "64Mi"])}
)
statuses = st.lists(requests.map(lambda one: {"name": "c0", "allocatedResources": one}), max_size=1)
pods = st.fixed_dictionaries(
    {
        "containers": st.lists(requests, min_size=1, max_size=2),
        "inits": st.lists(st.tuples(requests, st.sampled_from(["", "Always"])), max_size=2),
        "level": st.none() | requests,
        "overhead": requests,
        "statuses": statuses,
        "resize": st.sampled_from(["", "Deferred", "Infeasible"]),
    }
)


def pod(made: dict[str, Any]) -> Pod:
    spec: dict[str, Any] = {
        "containers": [{"name": f"c{i}", "resources": {"requests": r}} for i, r in enumerate(made["containers"])],
        "initContainers": [
            {"name": f"i{i}", "resources": {"requests": r}, "restartPolicy": policy or None}
            for i, (r, policy) in enumerate(made["inits"])
        ],
        "overhead": made["overhead"],
    }
    if made["level"] is not None:
        spec["resources"] = {"requests": made["level"]}
    found: Pod = from_dict({"metadata": {"name": "p"}, "spec": spec}, Pod)
    status: dict[str, Any] = {"containerStatuses": made["statuses"]}
    if made["resize"]:
        pending = {"type": "PodResizePending", "status": "True", "reason": made["resize"]}
        status |= {"resize": made["resize"], "conditions": [pending]}
    found.status = from_dict({"status": status}, Pod).status
    return found


@settings(max_examples=80)
@given(pods, st.sampled_from(["1.27", "1.33", "1.36"]))
def test_what_counts_for_scoring_assumes_something_of_containers_that_request_nothing(
    made: dict[str, Any], version: str
) -> None:
    release, one = Release(version), pod(made)
    if made["inits"] and not release.enabled("KitNonZeroCountsSidecars"):
        return
    assumed = {
        "cpu": Quantity.from_milli(DEFAULT_MILLI_CPU),
        "memory": Quantity.from_int(DEFAULT_MEMORY, "BinarySI"),
    }
    plain = amounts(pod_requests(one, use_status=True, non_missing=assumed, release=release))
    assert PodInfo(one, release).non_zero == (plain.get("cpu", 0), plain.get("memory", 0))
