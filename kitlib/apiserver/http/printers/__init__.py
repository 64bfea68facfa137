"""Tables: the rows that `kubectl get` shows, made by the server. Source: pkg/printers, meta.k8s.io/v1 Table.

Imported by http, and by views and conformance for texts and tables. Face: `table`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from kitlib.apiserver.http.printers import network, others, policies, workloads
from kitlib.apiserver.http.printers.json_path import json_path
from kitlib.apiserver.http.printers.pods import print_pod
from kitlib.apiserver.http.printers.text import Object, age
from kitlib.apiserver.http.resources import APIResource, TableColumnDefinition

Printer = Callable[[Object, datetime], list[Any]]

PRINTERS: dict[str, Printer] = {
    "Pod": print_pod,
    "Node": others.print_node,
    "Event": others.print_event,
    "Namespace": others.print_namespace,
    "Secret": others.print_secret,
    "ConfigMap": others.print_config_map,
    "ServiceAccount": others.print_name_and_age,
    "LimitRange": others.print_creation_time,
    "ResourceQuota": others.print_resource_quota,
    "PersistentVolume": others.print_persistent_volume,
    "PersistentVolumeClaim": others.print_persistent_volume_claim,
    "Service": network.print_service,
    "Endpoints": network.print_endpoints,
    "EndpointSlice": network.print_endpoint_slice,
    "Ingress": network.print_ingress,
    "IngressClass": network.print_ingress_class,
    "NetworkPolicy": network.print_network_policy,
    "ReplicationController": workloads.print_replica_set,
    "ReplicaSet": workloads.print_replica_set,
    "Deployment": workloads.print_deployment,
    "StatefulSet": workloads.print_stateful_set,
    "DaemonSet": workloads.print_daemon_set,
    "Job": workloads.print_job,
    "CronJob": workloads.print_cron_job,
    "HorizontalPodAutoscaler": workloads.print_horizontal_pod_autoscaler,
    "ControllerRevision": workloads.print_controller_revision,
    "PodDisruptionBudget": workloads.print_pod_disruption_budget,
    "PodTemplate": workloads.print_pod_template,
    "PriorityClass": others.print_priority_class,
    "StorageClass": others.print_storage_class,
    "CSINode": others.print_csi_node,
    "CSIDriver": others.print_csi_driver,
    "CSIStorageCapacity": others.print_creation_time,
    "VolumeAttachment": others.print_volume_attachment,
    "Lease": others.print_lease,
    "RuntimeClass": others.print_runtime_class,
    "Role": others.print_creation_time,
    "ClusterRole": others.print_creation_time,
    "RoleBinding": others.print_role_binding,
    "ClusterRoleBinding": others.print_role_binding,
    "CustomResourceDefinition": others.print_creation_time,
    "CustomResourceDefinition with versions": others.print_definition,
    "ResourceClaim": others.print_resource_claim,
    "ResourceSlice": others.print_resource_slice,
    "ResourceClaimTemplate": others.print_name_and_age,
    "DeviceClass": others.print_name_and_age,
    "MutatingWebhookConfiguration": policies.print_webhook_configuration,
    "ValidatingWebhookConfiguration": policies.print_webhook_configuration,
    "MutatingAdmissionPolicy": policies.print_admission_policy,
    "ValidatingAdmissionPolicy": policies.print_admission_policy,
    "MutatingAdmissionPolicyBinding": policies.print_admission_policy_binding,
    "ValidatingAdmissionPolicyBinding": policies.print_admission_policy_binding,
    "FlowSchema": policies.print_flow_schema,
    "PriorityLevelConfiguration": policies.print_priority_level_configuration,
    "CertificateSigningRequest": policies.print_certificate_signing_request,
    "ServiceCIDR": policies.print_service_cidr,
    "VolumeAttributesClass": policies.print_volume_attributes_class,
    "ComponentStatus": policies.print_component_status,
    "APIService": policies.print_api_service,
}


def cells(resource: APIResource, obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a table row, one per column of the resource."""
    if resource.schema is not None:
        return [_custom(column, obj, now) for column in resource.columns]
    printer = PRINTERS.get(resource.printer or resource.kind)
    if printer is not None:
        return printer({"kind": resource.kind, **obj}, now)
    row: list[Any] = [obj.get("metadata", {}).get("name", "")]
    for column in resource.columns[1:]:
        row.append(age(obj.get("metadata", {}).get("creationTimestamp"), now) if column.name == "Age" else "")
    return row


def table(
    resource: APIResource, objects: Iterable[Object], now: datetime, meta: Mapping[str, Any], include: str = "Metadata"
) -> dict[str, Any]:
    """Return a Table of objects.

    Args:
        resource: the resource with its columns.
        objects: the objects in the wire form.
        now: the server's time, for ages.
        meta: the list's metadata: resourceVersion, continue, remainingItemCount.
        include: the object in each row: `Metadata` (the default), `Object`, `None`.
    """
    columns = [
        {"name": c.name, "type": c.type, "format": c.format, "description": _described(c), "priority": c.priority}
        for c in resource.columns
    ]
    rows = []
    for obj in objects:
        row: dict[str, Any] = {"cells": cells(resource, obj, now)}
        if include == "Object":
            row["object"] = dict(obj)
        elif include != "None":
            metadata = {k: v for k, v in obj.get("metadata", {}).items() if k != "managedFields"}
            row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        rows.append(row)
    made = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": dict(meta), "columnDefinitions": columns}
    return {**made, "rows": rows}


def _described(column: TableColumnDefinition) -> str:
    return f"Custom resource definition column (in JSONPath format): {column.path}" if column.path else column.name


def _custom(column: TableColumnDefinition, obj: Object, now: datetime) -> Any:
    """Return the cell of a custom column. Source: apiextensions tableconvertor.cellForJSONValue."""
    if not column.path:
        return obj.get("metadata", {}).get("name", "")
    try:
        found = json_path(obj, column.path)
    except ValueError:
        return None
    if not found or found[0] is None:
        return None
    return _cell(column.type, found[0], now)


def _cell(kind: str, value: Any, now: datetime) -> Any:
    """Return a value as a cell of a type; None if it has another one."""
    if kind == "string":
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if kind == "date":
        return age(value, now) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" else float(value)
