"""The environment variables of a container: `envFrom`, `env`, references between variables, and those of Services.

Source: kubelet makeEnvironmentVariables; third_party/forked/golang/expansion;
kubecontainer.ExpandContainerCommandAndArgs.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kitlib.api.container import ConfigMapEnvSource, ConfigMapKeySelector, SecretEnvSource, SecretKeySelector
from kitlib.api.core import Container, EnvVar, Pod
from kitlib.api.errors import KitError
from kitlib.kubelet.pods.objects import CONFIG_MAP, SECRET, MissingObject, Objects

Reference = ConfigMapEnvSource | SecretEnvSource | ConfigMapKeySelector | SecretKeySelector


class ContainerEnvironment(NamedTuple):
    """The environment of a container's process.

    Attributes:
        values: variable -> value.
        skipped: source (`ConfigMap default/web`) -> its keys that are not valid names of variables.
    """

    values: dict[str, str]
    skipped: dict[str, list[str]]


MAX_TEXT = 128 * 1024
"""Bytes of one argument or variable that Linux passes to a program. Source: uapi/linux/binfmts.h MAX_ARG_STRLEN."""
MAX_TEXTS = 2 * 1024 * 1024
"""Bytes of all arguments and variables. Source: execve(2), a quarter of the usual limit of the stack (8 MiB)."""


def _bounded(size: int, most: int, what: str) -> None:
    """Raise KitError if a text exceeds the limit of Linux."""
    # References may double a text at every step, so the limit also bounds the memory of a malicious manifest.
    if size > most:
        raise KitError(f"argument list too long: {what} of {size} bytes, Linux passes at most {most} to a program")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the value of NAME if it is known, and `$$` by one dollar. Source: expansion.Expand.

    Raises:
        KitError: the text exceeds the limit of Linux.
    """
    made, at, size = [], 0, 0
    while (found := text.find("$", at)) >= 0 and found + 1 < len(text):
        made.append(text[at:found])
        if text[found + 1] == "$":
            made.append("$")
            at = found + 2
            continue
        end = text.find(")", found) if text[found + 1] == "(" else -1
        if end < 0:
            made.append(text[found : found + 2])
            at = found + 2
            continue
        name = text[found + 2 : end]
        made.append(values.get(name, f"$({name})"))
        at, size = end + 1, size + len(made[-1])
        _bounded(size, MAX_TEXT, "a text with references")
    return "".join(made) + text[at:]


def make_environment_variables(
    pod: Pod, container: Container, objects: Objects, allocatable: Mapping[str, int]
) -> ContainerEnvironment:
    """Return the variables that a manifest declares, and those of Services that exist now.

    Args:
        pod: the container's pod.
        container: the container with `env` and `envFrom`.
        objects: the ConfigMaps, Secrets and Services that the kubelet may read.
        allocatable: resource -> allocatable amount of the node, in thousandths.

    Raises:
        KitError: an object or a key does not exist; the message is the kubelet's.
    """
    values: dict[str, str] = {}
    links: dict[str, str] = {}
    services = objects.services(pod)
    if services:
        from kitlib.kubelet.pods.service_links import service_variables  # loaded with the first Service

        links = service_variables(services.values())
    skipped: dict[str, list[str]] = {}
    for source in container.env_from:
        for kind, reference in ((CONFIG_MAP, source.config_map_ref), (SECRET, source.secret_ref)):
            if reference is None:
                continue
            for key, value in (_data(objects, kind, pod.namespace, reference) or {}).items():
                name = source.prefix + key
                if _is_name(name):
                    values[name] = value.decode(errors="replace")
                else:
                    skipped.setdefault(f"{kind} {pod.namespace}/{reference.name}", []).append(name)
    size = sum(map(len, links.values())) + sum(map(len, values.values()))
    known = ChainMap(values, links)
    for variable in container.env:
        found = _value(pod, container, variable, known, objects, allocatable)
        if found is not None:
            values[variable.name] = found
            size += len(found)
            _bounded(size, MAX_TEXTS, "an environment")
    return ContainerEnvironment({**links, **values}, {source: sorted(keys) for source, keys in skipped.items()})


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    values: Mapping[str, str],
    objects: Objects,
    allocatable: Mapping[str, int],
) -> str | None:
    source = variable.value_from
    if variable.value or source is None:
        return expand(variable.value, values)
    if source.field_ref is not None or source.resource_field_ref is not None:
        from kitlib.kubelet.pods.fieldpath import field_value, resource_value  # loaded with the first field

        if source.field_ref is not None:
            return field_value(pod, source.field_ref)
        assert source.resource_field_ref is not None
        return resource_value(pod, container, source.resource_field_ref, allocatable)
    for kind, reference in ((CONFIG_MAP, source.config_map_key_ref), (SECRET, source.secret_key_ref)):
        if reference is None:
            continue
        data = _data(objects, kind, pod.namespace, reference)
        if data is None:
            return None
        if reference.key in data:
            return data[reference.key].decode(errors="replace")
        if reference.optional:
            return None
        raise MissingObject(f"couldn't find key {reference.key} in {kind} {pod.namespace}/{reference.name}")
    raise KitError(f"env {variable.name}: this source of a value does not exist on the kit's nodes")


def _data(objects: Objects, kind: str, namespace: str, reference: Reference) -> Mapping[str, bytes] | None:
    """Return the data of an object that a container refers to; None if it is optional and does not exist.

    Raises:
        MissingObject: the object is not optional and does not exist.
    """
    try:
        return objects.data(kind, namespace, reference.name)
    except MissingObject:
        if reference.optional:
            return None
        raise


def _is_name(name: str) -> bool:
    """Return whether a name is valid. Source: validation.IsEnvVarName (printable ASCII except "=", from 1.34 on)."""
    return bool(name) and all(" " <= one <= "~" and one != "=" for one in name)


def expanded(container: Container, values: Mapping[str, str]) -> Container:
    """Return the container with the references in its command and arguments replaced.

    Raises:
        KitError: they exceed the limit of Linux.
    """
    words = [*container.command, *container.args]
    if not any("$" in word for word in words):
        return container
    made, size = [], 0
    for word in words:
        made.append(expand(word, values))
        size += len(made[-1])
        _bounded(size, MAX_TEXTS, "a command")
    at = len(container.command)
    return msgspec.structs.replace(container, command=made[:at], args=made[at:])
