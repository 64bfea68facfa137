"""Cases of the CPU manager's static policy: assigned CPUs after each pod that is added or removed."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.podresources import containers_of
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology
from kitlib.kubelet.config.machine import CPU
from kitlib.kubelet.config.options import static_policy_option_problems
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus

FILE = "cpu_manager"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "cpus", "layout", "options", "numReservedCPUs", "reservedCPUs", "in"})
NESTED_INPUTS = frozenset({"numaAffinity"})
"""The NUMA nodes that the topology manager chose for a container: an input that is recorded inside an output."""
GATES = {"CPUManagerPolicyAlphaOptions": True}


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Check one case of any kind."""
    return {
        "sequence": _sequence,
        "options": _options,
        "cpusetString": _string,
        "cpusetParse": _parse,
    }[case["kind"]](case)


def _release() -> Release:
    return Release(RELEASE).with_gates(GATES)


def _options(case: dict[str, Any]) -> dict[str, Any]:
    problems = static_policy_option_problems(case["options"], _release())
    return {"error": problems[0]} if problems else {}


def _string(case: dict[str, Any]) -> dict[str, Any]:
    return {"ids": case["ids"], "string": format_cpus(case["ids"])}


def _parse(case: dict[str, Any]) -> dict[str, Any]:
    try:
        found = parse_cpus(case["in"])
    except ValueError as error:
        return {"error": str(error)}
    return {"ids": sorted(found), "string": format_cpus(found)}


def _sequence(case: dict[str, Any]) -> dict[str, Any]:
    topology = CPUTopology(CPU(*cpu) for cpu in case["cpus"])
    given = parse_cpus(case.get("reservedCPUs", ""))
    try:
        policy = StaticPolicy(topology, case["numReservedCPUs"], given, case["options"], release=_release())
    except CPUManagerError as error:
        return {"newError": str(error)}
    found: dict[str, Any] = {
        "reservedResult": format_cpus(policy.reserved),
        "reservedPhysical": format_cpus(policy.reserved_physical),
        "initialDefault": format_cpus(policy.state.default),
        "allocatable": format_cpus(policy.allocatable),
        "steps": [],
    }
    # some sequences record no hints; they are not compared there
    hinted = any("hints" in one for step in case["steps"] for one in step.get("result", ()))
    for step in case["steps"]:
        if step["op"] == "addPod":
            found["steps"].append({**step, "result": _add(policy, step, hinted)})
        else:
            policy.remove(step["podUID"], step["container"])
            found["steps"].append({**step, "default": format_cpus(policy.state.default)})
    return found


def _add(policy: StaticPolicy, step: dict[str, Any], hinted: bool) -> list[dict[str, Any]]:
    """Allocate CPUs to a pod's containers in order, with the recorded NUMA affinity of each, up to the first error."""
    pod = set_defaults(from_dict(step["pod"], Pod))
    given = {one["container"]: one.get("numaAffinity") for one in step["result"]}
    shown = []
    for container in containers_of(pod):
        one: dict[str, Any] = {"container": container.name}
        hints = policy.hints(pod, container) if hinted else None
        if hints is not None:
            one["hints"] = sorted(map(str, hints))
        nodes = given.get(container.name)
        try:
            policy.allocate(pod, container, None if nodes is None else frozenset(nodes))
        except CPUManagerError as error:
            one["error"] = str(error)
        else:
            cpus = policy.state.of(pod.metadata.uid, container.name)
            one["assigned"] = None if cpus is None else format_cpus(cpus)
        one["default"] = format_cpus(policy.state.default)
        shown.append(one)
        if "error" in one:
            break
    return shown
