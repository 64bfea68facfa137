"""Validation of a container's environment variables and their sources.

Source: pkg/apis/core/validation ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector,
validateContainerResourceFieldSelector; pkg/apis/core/pods ConvertDownwardAPIFieldLabel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kitlib.api.container import (
    EnvFromSource,
    EnvVar,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
)
from kitlib.api.field_errors import Errors, each, invalid, not_supported, required
from kitlib.api.names import (
    is_config_map_key,
    is_dns1123_subdomain,
    is_qualified_name,
    is_relaxed_env_var_name,
)
from kitlib.api.resource import Quantity
from kitlib.apiserver.validation.paths import validate_local_non_reserved_path

_FIELD_LABELS = frozenset(
    (
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    )
)
ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_DIVISORS = {
    "cpu": (("1", "1m"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (None, f"only divisor's values {_BYTE_DIVISORS} are supported with the memory resource"),
    "ephemeral-storage": (
        None,
        f"only divisor's values {_BYTE_DIVISORS} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (None, f"only divisor's values {_BYTE_DIVISORS} are supported with the hugepages resource"),
}
_SOURCES = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def validate_env(variables: Iterable[EnvVar], field: str) -> Errors:
    """Source: ValidateEnv."""
    found: Errors = []
    for i, variable in enumerate(variables):
        place = f"{field}[{i}]"
        if not variable.name:
            found.append(required(f"{place}.name"))
        else:
            found += each(f"{place}.name", variable.name, is_relaxed_env_var_name(variable.name))
        if variable.value_from is not None:
            found += validate_env_var_value_from(variable, f"{place}.valueFrom")
    return found


def validate_env_var_value_from(variable: EnvVar, field: str) -> Errors:
    """Check that there is exactly one source and no value. Source: validateEnvVarValueFrom."""
    source = variable.value_from
    if source is None:
        return []
    found: Errors = []
    count = 0
    if source.field_ref is not None:
        count += 1
        found += validate_object_field_selector(source.field_ref, ENV_FIELDS, f"{field}.fieldRef")
    if source.resource_field_ref is not None:
        count += 1
        place = f"{field}.resourceFieldRef"
        found += validate_container_resource_field_selector(source.resource_field_ref, place, volume=False)
    for name, selector in (("configMapKeyRef", source.config_map_key_ref), ("secretKeyRef", source.secret_key_ref)):
        if selector is not None:
            count += 1
            found += each(f"{field}.{name}.name", selector.name, is_dns1123_subdomain(selector.name))
            if not selector.key:
                found.append(required(f"{field}.{name}.key"))
            else:
                found += each(f"{field}.{name}.key", selector.key, is_config_map_key(selector.key))
    if source.file_key_ref is not None:
        count += 1
        found += _validate_file_key_selector(source.file_key_ref, f"{field}.fileKeyRef")
    if count == 0:
        found.append(invalid(field, "", f"must specify one of: {_SOURCES}"))
    elif variable.value:
        found.append(invalid(field, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        found.append(invalid(field, "", "may not have more than one field specified at a time"))
    return found


def _validate_file_key_selector(selector: FileKeySelector, field: str) -> Errors:
    """Source: validateFileKeySelector."""
    found: Errors = []
    if not selector.key:
        found.append(required(f"{field}.key"))
    else:
        found += each(f"{field}.key", selector.key, is_relaxed_env_var_name(selector.key))
    if not selector.volume_name:
        found.append(required(f"{field}.volumeName"))
    if not selector.path:
        found.append(required(f"{field}.path"))
    else:
        found += validate_local_non_reserved_path(selector.path, f"{field}.path")
    return found


def validate_object_field_selector(selector: ObjectFieldSelector, supported: Sequence[str], field: str) -> Errors:
    """Source: validateObjectFieldSelector."""
    if not selector.api_version:
        return [required(f"{field}.apiVersion")]
    if not selector.field_path:
        return [required(f"{field}.fieldPath")]
    path, subscript = split_maybe_subscripted_path(selector.field_path)
    problem = _conversion_problem(selector.api_version, selector.field_path, path, subscript)
    if problem:
        return [invalid(f"{field}.fieldPath", selector.field_path, f"error converting fieldPath: {problem}")]
    if subscript is not None:
        key = subscript.lower() if path == "metadata.annotations" else subscript
        return each(field, key, is_qualified_name(key))
    path = "spec.nodeName" if path == "spec.host" else path
    if path not in supported:
        return [not_supported(f"{field}.fieldPath", path, supported)]
    return []


def split_maybe_subscripted_path(path: str) -> tuple[str, str | None]:
    """Split `metadata.labels['a']` into path and subscript; the subscript is None if absent.

    Source: fieldpath package.
    """
    before, mark, after = path.removesuffix("']").partition("['")
    return (before, after) if path.endswith("']") and mark and before else (path, None)


def _conversion_problem(version: str, full: str, path: str, subscript: str | None) -> str:
    """Source: ConvertDownwardAPIFieldLabel."""
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        if path in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {full}"
    if path in _FIELD_LABELS or path == "spec.host":
        return ""
    return f"field label not supported: {full}"


def validate_container_resource_field_selector(selector: ResourceFieldSelector, field: str, *, volume: bool) -> Errors:
    """Source: validateContainerResourceFieldSelector."""
    found: Errors = []
    if volume and not selector.container_name:
        found.append(required(f"{field}.containerName"))
    elif not selector.resource:
        found.append(required(f"{field}.resource"))
    elif selector.resource not in RESOURCE_FIELDS and not selector.resource.startswith(_HUGE_PAGES):
        found.append(not_supported(f"{field}.resource", selector.resource, RESOURCE_FIELDS))
    return found + _validate_container_resource_divisor(selector.resource, selector.divisor, field)


def _validate_container_resource_divisor(resource: str, divisor: Quantity | None, field: str) -> Errors:
    """Source: validateContainerResourceDivisor."""
    if divisor is None or divisor.sign() == 0:
        return []
    which, _, name = resource.partition(".")
    rule = _DIVISORS.get("hugepages" if name.startswith("hugepages-") else name)
    if which not in ("limits", "requests") or rule is None:
        return []
    allowed, detail = rule
    if str(divisor) in (allowed or _BYTE_DIVISORS.split(", ")):
        return []
    return [invalid(f"{field}.divisor", resource, detail)]


def validate_env_from(sources: Iterable[EnvFromSource], field: str) -> Errors:
    """Source: ValidateEnvFrom."""
    found: Errors = []
    for i, source in enumerate(sources):
        place = f"{field}[{i}]"
        if source.prefix:
            found += each(f"{place}.prefix", source.prefix, is_relaxed_env_var_name(source.prefix))
        count = 0
        for name, reference in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref)):
            if reference is not None:
                count += 1
                if not reference.name:
                    found.append(required(f"{place}.{name}.name"))
                else:
                    found += each(f"{place}.{name}.name", reference.name, _prefix_subdomain(reference.name))
        if count == 0:
            found.append(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            found.append(invalid(field, "", "may not have more than one field specified at a time"))
    return found


def _prefix_subdomain(name: str) -> tuple[str, ...]:
    """Check a name as a prefix, which may end in a dash. Source: ValidateConfigMapName(name, true)."""
    return is_dns1123_subdomain(f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name)
