"""The parts `Containers` and `Init Containers` of `kubectl describe pod`.

Source: kubectl describe.go (describeContainers, describeStatus, DescribeProbe, describeContainerEnvVars).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kitlib.api.release import Release
from kitlib.api.resource import Quantity, QuantityError

Object = Mapping[str, Any]
TIME = "%a, %d %b %Y %H:%M:%S %z"


def describe_containers(title: str, containers: Sequence[Object], statuses: Sequence[Object], pod: Object) -> str:
    """Return containers with their status, if any, with tabs between the columns."""
    if not containers:
        return f"{title}: <none>\n"
    found = {status["name"]: status for status in statuses}
    return f"{title}:\n" + "".join(_container(container, found.get(container["name"]), pod) for container in containers)


def date(text: str) -> str:
    """Return a time in kubectl's format (RFC 1123)."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).strftime(TIME)


def resources(found: Object, indent: str) -> str:
    """Return limits and requests of a container, or of a pod as a whole."""
    text = ""
    for kind in ("limits", "requests"):
        if found.get(kind):
            text += f"{indent}{kind.title()}:\n"
            text += "".join(f"{indent}  {name}:\t{amount}\n" for name, amount in sorted(found[kind].items()))
    return text


def _container(container: Object, status: Object | None, pod: Object) -> str:
    text = f"  {container['name']}:\n"
    if status is not None:
        text += f"    Container ID:\t{status.get('containerID', '')}\n"
    text += f"    Image:\t{container.get('image', '')}\n"
    if status is not None:
        text += f"    Image ID:\t{status.get('imageID', '')}\n"
    ports = container.get("ports") or []
    for title, key in (("Port", "containerPort"), ("Host Port", "hostPort")):
        some = ", ".join(f"{port.get(key, 0)}/{port.get('protocol', 'TCP')}" for port in ports)
        text += f"    {title}s:\t{some}\n" if len(ports) > 1 else f"    {title}:\t{some or '<none>'}\n"
    profile = (container.get("securityContext") or {}).get("seccompProfile")
    if profile:
        text += f"    SeccompProfile:\t{profile['type']}\n"
        if profile["type"] == "Localhost":
            text += f"      LocalhostProfile:\t{profile['localhostProfile']}\n"
    for title, key in (("Command", "command"), ("Args", "args")):
        if container.get(key):
            lines = [line for word in container[key] for line in word.split("\n")]
            text += f"    {title}:\n" + "".join(f"      {line}\n" for line in lines)
    if status is not None:
        text += _states(status)
    text += resources(container.get("resources") or {}, "    ")
    for title in ("Liveness", "Readiness", "Startup"):
        probe = container.get(f"{title.lower()}Probe")
        if probe:
            text += f"    {title}:\t{describe_probe(probe)}\n"
    return text + _env_from(container) + _environment(container, pod) + _mounts(container)


def _states(status: Object) -> str:
    text = _state("State", status.get("state") or {})
    if (status.get("lastState") or {}).get("terminated"):
        text += _state("Last State", status["lastState"])
    return text + f"    Ready:\t{bool(status.get('ready'))}\n    Restart Count:\t{status.get('restartCount', 0)}\n"


def _state(title: str, state: Object) -> str:
    if state.get("running") is not None:
        return f"    {title}:\tRunning\n      Started:\t{_moment(state['running'], 'startedAt')}\n"
    ended = state.get("terminated")
    if ended is None:
        reason = (state.get("waiting") or {}).get("reason")
        return f"    {title}:\tWaiting\n" + (f"      Reason:\t{reason}\n" if reason else "")
    text = f"    {title}:\tTerminated\n"
    text += "".join(f"      {key.title()}:\t{ended[key]}\n" for key in ("reason", "message") if ended.get(key))
    text += f"      Exit Code:\t{ended.get('exitCode', 0)}\n"
    text += f"      Signal:\t{ended['signal']}\n" if ended.get("signal") else ""
    return text + f"      Started:\t{_moment(ended, 'startedAt')}\n      Finished:\t{_moment(ended, 'finishedAt')}\n"


def _moment(state: Object, key: str) -> str:
    return date(state[key]) if state.get(key) else "Mon, 01 Jan 0001 00:00:00 +0000"


def describe_probe(probe: Object) -> str:
    """Return a probe in one line. Source: DescribeProbe."""
    figures = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 0)}s "
        f"period={probe.get('periodSeconds', 0)}s "
    )
    figures += (
        Release.followed()
        .text("describe_probe_thresholds")
        .format(success=probe.get("successThreshold", 0), failure=probe.get("failureThreshold", 0))
    )
    if probe.get("exec") is not None:
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {figures}"
    if probe.get("httpGet") is not None:
        http = probe["httpGet"]
        path = http.get("path", "")
        path = path if path[:1] in ("", "/") else f"/{path}"
        url = f"{http.get('scheme', 'HTTP').lower()}://{http.get('host', '')}:{http.get('port', '')}{path}"
        return f"http-get {url} {figures}"
    if probe.get("tcpSocket") is not None:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket'].get('port', '')} {figures}"
    if probe.get("grpc") is not None:
        return f"grpc <pod>:{probe['grpc'].get('port', 0)} {probe['grpc'].get('service') or ''} {figures}"
    return f"unknown {figures}"


def _env_from(container: Object) -> str:
    if not container.get("envFrom"):
        return ""
    text = "    Environment Variables from:\n"
    for one in container["envFrom"]:
        kind, key = ("ConfigMap", "configMapRef") if one.get("configMapRef") else ("Secret", "secretRef")
        ref = one.get(key) or {}
        prefix = f" with prefix '{one['prefix']}'" if one.get("prefix") else ""
        text += f"      {ref.get('name', '')}\t{kind}{prefix}\tOptional: {str(bool(ref.get('optional'))).lower()}\n"
    return text


def _environment(container: Object, pod: Object) -> str:
    if not container.get("env"):
        return "    Environment:\t<none>\n"
    text = "    Environment:\n"
    for one in container["env"]:
        name, source = one["name"], one.get("valueFrom")
        if source is None:
            first, *rest = (one.get("value") or "").split("\n")
            text += f"      {name}:\t{first}\n" + "".join(f"      \t{line}\n" for line in rest)
            continue
        for key, write in _VALUES.items():
            if source.get(key):
                text += f"      {name}:\t{write(source[key], container, pod)}\n"
    return text


def _field(ref: Object, container: Object, pod: Object) -> str:
    """Return a metadata field of the pod. Source: fieldpath.ExtractFieldPathAsString, which supports metadata only."""
    del container
    path, meta = ref["fieldPath"], pod.get("metadata") or {}
    name = path.removeprefix("metadata.")
    kind, _, key = name.partition("['")
    value: Any = ""
    if path.startswith("metadata."):
        value = (meta.get(kind) or {}).get(key.removesuffix("']"), "") if key else meta.get(name, "")
    if isinstance(value, Mapping):
        value = "\n".join(f"{k}={json.dumps(v)}" for k, v in sorted(value.items()))
    return f"{value} ({ref.get('apiVersion', 'v1')}:{path})"


def _resource(ref: Object, container: Object, pod: Object) -> str:
    """Return an amount in units of the divisor, rounded up. Source: resource.ExtractContainerResourceValue."""
    del pod
    kind, _, name = ref["resource"].partition(".")
    amounts = (container.get("resources") or {}).get(kind) or {}
    try:
        divisor, amount = Quantity(str(ref.get("divisor") or "1")), Quantity(str(amounts.get(name, "0")))
        unit = divisor if not divisor.is_zero() else Quantity("1")
        milli = name == "cpu"
        whole, part = (amount.milli_value(), unit.milli_value()) if milli else (amount.value(), unit.value())
        value = str(-(-whole // part))
    except QuantityError:
        value = ""
    if value == "0" and ref["resource"] in ("limits.cpu", "limits.memory"):
        value = "node allocatable"
    return f"{value} ({ref['resource']})"


def _secret(ref: Object, container: Object, pod: Object) -> str:
    del container, pod
    optional = str(bool(ref.get("optional"))).lower()
    return f"<set to the key '{ref['key']}' in secret '{ref.get('name', '')}'>\tOptional: {optional}"


def _config_map(ref: Object, container: Object, pod: Object) -> str:
    del container, pod
    optional = str(bool(ref.get("optional"))).lower()
    return f"<set to the key '{ref['key']}' of config map '{ref.get('name', '')}'>\tOptional: {optional}"


_VALUES: dict[str, Callable[[Object, Object, Object], str]] = {
    "fieldRef": _field,
    "resourceFieldRef": _resource,
    "secretKeyRef": _secret,
    "configMapKeyRef": _config_map,
}


def _mounts(container: Object) -> str:
    mounts = sorted(container.get("volumeMounts") or (), key=lambda one: str(one["mountPath"]))
    text = "    Mounts:\n" if mounts else "    Mounts:\t<none>\n"
    for mount in mounts:
        flags = ["ro" if mount.get("readOnly") else "rw"]
        flags += [f"path={json.dumps(mount['subPath'])}"] if mount.get("subPath") else []
        text += f"      {mount['mountPath']} from {mount['name']} ({','.join(flags)})\n"
    devices = sorted(container.get("volumeDevices") or (), key=lambda one: str(one["devicePath"]))
    if devices:
        text += "    Devices:\n" if mounts else "    Devices:\t<none>\n"
    return text + "".join(f"      {device['devicePath']} from {device['name']}\n" for device in devices)
