"""The origin of values: a real kernel, the simulated one, or the rules alone; and refusals of a real node's host.

`node.origin` is the origin of one node's values, `origin_of` that of a cluster, a node, or a computed object. Every
table, chart, widget and lesson takes the text of the origin from here, so that all of them agree.

Source: kernel fs/proc/base.c __set_oom_adj (CAP_SYS_RESOURCE), admin-guide/cgroup-v1/memory.rst section 2.4
(memory.memsw.* exist where swap is counted), admin-guide/cgroup-v2.rst "Delegation".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, Version, controller_of
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.qos.policy import SANDBOX_OOM_SCORE_ADJ

Kind = Literal["real", "simulated", "computed"]
SCORE, CPUS = "oom_score_adj", "cpus"
"""The subjects of refusals besides the cgroup controllers."""
LOWEST_SCORE = -1000
"""The kernel's minimum of oom_score_adj. Source: include/uapi/linux/oom.h OOM_SCORE_ADJ_MIN."""
CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "hugetlb")
"""The cgroup controllers with files that the kubelet writes."""
_SOME_HOSTS = {
    "memory.memsw.": "the host's kernel does not count swap",
    "memory.swap.": "the host's kernel does not count swap",
    "hugetlb.": "the host has no huge pages of this size",
}
"""The reasons why a file is missing, for files that a controller has on some hosts only."""


class HostRefusal(NamedTuple):
    """A feature that a real node's host does not grant.

    Attributes:
        subject: `oom_score_adj`, `cpus`, or the name of a cgroup controller.
        reason: a clause without a full stop.
    """

    subject: str
    reason: str


@dataclass(frozen=True)
class Origin:
    """The origin of values.

    Attributes:
        kind: "real", "simulated" or "computed" (without a kernel).
        version: the cgroup version of the files; None = no files are shown.
        nodes: the names of the nodes.
        kernel: the release of a real node's kernel.
        refusals: the features that the host of a real node does not grant.
        lowest_score: the lowest oom_score_adj that the host grants.
        cpus: the number of usable processors of a real node if it is lower than declared; None = all.
        because: the reason why the values do not come from a real node, where one could be expected; "" = none.
    """

    kind: Kind
    version: Version | None = None
    nodes: tuple[str, ...] = ()
    kernel: str = ""
    refusals: tuple[HostRefusal, ...] = ()
    lowest_score: int = LOWEST_SCORE
    cpus: int | None = None
    because: str = ""

    @property
    def real(self) -> bool:
        """Whether the values come from a real kernel."""
        return self.kind == "real"

    @property
    def place(self) -> str:
        """The origin in a few words."""
        files = f", cgroup v{self.version}" if self.version is not None else ""
        if self.kind == "computed":
            return f"computed from Kubernetes' rules{files.replace(',', ' for')}"
        kernel = f", Linux {self.kernel}" if self.kernel else ""
        if len(self.nodes) == 1:
            return f"{self.kind} node {self.nodes[0]}{files}{kernel}"
        return f"{len(self.nodes) or ''} {self.kind} nodes{files}{kernel}".strip()

    def __str__(self) -> str:
        because = f" ({self.because})" if self.because else ""
        return f"Values: {self.place}{because}. {self.refused}".rstrip()

    @property
    def refused(self) -> str:
        """The host's refusals, in one sentence; "" = it refused nothing."""
        return (
            f"Refused by the host: {'; '.join(refusal.reason for refusal in self.refusals)}." if self.refusals else ""
        )

    def reason(self, subject: str) -> str:
        """Return the reason why the host did not grant something; "" = it did."""
        return next((refusal.reason for refusal in self.refusals if refusal.subject == subject), "")

    def why_missing(self, file: str) -> str:
        """Return why a real node lacks a cgroup file that the kubelet wants; "" = the host is not the cause."""
        if not self.real:
            return ""
        refused = self.reason(controller_of(file))
        return refused or next((why for start, why in _SOME_HOSTS.items() if file.startswith(start)), "")


COMPUTED = Origin("computed")


def host_refusals(
    config: NodeConfig, *, lowest_score: int, cpus: int, controllers: Sequence[str]
) -> tuple[HostRefusal, ...]:
    """Return the features that the kubelet wants and the host of a real node does not grant.

    Args:
        config: the declared configuration of the node.
        lowest_score: the lowest oom_score_adj that the node may set.
        cpus: the number of usable processors.
        controllers: the available cgroup controllers.
    """
    found = []
    if lowest_score > SANDBOX_OOM_SCORE_ADJ:
        found.append(HostRefusal(SCORE, f"no oom_score_adj below {lowest_score} is granted"))
    if "cpuset" in controllers and cpus < config.machine.cores:
        found.append(HostRefusal(CPUS, f"{config.machine.cores} CPUs are declared and {cpus} can be used"))
    for controller in CONTROLLERS:
        wanted = controller != "hugetlb" or config.machine.huge_pages
        if wanted and controller not in controllers:
            found.append(HostRefusal(controller, f"no {controller} controller, so its files are missing"))
    return tuple(found)


def with_reasons(observed: CgroupTree, desired: CgroupTree, origin: Origin) -> CgroupTree:
    """Return the observed tree, each cgroup with the reasons why files that the kubelet wants are missing in it."""
    if not origin.real:
        return observed

    def known(cgroup: Cgroup) -> Cgroup:
        twin = desired.get(cgroup.path)
        missing = [name for name in twin or () if name not in cgroup]
        refused = {name: why for name in missing if (why := origin.why_missing(name))}
        return replace(cgroup, refused=refused) if refused else cgroup

    return CgroupTree(observed.version, observed.driver, map(known, observed.values()))


def origin_of(source: object) -> Origin:
    """Return the origin of the values of a cluster, a node, or a computed object.

    Args:
        source: a cluster, a node, or a computed object of another type.
    """
    own = getattr(source, "origin", None)
    if isinstance(own, Origin):
        return own
    if hasattr(source, "nodes") and hasattr(source, "node"):
        return together(_of_nodes(source))
    return COMPUTED


def _of_nodes(cluster: Any) -> Iterable[Origin]:
    for node in cluster.nodes:
        try:
            yield origin_of(cluster.node(node.name))
        except KitError:  # a Node object without a machine: an applied manifest, or a removed node
            continue


def together(origins: Iterable[Origin]) -> Origin:
    """Return one origin for several nodes, each refusal once."""
    found = [origin for origin in origins if origin.kind != "computed"]
    if not found:
        return Origin("simulated", because="no node has a kernel")
    real = any(origin.real for origin in found)
    nodes = tuple(name for origin in found for name in origin.nodes)
    refusals = tuple(dict.fromkeys(refusal for origin in found for refusal in origin.refusals))
    lowest = max(origin.lowest_score for origin in found)
    return Origin("real" if real else "simulated", found[0].version, nodes, found[0].kernel, refusals, lowest)
