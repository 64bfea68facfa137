"""The parts of `kubectl describe` that all workloads share: the head, the pods' status and the pod template.

Source: kubectl describe.go (DescribePodTemplate, getPodStatusForController, printController).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kitlib.views.describe.containers import describe_containers
from kitlib.views.describe.pod import annotation_lines, labels, spread, tolerations
from kitlib.views.describe.volumes import describe_volumes

Object = Mapping[str, Any]
Others = Callable[[str], Sequence[Object]]
"""Kind -> the objects of this kind in the namespace, in their API form."""
_WAITING = "Pending"


def named(obj: Object, *, namespaced: bool = True) -> str:
    """Return the lines with name and namespace."""
    text = f"Name:\t{obj['metadata']['name']}\n"
    return text + f"Namespace:\t{obj['metadata'].get('namespace', 'default')}\n" if namespaced else text


def labelled(obj: Object) -> str:
    """Return the lines with labels and annotations."""
    return labels("Labels", obj["metadata"].get("labels")) + annotation_lines(obj["metadata"].get("annotations"))


def controlled_by(obj: Object) -> str:
    """Return the line with the controller of an object; "" without a controller."""
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), None)
    return f"Controlled By:\t{owner['kind']}/{owner['name']}\n" if owner else ""


def owned(obj: Object, kind: str, others: Others) -> list[Object]:
    """Return the objects of a kind whose controller is this object."""
    uid = obj["metadata"].get("uid")
    return [
        one
        for one in others(kind)
        if any(
            owner.get("controller") and owner.get("uid") == uid
            for owner in one["metadata"].get("ownerReferences") or ()
        )
    ]


def pods_status(obj: Object, others: Others) -> str:
    """Return the number of a workload's pods in each phase."""
    phases = Counter((pod.get("status") or {}).get("phase", _WAITING) for pod in owned(obj, "Pod", others))
    return (
        f"Pods Status:\t{phases['Running']} Running / {phases[_WAITING]} Waiting / "
        f"{phases['Succeeded']} Succeeded / {phases['Failed']} Failed\n"
    )


def pod_template(template: Object) -> str:
    """Return containers, volumes and scheduling constraints of a pod template."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    pod = {"metadata": meta, "spec": spec}
    text = "Pod Template:\n" + labels("  Labels", meta.get("labels"))
    if meta.get("annotations"):
        text += "  " + annotation_lines(meta["annotations"])
    if spec.get("serviceAccountName"):
        text += f"  Service Account:\t{spec['serviceAccountName']}\n"
    if spec.get("initContainers"):
        text += _inside(describe_containers("Init Containers", spec["initContainers"], (), pod))
    text += _inside(describe_containers("Containers", spec.get("containers") or (), (), pod))
    text += _inside(describe_volumes(spec.get("volumes") or ()))
    text += _inside(spread(spec.get("topologySpreadConstraints") or ()))
    if spec.get("priorityClassName"):
        text += f"  Priority Class Name:\t{spec['priorityClassName']}\n"
    text += labels("  Node-Selectors", spec.get("nodeSelector"))
    return text + tolerations("  Tolerations", spec.get("tolerations") or ())


def _inside(text: str) -> str:
    """Indent a part by two columns; names of containers and volumes are indented by one only, as kubectl does."""
    lines = []
    for line in text.splitlines(keepends=True):
        # Source: kubectl describeContainerBasicInfo and describeVolumes: nameIndent is one space, `space` two.
        name = line.startswith("  ") and not line.startswith("   ")
        lines.append(f" {line}" if name else line if line.startswith(("\t", " ")) else f"  {line}")
    return "".join(lines)
