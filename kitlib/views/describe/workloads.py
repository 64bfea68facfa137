"""`kubectl describe` of Deployments, ReplicaSets, StatefulSets and DaemonSets.

Source: kubectl describe.go (describeDeployment, describeReplicaSet, describeStatefulSet, describeDaemonSet).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.release import Release
from kitlib.apiserver.http.printers.text import selector
from kitlib.views.describe.containers import date
from kitlib.views.describe.pod import labels
from kitlib.views.describe.template import (
    Object,
    Others,
    controlled_by,
    labelled,
    named,
    owned,
    pod_template,
    pods_status,
)

_HASH = "pod-template-hash"


def describe_deployment(obj: Object, others: Others) -> str:
    """Return the description of a Deployment with its ReplicaSets."""
    spec, status = obj["spec"], obj.get("status") or {}
    strategy = spec.get("strategy") or {}
    counts = [spec.get("replicas", 1)]
    counts += [
        status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas", "unavailableReplicas")
    ]
    words = ("desired", "updated", "total", "available", "unavailable")
    text = named(obj) + f"CreationTimestamp:\t{date(obj['metadata']['creationTimestamp'])}\n" + labelled(obj)
    text += f"Selector:\t{selector(spec.get('selector'))}\n"
    text += f"Replicas:\t{' | '.join(f'{count} {word}' for count, word in zip(counts, words, strict=True))}\n"
    text += f"StrategyType:\t{strategy.get('type', '')}\nMinReadySeconds:\t{spec.get('minReadySeconds', 0)}\n"
    rolling = strategy.get("rollingUpdate")
    if rolling:
        text += (
            f"RollingUpdateStrategy:\t{rolling.get('maxUnavailable')} max unavailable, "
            f"{rolling.get('maxSurge')} max surge\n"
        )
    text += pod_template(spec["template"])
    if status.get("conditions"):
        text += "Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------\n"
        text += "".join(f"  {c['type']} \t{c['status']}\t{c.get('reason', '')}\n" for c in status["conditions"])
    sets = owned(obj, "ReplicaSet", others)
    if sets:
        new = [set_ for set_ in sets if _template(set_) == _template(obj)]
        text += f"OldReplicaSets:\t{_sets([set_ for set_ in sets if set_ not in new])}\nNewReplicaSet:\t{_sets(new)}\n"
    return text


def _template(obj: Object) -> Object:
    """Return the template without the hash label that the controller adds. Source: EqualIgnoreHash."""
    template = obj["spec"]["template"]
    meta = {**(template.get("metadata") or {})}
    meta["labels"] = {key: value for key, value in (meta.get("labels") or {}).items() if key != _HASH}
    meta.pop("creationTimestamp", None)
    return {**template, "metadata": meta}


def _sets(found: Sequence[Object]) -> str:
    """Return ReplicaSets with their numbers of pods. Source: printReplicaSetsByLabels."""
    return (
        ", ".join(
            f"{one['metadata']['name']} ({(one.get('status') or {}).get('replicas', 0)}/"
            f"{one['spec'].get('replicas', 1)} replicas created)"
            for one in found
        )
        or "<none>"
    )


def describe_replica_set(obj: Object, others: Others) -> str:
    """Return the description of a ReplicaSet with the status of its pods."""
    spec, status = obj["spec"], obj.get("status") or {}
    text = named(obj) + f"Selector:\t{selector(spec.get('selector'))}\n" + labelled(obj) + controlled_by(obj)
    text += f"Replicas:\t{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired\n"
    text += pods_status(obj, others) + pod_template(spec["template"])
    if status.get("conditions"):
        text += "Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------\n"
        text += "".join(f"  {c['type']} \t{c['status']}\t{c.get('reason', '')}\n" for c in status["conditions"])
    return text


def describe_stateful_set(obj: Object, others: Others) -> str:
    """Return the description of a StatefulSet with the status of its pods and its volume claim templates."""
    spec, status = obj["spec"], obj.get("status") or {}
    text = named(obj) + f"CreationTimestamp:\t{date(obj['metadata']['creationTimestamp'])}\n"
    text += f"Selector:\t{selector(spec.get('selector'))}\n" + labelled(obj)
    policies = Release.followed().enabled("KitDescribeStatefulSetPolicies")
    if policies:
        shown = (("Service Name", "serviceName"), ("Pod Management Policy", "podManagementPolicy"))
        text += "".join(f"{title}:\t{spec[key]}\n" for title, key in shown if spec.get(key))
    text += f"Replicas:\t{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total\n"
    strategy = spec.get("updateStrategy") or {}
    text += f"Update Strategy:\t{strategy.get('type', '')}\n"
    rolling = strategy.get("rollingUpdate") or {}
    if rolling.get("partition") is not None:
        text += f"  Partition:\t{rolling['partition']}\n"
        if rolling.get("maxUnavailable") is not None:
            text += f"  MaxUnavailable:\t{rolling['maxUnavailable']}\n"
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if policies and retention is not None:
        text += "Persistent Volume Claim Retention Policy:\n"
        text += f"  WhenDeleted:\t{retention.get('whenDeleted', '')}\n"
        text += f"  WhenScaled:\t{retention.get('whenScaled', '')}\n"
    text += pods_status(obj, others) + pod_template(spec["template"])
    claims = spec.get("volumeClaimTemplates") or ()
    return text + ("Volume Claims:\n" + "".join(map(_claim, claims)) if claims else "Volume Claims:\t<none>\n")


def _claim(claim: Object) -> str:
    """Return a volume claim template. Source: describeVolumeClaimTemplates."""
    meta, spec = claim["metadata"], claim.get("spec") or {}
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "<default>")
    text = f"  Name:\t{meta['name']}\n  StorageClass:\t{spec.get('storageClassName') or ''}\n"
    text += labels("  Labels", meta.get("labels")) + labels("  Annotations", meta.get("annotations"))
    return text + f"  Capacity:\t{size}\n  Access Modes:\t[{' '.join(spec.get('accessModes') or ())}]\n"


def describe_daemon_set(obj: Object, others: Others) -> str:
    """Return the description of a DaemonSet with its numbers of nodes."""
    spec, status = obj["spec"], obj.get("status") or {}
    nodes = (spec["template"].get("spec") or {}).get("nodeSelector")
    text = named(obj) + f"Selector:\t{selector(spec.get('selector'))}\n"
    text += f"Node-Selector:\t{','.join(f'{k}={v}' for k, v in sorted((nodes or {}).items())) or '<none>'}\n"
    text += labelled(obj)
    for title, key in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        # kubectl's DaemonSetDescriber writes a space instead of a tab here, so the numbers are not aligned.
        text += f"{title}: {status.get(key, 0)}\n"
    return text + pods_status(obj, others) + pod_template(spec["template"])
