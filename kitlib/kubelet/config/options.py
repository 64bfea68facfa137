"""Validation of the options of the CPU and topology managers' policies, with the kubelet's messages.

Source: cpumanager.NewStaticPolicyOptions, ValidateStaticPolicyOptions, NewNonePolicy; topologymanager.NewPolicyOptions;
cmd/kubelet/app/server.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kitlib.api.release import Release

CPU_OPTIONS = {
    "full-pcpus-only": "",
    "strict-cpu-reservation": "",
    "distribute-cpus-across-numa": "Beta",
    "prefer-align-cpus-by-uncorecache": "",
    "align-by-socket": "Alpha",
    "distribute-cpus-across-cores": "Alpha",
}
"""Option of the static CPU policy -> its stage in the latest release; "" = stable. Source: cpumanager betaOptions."""
CPU_EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
"""Options that exclude each other, in the order of the kubelet's checks."""
MAX_NUMA_NODES = "max-allowable-numa-nodes"
TOPOLOGY_OPTIONS = {"prefer-closest-numa-nodes": "", MAX_NUMA_NODES: ""}
LEAST_MAX_NUMA_NODES = 8

TRUE = ("1", "t", "T", "TRUE", "true", "True")
FALSE = ("0", "f", "F", "FALSE", "false", "False")
"""The texts of a boolean. Source: strconv.ParseBool."""


def static_policy_option_problems(options: Mapping[str, str], gates: Release) -> list[str]:
    """Return the kubelet's messages about options of the static CPU policy; [] = valid.

    Source: cpumanager.NewStaticPolicyOptions.
    """
    problems = list(_problems("CPU Manager", "CPUManager", options, CPU_OPTIONS, gates))
    for first, second in CPU_EXCLUSIVE:
        if is_on(options, first) and is_on(options, second):
            problems.append(f"static policy options {first} and {second} can not be used at the same time")
            break
    return problems


def policy_problems(
    cpu_policy: str,
    cpu_options: Mapping[str, str],
    topology_policy: str,
    topology_options: Mapping[str, str],
    gates: Release,
) -> Iterator[str]:
    """Yield the kubelet's messages about both managers' options.

    Args:
        cpu_policy: "none" or "static".
        cpu_options: `--cpu-manager-policy-options`.
        topology_policy: `--topology-manager-policy`.
        topology_options: `--topology-manager-policy-options`.
        gates: the release that determines the feature gates.
    """
    if cpu_options and not gates.enabled("CPUManagerPolicyOptions"):
        yield (
            f'CPU Manager policy options {go_map(cpu_options)} require feature gates "CPUManager", '
            '"CPUManagerPolicyOptions" enabled'
        )
    elif cpu_options and cpu_policy == "none":
        yield f"new none policy error: None policy: received unsupported options={go_map(cpu_options)}"
    elif cpu_policy == "static":
        for problem in static_policy_option_problems(cpu_options, gates):
            yield f"new static policy error: {problem}"
        if is_on(cpu_options, "align-by-socket") and topology_policy == "single-numa-node":
            yield (
                "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager "
                "align-by-socket policy option"
            )
    if topology_options and not gates.enabled("TopologyManagerPolicyOptions"):
        yield (
            f"topology manager policy options {go_map(topology_options)} require feature gates "
            '"TopologyManagerPolicyOptions" enabled'
        )
    elif topology_options and topology_policy != "none":
        yield from _problems("Topology Manager", "TopologyManager", topology_options, TOPOLOGY_OPTIONS, gates)
        yield from _numa_nodes(topology_options.get(MAX_NUMA_NODES))


def is_on(options: Mapping[str, str], name: str) -> bool:
    """Return whether an option is given and true."""
    return options.get(name, "") in TRUE


def go_map(values: Mapping[str, str]) -> str:
    """Format a map as Go does: `map[a:1 b:2]`."""
    return f"map[{' '.join(f'{name}:{values[name]}' for name in sorted(values))}]"


def _problems(
    title: str, gate: str, given: Mapping[str, str], known: Mapping[str, str], gates: Release
) -> Iterator[str]:
    for name, value in given.items():
        if name not in known:
            yield f'unknown {title} Policy option: "{name}"'
        elif known[name] and not gates.enabled(f"{gate}Policy{known[name]}Options"):
            yield f'{title} Policy {known[name]}-level Options not enabled, but option "{name}" provided'
        elif name != MAX_NUMA_NODES and value not in TRUE + FALSE:
            yield f'bad value for option "{name}": strconv.ParseBool: parsing "{value}": invalid syntax'


def _numa_nodes(text: str | None) -> Iterator[str]:
    if text is None:
        return
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        yield (
            f'unable to convert policy option to integer "{MAX_NUMA_NODES}": '
            f'strconv.Atoi: parsing "{text}": invalid syntax'
        )
        return
    if int(text) < LEAST_MAX_NUMA_NODES:
        yield f'the minimum value of "{MAX_NUMA_NODES}" should not be less than {LEAST_MAX_NUMA_NODES}'
