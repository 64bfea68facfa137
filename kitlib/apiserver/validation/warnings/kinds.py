"""Warnings of the API server about objects that it accepts.

Source: pkg/api/pod/warnings.go, pkg/api/node/util.go, pkg/api/persistentvolume(claim)/util.go,
pkg/api/service/warnings.go, WarningsOnCreate of the strategies in pkg/registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.batch import CronJob, Job, JobSpec
from kitlib.api.coordination import RuntimeClass
from kitlib.api.core import (
    Endpoints,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
    Secret,
    Service,
    ServiceAccount,
)
from kitlib.api.defaults import set_defaults
from kitlib.api.meta import KubeObject
from kitlib.api.names import is_dns1123_label
from kitlib.api.networking import EndpointSlice, Ingress, NetworkPolicy
from kitlib.api.serialize import deepcopy
from kitlib.api.storage import StorageClass
from kitlib.apiserver.validation.custom_resource_structural import Schema, every
from kitlib.apiserver.validation.warnings.address import (
    endpoint_slice_warnings,
    endpoints_warnings,
    network_policy_warnings,
    node_warnings,
    service_warnings,
)
from kitlib.apiserver.validation.warnings.parts import (
    CLASS_ANNOTATION,
    CLASS_DEPRECATED,
    VOLUMES,
    claim_spec,
    deprecated_label,
    fractional,
    node_selector,
    node_term,
)
from kitlib.apiserver.validation.warnings.pod import pod_warnings
from kitlib.cel.string_formats import is_known

_SURPRISING = "which can result in surprising behavior; a DNS label is recommended"
_IN_PODS = "this is used in Pod names and hostnames"
_IN_HOSTNAME = "this is used in the Pod's hostname"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_PEM = re.compile(rb"-----BEGIN ([^-\n]+)-----\r?\n.*?-----END \1-----", re.DOTALL)
_INGRESS_CLASS = 'annotation "kubernetes.io/ingress.class"'


def warnings_of(obj: KubeObject) -> list[str]:
    """Return the warnings about a new object, given without its defaults."""
    return list(_texts(set_defaults(deepcopy(obj))))


def warning_header(text: str) -> str:
    """Return the value of the HTTP header `Warning`. Source: apimachinery util/net NewWarningHeader."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def _texts(obj: KubeObject) -> Iterator[str]:
    if isinstance(obj, Pod):
        yield from _name(obj, _IN_HOSTNAME)
        yield from pod_warnings(obj.spec, obj.metadata, "")
    elif isinstance(obj, Deployment | ReplicaSet | Job):
        yield from _name(obj, _IN_PODS)
        if isinstance(obj, Job):
            yield from _job(obj.spec, "spec")
        else:
            yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, ReplicationController):
        yield from _name(obj, _IN_PODS)
        if obj.spec.template is not None:
            yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, StatefulSet):
        yield from _template(obj.spec.template, "spec.template")
        for i, claim in enumerate(obj.spec.volume_claim_templates):
            yield from claim_spec(claim.spec, f"spec.volumeClaimTemplates[{i}]")
        limit = obj.spec.revision_history_limit
        if limit is not None and limit < 0:
            text = "a negative value retains all historical revisions; a value >= 0 is recommended"
            yield f"spec.revisionHistoryLimit: {text}"
    elif isinstance(obj, DaemonSet):
        yield from _template(obj.spec.template, "spec.template")
    elif isinstance(obj, CronJob):
        yield from _name(obj, _IN_PODS)
        yield from _job(obj.spec.job_template.spec, "spec.jobTemplate.spec")
    elif isinstance(obj, PodTemplate):
        yield from _template(obj.template, "template")
    else:
        yield from _others(obj)


def _others(obj: KubeObject) -> Iterator[str]:
    if isinstance(obj, PersistentVolumeClaim):
        if CLASS_ANNOTATION in obj.metadata.annotations:
            yield f"metadata.annotations[{CLASS_ANNOTATION}]: {CLASS_DEPRECATED}"
        yield from claim_spec(obj.spec, "spec")
    elif isinstance(obj, PersistentVolume):
        yield from _volume(obj)
    elif isinstance(obj, Endpoints):
        yield "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        yield from endpoints_warnings(obj)
    elif isinstance(obj, Ingress):
        if "kubernetes.io/ingress.class" in obj.metadata.annotations and obj.spec.ingress_class_name is None:
            yield f"{_INGRESS_CLASS} is deprecated, please use 'spec.ingressClassName' instead"
    elif isinstance(obj, RuntimeClass):
        if obj.overhead is not None:
            yield from fractional(obj.overhead.pod_fixed, "overhead.podFixed", ("memory",))
        if obj.scheduling is not None:
            yield from node_selector(obj.scheduling.node_selector, "scheduling.nodeSelector")
    elif isinstance(obj, Service):
        yield from service_warnings(obj)
    elif isinstance(obj, StorageClass):
        yield from _storage_class(obj)
    elif isinstance(obj, Secret):
        yield from _secret(obj)
    elif isinstance(obj, ServiceAccount):
        if _MOUNTABLE in obj.metadata.annotations:
            detail = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
            yield f"metadata.annotations[{_MOUNTABLE}]: {detail}"
    elif isinstance(obj, EndpointSlice):
        if obj.address_type == "FQDN":
            yield "addressType: FQDN endpoints are deprecated"
        yield from endpoint_slice_warnings(obj)
    elif isinstance(obj, NetworkPolicy):
        yield from network_policy_warnings(obj)
    elif isinstance(obj, Node):
        yield from node_warnings(obj)
    elif isinstance(obj, CustomResourceDefinition):
        for version in obj.spec.versions:
            if version.schema is not None:
                yield from _unknown_formats(version.schema.open_api_v3_schema or {})


def _unknown_formats(schema: Schema) -> Iterator[str]:
    """Yield warnings about formats that are not validated.

    Source: customresourcedefinition getUnrecognizedFormatsInSchema.
    """
    for part in every(schema):
        name = part.get("format")
        if isinstance(name, str) and name and part.get("type") == "string" and not is_known(name):
            yield f'unrecognized format "{name}"'


def _name(obj: KubeObject, use: str) -> Iterator[str]:
    meta = obj.metadata
    problems = is_dns1123_label(meta.name or f"{meta.generate_name}x")  # the name is generated before the warnings
    if problems:
        yield f"metadata.name: {use}, {_SURPRISING}: [{' '.join(problems)}]"


def _template(template: PodTemplateSpec, field: str) -> Iterator[str]:
    yield from pod_warnings(template.spec, template.metadata, f"{field}.")


def _job(spec: JobSpec, field: str) -> Iterator[str]:
    """Source: WarningsForJobSpec."""
    if spec.completion_mode == "Indexed" and (spec.completions or 0) > 100_000 and (spec.parallelism or 0) > 10_000:
        yield (
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    yield from _template(spec.template, f"{field}.template")


def _storage_class(obj: StorageClass) -> Iterator[str]:
    """Source: pkg/api/storage GetWarningsForStorageClass."""
    for i, term in enumerate(obj.allowed_topologies):
        for j, expression in enumerate(term.match_label_expressions):
            text = deprecated_label(expression.key)
            if text:
                yield f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {text}"


def _secret(obj: Secret) -> Iterator[str]:
    """Yield warnings about a TLS pair without PEM data; certificates are not parsed.

    Source: warningsForSecret, tls.X509KeyPair.
    """
    if obj.type != "kubernetes.io/tls":
        return
    blocks = [name.decode(errors="replace") for name in _PEM.findall(obj.data.get("tls.crt", b""))]
    if not blocks:
        yield "tls: failed to find any PEM data in certificate input"
    elif "CERTIFICATE" not in blocks:
        if len(blocks) == 1 and blocks[0].endswith("PRIVATE KEY"):
            yield (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
                "PEM inputs may have been switched"
            )
        else:
            yield (
                'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
                f"following types: [{' '.join(blocks)}]"
            )
    elif not _PEM.search(obj.data.get("tls.key", b"")):
        yield "tls: failed to find any PEM data in key input"


def _volume(obj: PersistentVolume) -> Iterator[str]:
    """Source: pkg/api/persistentvolume GetWarningsForPersistentVolume."""
    if CLASS_ANNOTATION in obj.metadata.annotations:
        yield f"metadata.annotations[{CLASS_ANNOTATION}]: {CLASS_DEPRECATED}"
    if obj.spec.persistent_volume_reclaim_policy == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    if obj.spec.node_affinity is not None and obj.spec.node_affinity.required is not None:
        for i, term in enumerate(obj.spec.node_affinity.required.node_selector_terms):
            yield from node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    for name, (wire, text) in VOLUMES.items():
        if getattr(obj.spec, name, None) is not None:
            yield f"spec.{wire}: {text}"
    yield from fractional(obj.spec.capacity, "spec.capacity", ("storage",))
