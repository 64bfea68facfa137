"""`kubectl describe pod` from a pod in its API form and its events.

Source: kubectl describe.go (describePod, printLabelsMultiline, printAnnotationsMultiline,
printPodTolerationsMultiline).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Event, Pod
from kitlib.api.duration import human_duration
from kitlib.api.serialize import from_dict
from kitlib.apiserver.http.printers.text import selector
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.views.describe.containers import date, describe_containers, resources
from kitlib.views.describe.node import describe_events
from kitlib.views.describe.volumes import describe_volumes
from kitlib.views.tabs import align

Object = Mapping[str, Any]
MAX_ANNOTATION = 140
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def describe_pod(pod: Object, events: Sequence[Event] | None, now: datetime) -> str:
    """Return the text that `kubectl describe pod NAME` prints.

    Args:
        pod: the pod as JSON data of the API.
        events: events about the pod, oldest first; None = no events section.
        now: reference time for ages.
    """
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    text = _head(pod, now)
    if spec.get("resources") is not None:
        text += "Resources:\n" + resources(spec["resources"], "  ")
    if spec.get("initContainers"):
        statuses = status.get("initContainerStatuses") or ()
        text += describe_containers("Init Containers", spec["initContainers"], statuses, pod)
    text += describe_containers("Containers", spec.get("containers") or (), status.get("containerStatuses") or (), pod)
    if spec.get("ephemeralContainers"):
        statuses = status.get("ephemeralContainerStatuses") or ()
        text += describe_containers("Ephemeral Containers", spec["ephemeralContainers"], statuses, pod)
    text += _conditions(spec, status.get("conditions") or ())
    text += describe_volumes(spec.get("volumes") or ())
    text += f"QoS Class:\t{status.get('qosClass') or get_pod_qos(from_dict(dict(pod), Pod))}\n"
    text += labels("Node-Selectors", spec.get("nodeSelector"))
    text += tolerations("Tolerations", spec.get("tolerations") or ())
    text += spread(spec.get("topologySpreadConstraints") or ())
    if events is not None:
        text += describe_events(events, now)
    return align(text)


def _head(pod: Object, now: datetime) -> str:
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    lines = [f"Name:\t{meta['name']}", f"Namespace:\t{meta.get('namespace', 'default')}"]
    if spec.get("priority") is not None:
        lines.append(f"Priority:\t{spec['priority']}")
    for title, key in (
        ("Priority Class Name", "priorityClassName"),
        ("Runtime Class Name", "runtimeClassName"),
        ("Service Account", "serviceAccountName"),
    ):
        if spec.get(key):
            lines.append(f"{title}:\t{spec[key]}")
    node = spec.get("nodeName")
    lines.append(f"Node:\t{node}/{status.get('hostIP', '')}" if node else "Node:\t<none>")
    if status.get("startTime"):
        lines.append(f"Start Time:\t{date(status['startTime'])}")
    text = "\n".join(lines) + "\n" + labels("Labels", meta.get("labels")) + annotation_lines(meta.get("annotations"))
    phase = status.get("phase", "")
    if meta.get("deletionTimestamp") and phase not in TERMINAL_PHASES:
        since = (now - datetime.fromisoformat(meta["deletionTimestamp"].replace("Z", "+00:00"))).total_seconds()
        text += f"Status:\tTerminating (lasts {human_duration(since)})\n"
        text += f"Termination Grace Period:\t{meta.get('deletionGracePeriodSeconds', 0)}s\n"
    else:
        text += f"Status:\t{phase}\n"
    text += "".join(f"{key.title()}:\t{status[key]}\n" for key in ("reason", "message") if status.get(key))
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile:
        text += f"SeccompProfile:\t{profile['type']}\n"
        text += f"LocalhostProfile:\t{profile['localhostProfile']}\n" if profile["type"] == "Localhost" else ""
    text += f"IP:\t{status.get('podIP', '')}\n"
    ips = status.get("podIPs") or ()
    text += "IPs:\n" + "".join(f"  IP:\t{ip.get('ip', '')}\n" for ip in ips) if ips else "IPs:\t<none>\n"
    owner = next((one for one in meta.get("ownerReferences") or () if one.get("controller")), None)
    text += f"Controlled By:\t{owner['kind']}/{owner['name']}\n" if owner else ""
    return text + (f"NominatedNodeName:\t{status['nominatedNodeName']}\n" if status.get("nominatedNodeName") else "")


def labels(title: str, found: Mapping[str, str] | None) -> str:
    """Return labels, one per line. Source: printLabelsMultiline."""
    if not found:
        return f"{title}:\t<none>\n"
    lines = [f"{key}={value}" for key, value in sorted(found.items())]
    return f"{title}:\t{lines[0]}\n" + "".join(f"\t{line}\n" for line in lines[1:])


def annotation_lines(found: Mapping[str, str] | None) -> str:
    """Return annotations, one per line; long values below their key, truncated. Source: printAnnotationsMultiline."""
    keys = sorted(key for key in found or {} if key != _LAST_APPLIED)
    if not found or not keys:
        return "Annotations:\t<none>\n"
    text = "Annotations:\t"
    for number, key in enumerate(keys):
        text += "\t" if number else ""
        value = found[key].removesuffix("\n")
        if len(value) + len(key) + 2 <= MAX_ANNOTATION and "\n" not in value:
            text += f"{key}: {value}\n"
            continue
        text += f"{key}:\n"
        for line in value.split("\n"):
            cut = MAX_ANNOTATION - 2
            text += f"\t  {line if len(line) <= cut else line[:cut] + '...'}\n"
    return text


def tolerations(title: str, found: Sequence[Object]) -> str:
    """Return tolerations, one per line. Source: printPodTolerationsMultiline."""
    if not found:
        return f"{title}:\t<none>\n"
    lines = []
    for one in found:
        key, value, effect = (one.get(name) or "" for name in ("key", "value", "effect"))
        line = key + (f"={value}" if value else "") + (f":{effect}" if effect else "")
        # Without key and effect the toleration matches every taint; the line then begins with the operator.
        if one.get("operator") == "Exists" and not value:
            line += " op=Exists" if key or effect else "op=Exists"
        if one.get("tolerationSeconds") is not None:
            line += f" for {one['tolerationSeconds']}s"
        lines.append(line)
    return f"{title}:\t{lines[0]}\n" + "".join(f"\t{line}\n" for line in lines[1:])


def _conditions(spec: Object, found: Sequence[Object]) -> str:
    text = ""
    if spec.get("readinessGates"):
        # Reversed, so that the first of several conditions of one type counts, as in kubectl's describePod.
        states = {one["type"]: one["status"] for one in reversed(found)}
        text += "Readiness Gates:\n  Type\tStatus\n"
        for gate in spec["readinessGates"]:
            kind = gate["conditionType"]
            # kubectl's format is "%v \t%v \n", with a space before the tab and at the end of the line.
            text += f"  {kind} \t{states.get(kind, '<none>')} \n"
    if found:
        text += "Conditions:\n  Type\tStatus\n" + "".join(f"  {one['type']} \t{one['status']} \n" for one in found)
    return text


def spread(constraints: Sequence[Object]) -> str:
    """Return topology spread constraints, one per line. Source: describeTopologySpreadConstraints."""
    if not constraints:
        return ""
    lines = []
    for constraint in sorted(constraints, key=lambda c: str(c["topologyKey"])):
        line = f"{constraint['topologyKey']}:{constraint.get('whenUnsatisfiable', '')}"
        line += f" when max skew {constraint.get('maxSkew', 0)} is exceeded"
        if constraint.get("labelSelector") is not None:
            line += f" for selector {selector(constraint['labelSelector'])}"
        lines.append(line)
    return f"Topology Spread Constraints:\t{lines[0]}\n" + "".join(f"\t{line}\n" for line in lines[1:])
