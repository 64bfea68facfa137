"""Texts of FailedScheduling events: their parts, the plugin behind each reason, its meaning and the next step."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kitlib.api.boundary import guarded
from kitlib.api.errors import KitError

_COUNT = re.compile(
    r"(\d+)/(\d+) nodes are available: (.*?)"
    r"(?:\. (?:[^.]*, )?preemption: (?:\d+/\d+ nodes are available: )?(.*))?$"  # after text of other PostFilters
)
_REASON = re.compile(r"(\d+) (.+)")
_PLUGIN_ERROR = re.compile(
    r'running (PreBind|Bind|Reserve|Permit|PreFilter|Filter|PostFilter) plugin "?([\w-]+)"?: (.+)'
)


class Meaning(NamedTuple):
    """The meaning of a reason.

    Attributes:
        start: first words of the reason.
        plugin: plugin that returns the reason.
        meaning: explanation, one sentence.
        next: the next step.
    """

    start: str
    plugin: str
    meaning: str
    next: str


MEANINGS = (
    Meaning(
        "Insufficient ",
        "NodeResourcesFit",
        "requests of the pods there leave less than the pod asks",
        "kubectl describe node: Allocated resources",
    ),
    Meaning(
        "Too many pods",
        "NodeResourcesFit",
        "the node runs as many pods as it may (allocatable pods)",
        "kubectl get node -o jsonpath={.status.allocatable.pods}",
    ),
    Meaning(
        "node(s) had untolerated taint",
        "TaintToleration",
        "the node has a taint that the pod does not tolerate",
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",
    ),
    Meaning(
        "node(s) had taint",
        "TaintToleration",
        "the node has a taint that the pod does not tolerate",
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",
    ),
    Meaning(
        "node(s) had taints",
        "TaintToleration",
        "the node has a taint that the pod does not tolerate",
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",
    ),
    Meaning("node(s) were unschedulable", "NodeUnschedulable", "the node is cordoned", "kubectl get nodes"),
    Meaning(
        "node(s) didn't match Pod's node affinity",
        "NodeAffinity",
        "the pod's nodeSelector or required node affinity excludes the node",
        "kubectl get nodes --show-labels",
    ),
    Meaning(
        "node(s) didn't match node selector",
        "NodeAffinity",
        "the pod's nodeSelector or required node affinity excludes the node",
        "kubectl get nodes --show-labels",
    ),
    Meaning(
        "node(s) didn't satisfy plugin(s)",
        "the plugins that it names",
        "a PreFilter plugin left the node out",
        "the pod's fields that these plugins read",
    ),
    Meaning(
        "node(s) didn't have free ports",
        "NodePorts",
        "a pod on the node has the same host port",
        "the pods with hostPort or hostNetwork on the node",
    ),
    Meaning(
        "node(s) didn't match pod topology spread constraints",
        "PodTopologySpread",
        "the pod would make the skew larger than maxSkew",
        "the matching pods in each domain of the key",
    ),
    Meaning(
        "node(s) didn't match pod affinity rules",
        "InterPodAffinity",
        "no pod that matches the required pod affinity is in the node's domain",
        "the labels of these pods",
    ),
    Meaning(
        "node(s) didn't match pod anti-affinity rules",
        "InterPodAffinity",
        "a pod that the anti-affinity excludes is in the node's domain",
        "the labels of the pods there",
    ),
    Meaning(
        "node(s) didn't satisfy existing pods anti-affinity rules",
        "InterPodAffinity",
        "a pod in the node's domain excludes this one by its own anti-affinity",
        "the anti-affinity of the pods there",
    ),
    Meaning(
        "node(s) had volume node affinity conflict",
        "VolumeBinding",
        "a bound volume cannot be used from the node, often because it is in another zone",
        "kubectl get pv -o yaml: nodeAffinity",
    ),
    Meaning(
        "node(s) didn't find available persistent volumes to bind",
        "VolumeBinding",
        "no free volume of the claim's class fits the claim and can be used from the node",
        "kubectl get pv,pvc",
    ),
    Meaning(
        "node(s) did not have enough free storage",
        "VolumeBinding",
        "the driver publishes less free storage for the node's segment than the claim asks",
        "kubectl get csistoragecapacities -A",
    ),
    Meaning(
        "node(s) had no available volume zone",
        "VolumeZone",
        "the volume is in another zone",
        "the zone labels of the volume",
    ),
    Meaning(
        "node(s) exceed max volume count",
        "NodeVolumeLimits",
        "the driver attaches no more volumes to the node",
        "kubectl get csinode -o yaml: allocatable.count",
    ),
    Meaning(
        "node(s) had no available disk",
        "VolumeRestrictions",
        "another pod there uses the same disk",
        "the volumes of the pods there",
    ),
    Meaning(
        "node has pod using PersistentVolumeClaim",
        "VolumeRestrictions",
        "another pod uses a claim that one pod alone may use (ReadWriteOncePod)",
        "the pods that use the claim",
    ),
    Meaning(
        "node(s) didn't match PersistentVolume's node affinity",
        "VolumeBinding",
        "a bound volume cannot be used from the node, often because it is in another zone",
        "kubectl get pv -o yaml: nodeAffinity",
    ),
    Meaning(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod",
        "VolumeRestrictions",
        "another pod uses a claim that one pod alone may use (ReadWriteOncePod)",
        "the pods that use the claim",
    ),
    Meaning(
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        "VolumeBinding",
        "a claim names a volume that does not exist any longer",
        "kubectl get pv,pvc",
    ),
    Meaning(
        "node(s) didn't match Pod's required features",
        "NodeDeclaredFeatures",
        "the pod needs a feature that the node's kubelet does not declare, often because it is older",
        "kubectl get node -o jsonpath={.status.declaredFeatures}",
    ),
    Meaning(
        "node(s) didn't match scheduler-enforced node affinity",
        "NodeAffinity",
        "the scheduler's configuration (addedAffinity) excludes the node",
        "the scheduler's NodeAffinityArgs",
    ),
    Meaning(
        "node(s) didn't match the requested node name",
        "NodeName",
        "the pod names another node (spec.nodeName)",
        "the pod's spec.nodeName",
    ),
    Meaning(
        "pod has unbound immediate PersistentVolumeClaims",
        "VolumeBinding",
        "a claim that is bound at once is not bound yet: its provisioner or a volume is missing",
        "kubectl describe pvc",
    ),
    Meaning("persistentvolumeclaim ", "VolumeBinding", "a claim that the pod names does not exist", "kubectl get pvc"),
    Meaning(
        "cannot allocate all claims",
        "DynamicResources",
        "no free devices match the claims",
        "kubectl get resourceslices,resourceclaims",
    ),
    Meaning(
        "No preemption victims found for incoming pod",
        "DefaultPreemption",
        "no pods of lower priority whose removal would make room",
        "the pod's priority class",
    ),
    Meaning(
        "Preemption is not helpful for scheduling",
        "DefaultPreemption",
        "removing pods would not help on these nodes",
        "the filters' reasons of these nodes",
    ),
)
"""Reasons of kube-scheduler's filters, in the words of 1.23 to 1.37."""


def meaning_of(reason: str) -> Meaning | None:
    """Return the meaning of a reason; None if it is not one of kube-scheduler's."""
    return next((one for one in MEANINGS if reason.startswith(one.start)), None)


@guarded("FailedScheduling message")
def decode(message: str) -> dict[str, Any]:
    """Return the parts of a FailedScheduling message.

    Returns:
        `nodes` (all), `reasons` and `preemption` (reason -> number of nodes); for an error of a plugin also `point`,
        `plugin` and `error`.

    Raises:
        KitError: the text is not a FailedScheduling message.
    """
    text = " ".join(message.split()).rstrip(".")
    broken = _PLUGIN_ERROR.search(text)
    if broken is not None:
        return {
            "nodes": 0,
            "reasons": {broken[3]: 0},
            "preemption": {},
            "point": broken[1],
            "plugin": broken[2],
            "error": broken[3],
        }
    found = _COUNT.search(text)
    if found is None:
        raise KitError('not a FailedScheduling message; an example is "0/3 nodes are available: 3 Insufficient cpu."')
    return {"nodes": int(found[2]), "reasons": _reasons(found[3]), "preemption": _reasons(found[4] or "")}


def _reasons(text: str) -> dict[str, int]:
    """Parse `3 Insufficient cpu, 1 node(s) had untolerated taint {a: b}`; a comma may be part of a reason."""
    counted: dict[str, int] = {}
    for part in re.split(r", (?=\d+ )", text.strip().rstrip(".")):
        found = _REASON.fullmatch(part.strip())
        if found is not None:
            counted[found[2].rstrip(".")] = int(found[1])
        elif part:
            counted[part] = 0
    return counted


def in_words(parts: dict[str, Any]) -> list[str]:
    """Return the lines that explain a decoded message."""
    if "error" in parts:
        lines = [f"The pod had a node; {parts['plugin']} failed at {parts['point']}: {parts['error']}."]
        if parts["plugin"] == "VolumeBinding":
            lines.append(
                "Its claims were not bound in time (bindTimeoutSeconds, 600 by default): look at the claims' events "
                "and at the provisioner. The scheduler tries again after its back-off, on the selected node."
            )
        return lines
    lines = [f"{parts['nodes']} nodes were looked at; the pod fits on none of them."]
    for title, reasons in (("Filters", parts["reasons"]), ("Preemption", parts["preemption"])):
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            found = meaning_of(reason)
            shown = f"{count} × " if count else ""
            lines.append(f"  {title}: {shown}{reason}{f' [{found.plugin}]' if found else ''}")
            if found is not None:
                lines.append(f"    {found.meaning}. Look at: {found.next}.")
    named = sum(parts["reasons"].values())
    if named > parts["nodes"]:
        lines.append(
            f"{named} reasons for {parts['nodes']} nodes: a node that lacks several resources has several reasons."
        )
    elif 0 < named < parts["nodes"]:
        lines.append(
            f"{parts['nodes'] - named} nodes have no reason here: the message was cut off, or they were left out."
        )
    return lines
