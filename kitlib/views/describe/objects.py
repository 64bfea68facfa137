"""`kubectl describe` of Services, claims, quotas, limit ranges, disruption budgets and priority classes.

Source: kubectl describe.go (describeService, describePersistentVolumeClaim, DescribeResourceQuotas,
describeLimitRangeSpec, describePodDisruptionBudget, describePriorityClass).
"""

from __future__ import annotations

from kitlib.apiserver.http.printers.text import selector
from kitlib.views.describe.template import Object, Others, labelled, named

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_MAX_ENDPOINTS = 3


def describe_service(obj: Object, others: Others) -> str:
    """Return the description of a Service with the endpoints of each port."""
    spec = obj["spec"]
    pairs = ",".join(f"{key}={value}" for key, value in sorted((spec.get("selector") or {}).items()))
    text = named(obj) + labelled(obj) + f"Selector:\t{pairs or '<none>'}\nType:\t{spec.get('type', '')}\n"
    if spec.get("ipFamilyPolicy"):
        text += f"IP Family Policy:\t{spec['ipFamilyPolicy']}\n"
    text += f"IP Families:\t{','.join(spec.get('ipFamilies') or ()) or '<none>'}\nIP:\t{spec.get('clusterIP', '')}\n"
    text += f"IPs:\t{','.join(spec.get('clusterIPs') or ()) or '<none>'}\n"
    for title, key in (("External IPs", "externalIPs"), ("Desired LoadBalancer IP", "loadBalancerIP")):
        value = spec.get(key)
        if value:
            text += f"{title}:\t{','.join(value) if isinstance(value, list) else value}\n"
    if spec.get("externalName"):
        text += f"External Name:\t{spec['externalName']}\n"
    for port in spec.get("ports") or ():
        text += _port(port, obj, others)
    text += f"Session Affinity:\t{spec.get('sessionAffinity', '')}\n"
    for title, key in (
        ("External Traffic Policy", "externalTrafficPolicy"),
        ("Internal Traffic Policy", "internalTrafficPolicy"),
        ("Traffic Distribution", "trafficDistribution"),
    ):
        text += f"{title}:\t{spec[key]}\n" if spec.get(key) else ""
    return text


def _port(port: Object, service: Object, others: Others) -> str:
    name, protocol = port.get("name") or "<unset>", port.get("protocol", "TCP")
    target = port.get("targetPort")
    text = f"Port:\t{name}\t{port.get('port')}/{protocol}\nTargetPort:\t{target}/{protocol}\n"
    if port.get("nodePort"):
        text += f"NodePort:\t{name}\t{port['nodePort']}/{protocol}\n"
    return text + f"Endpoints:\t{_endpoints(port.get('name') or '', service, others)}\n"


def _endpoints(port: str, service: Object, others: Others) -> str:
    """Return up to three addresses of a port. Source: formatEndpointSlices."""
    found = []
    for one in others("EndpointSlice"):
        if (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name") != service["metadata"]["name"]:
            continue
        for number in (p["port"] for p in one.get("ports") or () if (p.get("name") or "") == port):
            for endpoint in one.get("endpoints") or ():
                if (endpoint.get("conditions") or {}).get("ready", True):
                    found += [f"{address}:{number}" for address in endpoint.get("addresses") or ()]
    more = f" + {len(found) - _MAX_ENDPOINTS} more..." if len(found) > _MAX_ENDPOINTS else ""
    return ",".join(found[:_MAX_ENDPOINTS]) + more


def describe_claim(obj: Object, others: Others) -> str:
    """Return the description of a PersistentVolumeClaim with the pods that mount it."""
    meta, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
    bound = bool(spec.get("volumeName"))
    modes = ",".join(_MODES.get(mode, mode) for mode in status.get("accessModes") or ()) if bound else ""
    text = named(obj) + f"StorageClass:\t{spec.get('storageClassName') or ''}\n"
    if meta.get("deletionTimestamp"):
        text += "Status:\tTerminating\n"
    else:
        text += f"Status:\t{status.get('phase', '')}\n"
    text += f"Volume:\t{spec.get('volumeName', '')}\n" + labelled(obj)
    text += f"Finalizers:\t[{' '.join(meta.get('finalizers') or ())}]\n"
    text += f"Capacity:\t{(status.get('capacity') or {}).get('storage', '') if bound else ''}\nAccess Modes:\t{modes}\n"
    text += f"VolumeMode:\t{spec['volumeMode']}\n" if spec.get("volumeMode") else ""
    users = [pod["metadata"]["name"] for pod in others("Pod") if _mounts(pod, meta["name"])]
    return text + f"Used By:\t{users[0] if users else '<none>'}\n" + "".join(f"\t{name}\n" for name in users[1:])


def _mounts(pod: Object, claim: str) -> bool:
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any((volume.get("persistentVolumeClaim") or {}).get("claimName") == claim for volume in volumes)


def describe_quota(obj: Object, _others: Others) -> str:
    """Return the description of a ResourceQuota: used and hard amount of each resource."""
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    text = named(obj)
    scopes = obj["spec"].get("scopes")
    if scopes:
        text += f"Scopes:\t{', '.join(sorted(scopes))}\n"
    text += "Resource\tUsed\tHard\n--------\t----\t----\n"
    return text + "".join(f"{name}\t{used.get(name, '0')}\t{hard[name]}\n" for name in sorted(hard))


def describe_limit_range(obj: Object, _others: Others) -> str:
    """Return the description of a LimitRange: its five amounts for each resource."""
    text = named(obj) + "Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n"
    text += "----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n"
    columns = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
    for item in obj["spec"].get("limits") or ():
        names = {name for column in columns for name in item.get(column) or {}}
        for name in sorted(names):
            cells = [str((item.get(column) or {}).get(name, "-")) for column in columns]
            text += "\t".join((item["type"], name, *cells)) + "\n"
    return text


def describe_budget(obj: Object, _others: Others) -> str:
    """Return the description of a PodDisruptionBudget with its numbers of pods."""
    spec, status = obj["spec"], obj.get("status") or {}
    text = named(obj)
    for title, key in (("Min available", "minAvailable"), ("Max unavailable", "maxUnavailable")):
        text += f"{title}:\t{spec[key]}\n" if spec.get(key) is not None else ""
    text += f"Selector:\t{selector(spec['selector']) if spec.get('selector') is not None else '<unset>'}\nStatus:\n"
    for title, key in (
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ):
        text += f"    {title}:\t{status.get(key, 0)}\n"
    return text


def describe_priority_class(obj: Object, _others: Others) -> str:
    """Return the description of a PriorityClass: its value, whether it is the default, and its preemption policy."""
    notes = ",".join(f"{key}={value}" for key, value in sorted((obj["metadata"].get("annotations") or {}).items()))
    return named(obj, namespaced=False) + (
        f"Value:\t{obj.get('value', 0)}\nGlobalDefault:\t{str(bool(obj.get('globalDefault'))).lower()}\n"
        f"PreemptionPolicy:\t{obj.get('preemptionPolicy') or 'PreemptLowerPriority'}\n"
        f"Description:\t{obj.get('description') or ''}\nAnnotations:\t{notes or '<none>'}\n"
    )
