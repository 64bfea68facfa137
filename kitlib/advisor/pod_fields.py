"""Every field of a pod: modelled, irrelevant for waiting, or reported if an answer depends on it.

    not_modelled(pod)       # the gaps of the answer about this pod

A field that is in none of the tables is unknown to the kit, and is reported.

Source: k8s.io/api/core/v1 types.go, PodSpec and PodStatus of 1.36; kube-scheduler's plugins; kubelet/lifecycle.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.advisor.findings import Gap
from kitlib.api.core import Pod
from kitlib.api.meta import KubeStruct
from kitlib.api.serialize import to_dict

MODELLED = {
    "activeDeadlineSeconds": "quota scopes; a pod past it is Failed",
    "affinity": "NodeAffinity, InterPodAffinity",
    "containers": "requests, ports, images, states",
    "hostNetwork": "host ports",
    "initContainers": "requests, ports of sidecars, images",
    "nodeName": "NodeName, the kubelet's admission",
    "nodeSelector": "NodeAffinity",
    "os": "the kubelet's admission",
    "overhead": "NodeResourcesFit",
    "preemptionPolicy": "DefaultPreemption",
    "priority": "PrioritySort, DefaultPreemption",
    "priorityClassName": "the Priority admission plugin",
    "resourceClaims": "DynamicResources",
    "resources": "NodeResourcesFit",
    "runtimeClassName": "its overhead, node selector and tolerations are in the pod since admission",
    "schedulerName": "the scheduler that looks at the pod",
    "schedulingGates": "SchedulingGates",
    "tolerations": "TaintToleration",
    "topologySpreadConstraints": "PodTopologySpread",
    "volumes": "VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits",
}
"""Field of PodSpec -> the part of the kit that models it."""
WITHOUT_EFFECT = {
    "automountServiceAccountToken": "a file in the container",
    "dnsConfig": "a file in the container",
    "dnsPolicy": "a file in the container",
    "enableServiceLinks": "the container's environment",
    "ephemeralContainers": "added to running pods, without requests",
    "hostAliases": "a file in the container",
    "hostIPC": "the container's namespaces",
    "hostPID": "the container's namespaces",
    "hostname": "the container's name",
    "hostnameOverride": "the container's name",
    "imagePullSecrets": "read when an image is pulled; a failed pull is in the container's state",
    "readinessGates": "whether the running pod is Ready",
    "restartPolicy": "after a container's end",
    "serviceAccount": "the older name of serviceAccountName",
    "serviceAccountName": "checked when the pod is created",
    "setHostnameAsFQDN": "the container's name",
    "shareProcessNamespace": "the container's namespaces",
    "subdomain": "the container's name",
    "terminationGracePeriodSeconds": "the end of the pod",
}
"""Field of PodSpec -> the reason why it does not affect whether the pod waits."""
NAMED = {
    "hostUsers": "the node's kernel and runtime must support user namespaces",
    "schedulingGroup": "the group is scheduled as a whole, and its quorum is not computed",
    "securityContext": "the kubelet's checks of AppArmor, seccomp profiles and SELinux labels are not modelled",
    "workloadRef": "the group is scheduled as a whole, and its quorum is not computed",
}
"""Field of PodSpec -> the missing knowledge; reported if the field is set."""
_CHECKED_BY_KUBELET = ("appArmorProfile", "seccompProfile", "seLinuxOptions", "windowsOptions")


def not_modelled(pod: Pod) -> Iterator[Gap]:
    """Yield the fields of a pod that an answer about it depends on but does not take into account."""
    running = pod.status.phase == "Running"
    yield from _unknown(pod, "")
    spec = to_dict(pod.spec)
    for name in spec:
        if name not in (*MODELLED, *WITHOUT_EFFECT, *NAMED, *pod.spec.unknown_fields):
            yield Gap("Pod", f"spec.{name}", "the kit keeps this field, and no answer takes it into account")
    for name, why in NAMED.items():
        if name == "securityContext":
            context = spec.get(name) or {}
            used = [one for one in _CHECKED_BY_KUBELET if one in context]
            used += [
                one
                for c in spec.get("containers", ())
                for one in _CHECKED_BY_KUBELET
                if one in (c.get("securityContext") or {})
            ]
            if used and not running:
                yield Gap("Pod", f"spec.{name}", f"{why} ({', '.join(dict.fromkeys(used))})", decides=False)
        elif name == "hostUsers":
            if spec.get(name) is False and not running:
                yield Gap("Pod", f"spec.{name}", why, decides=False)
        elif name in spec and not pod.spec.node_name:
            yield Gap("Pod", f"spec.{name}", why)


def _unknown(struct: KubeStruct, path: str) -> Iterator[Gap]:
    """Yield the fields in a pod that no type of the kit declares."""
    for name in struct.unknown_fields:
        where = f"{path}{name}"
        if where not in (f"spec.{one}" for one in NAMED):
            yield Gap("Pod", where, "the kit does not know this field", decides=not where.startswith("status."))
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        wire = struct.__struct_encode_fields__[struct.__struct_fields__.index(name)]
        if isinstance(value, KubeStruct):
            yield from _unknown(value, f"{path}{wire}.")
        elif isinstance(value, list):
            for i, one in enumerate(value):
                if isinstance(one, KubeStruct):
                    yield from _unknown(one, f"{path}{wire}[{i}].")
