"""Cases of cgroup names: both drivers, parsing, refused names, the pods' root and a pod's own cgroup."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm import cgroup_names as rules
from kitlib.kubelet.qos.qos_class import get_pod_qos

FILE = "cgroup_names"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "in", "component", "pod", "cgroupRoot", "cgroupsPerQOS", "driver"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Convert, parse or compose one name, depending on the case's kind."""
    kind = case["kind"]
    if kind == "name":
        name = tuple(case["components"])
        path = rules.to_systemd(name)
        return {
            "components": list(name),
            "systemd": path,
            "cgroupfs": rules.to_cgroupfs(name),
            "systemdLeaf": rules.cgroup_parent_for_runtime(name, "systemd"),
            "roundtrip": list(rules.parse_systemd(path)),
        }
    if kind == "parse":
        return {
            "systemdParsed": list(rules.parse_systemd(case["in"])),
            "cgroupfsParsed": list(rules.parse_cgroupfs(case["in"])),
            "isSystemdStyle": rules.is_systemd_style(case["in"]),
        }
    if kind == "invalid":
        try:
            rules.new_cgroup_name(rules.ROOT, case["component"])
        except rules.CgroupNameError as error:
            return {"panic": str(error)}
        return {}
    if kind == "nodeAllocatableRoot":
        return {"path": rules.node_allocatable_root(case["cgroupRoot"], case["cgroupsPerQOS"], case["driver"])}
    pod = set_defaults(from_dict(case["pod"], Pod))
    qos = get_pod_qos(pod)
    name = rules.pod_cgroup_name((rules.NODE_ALLOCATABLE_CGROUP,), qos, pod.metadata.uid)
    return {
        "qosClass": qos,
        "components": list(name),
        "systemd": rules.to_systemd(name),
        "cgroupfs": rules.to_cgroupfs(name),
        "cgroupParentForRuntime": rules.cgroup_parent_for_runtime(name, "systemd"),
    }
