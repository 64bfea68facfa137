"""The types that methods of a cluster return, by kind: for type checkers, editors and completion in notebooks.

A running kit never imports this module: `kitlib.cluster.base` uses its protocols in annotations alone. A kind is one of
its names in `kubectl api-resources`, or a type: `cluster.get(Deployment, "web")`. Kinds without a type in the kit, and
names that are not literals, return Any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from kitlib.api.admissionregistration import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.api.batch import CronJob, Job
from kitlib.api.certificates import APIService, CertificateSigningRequest
from kitlib.api.coordination import Lease, RuntimeClass
from kitlib.api.core import (
    ConfigMap,
    Endpoints,
    Event,
    Namespace,
    Node,
    Pod,
    PodTemplate,
    ReplicationController,
    Secret,
    Service,
    ServiceAccount,
)
from kitlib.api.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.networking import EndpointSlice, Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR
from kitlib.api.persistent_volume import PersistentVolume, PersistentVolumeClaim
from kitlib.api.policy import PodDisruptionBudget, PriorityClass
from kitlib.api.quota import LimitRange, ResourceQuota
from kitlib.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from kitlib.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)

K = TypeVar("K", bound=KubeObject)
P = ParamSpec("P")
Selector: TypeAlias = Mapping[str, str] | LabelSelector | None

_Pod: TypeAlias = Literal["Pod", "pod", "pods", "po"]
_Node: TypeAlias = Literal["Node", "node", "nodes", "no"]
_Namespace: TypeAlias = Literal["Namespace", "namespace", "namespaces", "ns"]
_Service: TypeAlias = Literal["Service", "service", "services", "svc"]
_Event: TypeAlias = Literal["Event", "event", "events", "ev"]
_ReplicationController: TypeAlias = Literal[
    "ReplicationController", "replicationcontroller", "replicationcontrollers", "rc"
]
_ResourceQuota: TypeAlias = Literal["ResourceQuota", "resourcequota", "resourcequotas", "quota"]
_LimitRange: TypeAlias = Literal["LimitRange", "limitrange", "limitranges", "limits"]
_PersistentVolume: TypeAlias = Literal["PersistentVolume", "persistentvolume", "persistentvolumes", "pv"]
_PersistentVolumeClaim: TypeAlias = Literal[
    "PersistentVolumeClaim", "persistentvolumeclaim", "persistentvolumeclaims", "pvc"
]
_ConfigMap: TypeAlias = Literal["ConfigMap", "configmap", "configmaps", "cm"]
_Secret: TypeAlias = Literal["Secret", "secret", "secrets"]
_ServiceAccount: TypeAlias = Literal["ServiceAccount", "serviceaccount", "serviceaccounts", "sa"]
_Deployment: TypeAlias = Literal["Deployment", "deployment", "deployments", "deploy"]
_ReplicaSet: TypeAlias = Literal["ReplicaSet", "replicaset", "replicasets", "rs"]
_StatefulSet: TypeAlias = Literal["StatefulSet", "statefulset", "statefulsets", "sts"]
_DaemonSet: TypeAlias = Literal["DaemonSet", "daemonset", "daemonsets", "ds"]
_ControllerRevision: TypeAlias = Literal["ControllerRevision", "controllerrevision", "controllerrevisions"]
_Job: TypeAlias = Literal["Job", "job", "jobs"]
_CronJob: TypeAlias = Literal["CronJob", "cronjob", "cronjobs", "cj"]
_HorizontalPodAutoscaler: TypeAlias = Literal[
    "HorizontalPodAutoscaler", "horizontalpodautoscaler", "horizontalpodautoscalers", "hpa"
]
_Endpoints: TypeAlias = Literal["Endpoints", "endpoints", "ep"]
_EndpointSlice: TypeAlias = Literal["EndpointSlice", "endpointslice", "endpointslices"]
_PodDisruptionBudget: TypeAlias = Literal["PodDisruptionBudget", "poddisruptionbudget", "poddisruptionbudgets", "pdb"]
_PriorityClass: TypeAlias = Literal["PriorityClass", "priorityclass", "priorityclasses", "pc"]
_StorageClass: TypeAlias = Literal["StorageClass", "storageclass", "storageclasses", "sc"]
_CSINode: TypeAlias = Literal["CSINode", "csinode", "csinodes"]
_CSIDriver: TypeAlias = Literal["CSIDriver", "csidriver", "csidrivers"]
_CSIStorageCapacity: TypeAlias = Literal["CSIStorageCapacity", "csistoragecapacity", "csistoragecapacities"]
_VolumeAttachment: TypeAlias = Literal["VolumeAttachment", "volumeattachment", "volumeattachments"]
_ResourceClaim: TypeAlias = Literal["ResourceClaim", "resourceclaim", "resourceclaims"]
_ResourceClaimTemplate: TypeAlias = Literal["ResourceClaimTemplate", "resourceclaimtemplate", "resourceclaimtemplates"]
_DeviceClass: TypeAlias = Literal["DeviceClass", "deviceclass", "deviceclasses"]
_ResourceSlice: TypeAlias = Literal["ResourceSlice", "resourceslice", "resourceslices"]
_DeviceTaintRule: TypeAlias = Literal["DeviceTaintRule", "devicetaintrule", "devicetaintrules"]
_PodTemplate: TypeAlias = Literal["PodTemplate", "podtemplate", "podtemplates"]
_Ingress: TypeAlias = Literal["Ingress", "ingress", "ingresses", "ing"]
_IngressClass: TypeAlias = Literal["IngressClass", "ingressclass", "ingressclasses"]
_NetworkPolicy: TypeAlias = Literal["NetworkPolicy", "networkpolicy", "networkpolicies", "netpol"]
_IPAddress: TypeAlias = Literal["IPAddress", "ipaddress", "ipaddresses", "ip"]
_ServiceCIDR: TypeAlias = Literal["ServiceCIDR", "servicecidr", "servicecidrs"]
_Role: TypeAlias = Literal["Role", "role", "roles"]
_ClusterRole: TypeAlias = Literal["ClusterRole", "clusterrole", "clusterroles"]
_RoleBinding: TypeAlias = Literal["RoleBinding", "rolebinding", "rolebindings"]
_ClusterRoleBinding: TypeAlias = Literal["ClusterRoleBinding", "clusterrolebinding", "clusterrolebindings"]
_VolumeAttributesClass: TypeAlias = Literal[
    "VolumeAttributesClass", "volumeattributesclass", "volumeattributesclasses", "vac"
]
_Lease: TypeAlias = Literal["Lease", "lease", "leases"]
_RuntimeClass: TypeAlias = Literal["RuntimeClass", "runtimeclass", "runtimeclasses"]
_CustomResourceDefinition: TypeAlias = Literal[
    "CustomResourceDefinition", "customresourcedefinition", "customresourcedefinitions", "crd"
]
_APIService: TypeAlias = Literal["APIService", "apiservice", "apiservices"]
_CertificateSigningRequest: TypeAlias = Literal[
    "CertificateSigningRequest", "certificatesigningrequest", "certificatesigningrequests", "csr"
]
_MutatingAdmissionPolicy: TypeAlias = Literal[
    "MutatingAdmissionPolicy", "mutatingadmissionpolicy", "mutatingadmissionpolicies"
]
_MutatingAdmissionPolicyBinding: TypeAlias = Literal[
    "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybinding", "mutatingadmissionpolicybindings"
]
_MutatingWebhookConfiguration: TypeAlias = Literal[
    "MutatingWebhookConfiguration", "mutatingwebhookconfiguration", "mutatingwebhookconfigurations"
]
_ValidatingAdmissionPolicy: TypeAlias = Literal[
    "ValidatingAdmissionPolicy", "validatingadmissionpolicy", "validatingadmissionpolicies"
]
_ValidatingAdmissionPolicyBinding: TypeAlias = Literal[
    "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybinding", "validatingadmissionpolicybindings"
]
_ValidatingWebhookConfiguration: TypeAlias = Literal[
    "ValidatingWebhookConfiguration", "validatingwebhookconfiguration", "validatingwebhookconfigurations"
]
_FlowSchema: TypeAlias = Literal["FlowSchema", "flowschema", "flowschemas"]
_PriorityLevelConfiguration: TypeAlias = Literal[
    "PriorityLevelConfiguration", "prioritylevelconfiguration", "prioritylevelconfigurations"
]


class ByKind(Protocol[P]):
    """The type of a method that returns an object of the kind in its first argument: `get`, `patch`, `scale`.

    P: the arguments after the kind.
    """

    @overload
    def __call__(self, kind: _Pod, *args: P.args, **kwargs: P.kwargs) -> Pod: ...
    @overload
    def __call__(self, kind: _Node, *args: P.args, **kwargs: P.kwargs) -> Node: ...
    @overload
    def __call__(self, kind: _Namespace, *args: P.args, **kwargs: P.kwargs) -> Namespace: ...
    @overload
    def __call__(self, kind: _Service, *args: P.args, **kwargs: P.kwargs) -> Service: ...
    @overload
    def __call__(self, kind: _Event, *args: P.args, **kwargs: P.kwargs) -> Event: ...
    @overload
    def __call__(self, kind: _ReplicationController, *args: P.args, **kwargs: P.kwargs) -> ReplicationController: ...
    @overload
    def __call__(self, kind: _ResourceQuota, *args: P.args, **kwargs: P.kwargs) -> ResourceQuota: ...
    @overload
    def __call__(self, kind: _LimitRange, *args: P.args, **kwargs: P.kwargs) -> LimitRange: ...
    @overload
    def __call__(self, kind: _PersistentVolume, *args: P.args, **kwargs: P.kwargs) -> PersistentVolume: ...
    @overload
    def __call__(self, kind: _PersistentVolumeClaim, *args: P.args, **kwargs: P.kwargs) -> PersistentVolumeClaim: ...
    @overload
    def __call__(self, kind: _ConfigMap, *args: P.args, **kwargs: P.kwargs) -> ConfigMap: ...
    @overload
    def __call__(self, kind: _Secret, *args: P.args, **kwargs: P.kwargs) -> Secret: ...
    @overload
    def __call__(self, kind: _ServiceAccount, *args: P.args, **kwargs: P.kwargs) -> ServiceAccount: ...
    @overload
    def __call__(self, kind: _Deployment, *args: P.args, **kwargs: P.kwargs) -> Deployment: ...
    @overload
    def __call__(self, kind: _ReplicaSet, *args: P.args, **kwargs: P.kwargs) -> ReplicaSet: ...
    @overload
    def __call__(self, kind: _StatefulSet, *args: P.args, **kwargs: P.kwargs) -> StatefulSet: ...
    @overload
    def __call__(self, kind: _DaemonSet, *args: P.args, **kwargs: P.kwargs) -> DaemonSet: ...
    @overload
    def __call__(self, kind: _ControllerRevision, *args: P.args, **kwargs: P.kwargs) -> ControllerRevision: ...
    @overload
    def __call__(self, kind: _Job, *args: P.args, **kwargs: P.kwargs) -> Job: ...
    @overload
    def __call__(self, kind: _CronJob, *args: P.args, **kwargs: P.kwargs) -> CronJob: ...
    @overload
    def __call__(
        self, kind: _HorizontalPodAutoscaler, *args: P.args, **kwargs: P.kwargs
    ) -> HorizontalPodAutoscaler: ...
    @overload
    def __call__(self, kind: _Endpoints, *args: P.args, **kwargs: P.kwargs) -> Endpoints: ...
    @overload
    def __call__(self, kind: _EndpointSlice, *args: P.args, **kwargs: P.kwargs) -> EndpointSlice: ...
    @overload
    def __call__(self, kind: _PodDisruptionBudget, *args: P.args, **kwargs: P.kwargs) -> PodDisruptionBudget: ...
    @overload
    def __call__(self, kind: _PriorityClass, *args: P.args, **kwargs: P.kwargs) -> PriorityClass: ...
    @overload
    def __call__(self, kind: _StorageClass, *args: P.args, **kwargs: P.kwargs) -> StorageClass: ...
    @overload
    def __call__(self, kind: _CSINode, *args: P.args, **kwargs: P.kwargs) -> CSINode: ...
    @overload
    def __call__(self, kind: _CSIDriver, *args: P.args, **kwargs: P.kwargs) -> CSIDriver: ...
    @overload
    def __call__(self, kind: _CSIStorageCapacity, *args: P.args, **kwargs: P.kwargs) -> CSIStorageCapacity: ...
    @overload
    def __call__(self, kind: _VolumeAttachment, *args: P.args, **kwargs: P.kwargs) -> VolumeAttachment: ...
    @overload
    def __call__(self, kind: _ResourceClaim, *args: P.args, **kwargs: P.kwargs) -> ResourceClaim: ...
    @overload
    def __call__(self, kind: _ResourceClaimTemplate, *args: P.args, **kwargs: P.kwargs) -> ResourceClaimTemplate: ...
    @overload
    def __call__(self, kind: _DeviceClass, *args: P.args, **kwargs: P.kwargs) -> DeviceClass: ...
    @overload
    def __call__(self, kind: _ResourceSlice, *args: P.args, **kwargs: P.kwargs) -> ResourceSlice: ...
    @overload
    def __call__(self, kind: _DeviceTaintRule, *args: P.args, **kwargs: P.kwargs) -> DeviceTaintRule: ...
    @overload
    def __call__(self, kind: _PodTemplate, *args: P.args, **kwargs: P.kwargs) -> PodTemplate: ...
    @overload
    def __call__(self, kind: _Ingress, *args: P.args, **kwargs: P.kwargs) -> Ingress: ...
    @overload
    def __call__(self, kind: _IngressClass, *args: P.args, **kwargs: P.kwargs) -> IngressClass: ...
    @overload
    def __call__(self, kind: _NetworkPolicy, *args: P.args, **kwargs: P.kwargs) -> NetworkPolicy: ...
    @overload
    def __call__(self, kind: _IPAddress, *args: P.args, **kwargs: P.kwargs) -> IPAddress: ...
    @overload
    def __call__(self, kind: _ServiceCIDR, *args: P.args, **kwargs: P.kwargs) -> ServiceCIDR: ...
    @overload
    def __call__(self, kind: _Role, *args: P.args, **kwargs: P.kwargs) -> Role: ...
    @overload
    def __call__(self, kind: _ClusterRole, *args: P.args, **kwargs: P.kwargs) -> ClusterRole: ...
    @overload
    def __call__(self, kind: _RoleBinding, *args: P.args, **kwargs: P.kwargs) -> RoleBinding: ...
    @overload
    def __call__(self, kind: _ClusterRoleBinding, *args: P.args, **kwargs: P.kwargs) -> ClusterRoleBinding: ...
    @overload
    def __call__(self, kind: _VolumeAttributesClass, *args: P.args, **kwargs: P.kwargs) -> VolumeAttributesClass: ...
    @overload
    def __call__(self, kind: _Lease, *args: P.args, **kwargs: P.kwargs) -> Lease: ...
    @overload
    def __call__(self, kind: _RuntimeClass, *args: P.args, **kwargs: P.kwargs) -> RuntimeClass: ...
    @overload
    def __call__(
        self, kind: _CustomResourceDefinition, *args: P.args, **kwargs: P.kwargs
    ) -> CustomResourceDefinition: ...
    @overload
    def __call__(self, kind: _APIService, *args: P.args, **kwargs: P.kwargs) -> APIService: ...
    @overload
    def __call__(
        self, kind: _CertificateSigningRequest, *args: P.args, **kwargs: P.kwargs
    ) -> CertificateSigningRequest: ...
    @overload
    def __call__(
        self, kind: _MutatingAdmissionPolicy, *args: P.args, **kwargs: P.kwargs
    ) -> MutatingAdmissionPolicy: ...
    @overload
    def __call__(
        self, kind: _MutatingAdmissionPolicyBinding, *args: P.args, **kwargs: P.kwargs
    ) -> MutatingAdmissionPolicyBinding: ...
    @overload
    def __call__(
        self, kind: _MutatingWebhookConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> MutatingWebhookConfiguration: ...
    @overload
    def __call__(
        self, kind: _ValidatingAdmissionPolicy, *args: P.args, **kwargs: P.kwargs
    ) -> ValidatingAdmissionPolicy: ...
    @overload
    def __call__(
        self, kind: _ValidatingAdmissionPolicyBinding, *args: P.args, **kwargs: P.kwargs
    ) -> ValidatingAdmissionPolicyBinding: ...
    @overload
    def __call__(
        self, kind: _ValidatingWebhookConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> ValidatingWebhookConfiguration: ...
    @overload
    def __call__(self, kind: _FlowSchema, *args: P.args, **kwargs: P.kwargs) -> FlowSchema: ...
    @overload
    def __call__(
        self, kind: _PriorityLevelConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> PriorityLevelConfiguration: ...
    @overload
    def __call__(self, kind: type[K], *args: P.args, **kwargs: P.kwargs) -> K: ...
    @overload
    def __call__(self, kind: str, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class ListByKind(Protocol[P]):
    """The type of a method that returns the objects of a kind: `list`."""

    @overload
    def __call__(self, kind: _Pod, *args: P.args, **kwargs: P.kwargs) -> list[Pod]: ...
    @overload
    def __call__(self, kind: _Node, *args: P.args, **kwargs: P.kwargs) -> list[Node]: ...
    @overload
    def __call__(self, kind: _Namespace, *args: P.args, **kwargs: P.kwargs) -> list[Namespace]: ...
    @overload
    def __call__(self, kind: _Service, *args: P.args, **kwargs: P.kwargs) -> list[Service]: ...
    @overload
    def __call__(self, kind: _Event, *args: P.args, **kwargs: P.kwargs) -> list[Event]: ...
    @overload
    def __call__(
        self, kind: _ReplicationController, *args: P.args, **kwargs: P.kwargs
    ) -> list[ReplicationController]: ...
    @overload
    def __call__(self, kind: _ResourceQuota, *args: P.args, **kwargs: P.kwargs) -> list[ResourceQuota]: ...
    @overload
    def __call__(self, kind: _LimitRange, *args: P.args, **kwargs: P.kwargs) -> list[LimitRange]: ...
    @overload
    def __call__(self, kind: _PersistentVolume, *args: P.args, **kwargs: P.kwargs) -> list[PersistentVolume]: ...
    @overload
    def __call__(
        self, kind: _PersistentVolumeClaim, *args: P.args, **kwargs: P.kwargs
    ) -> list[PersistentVolumeClaim]: ...
    @overload
    def __call__(self, kind: _ConfigMap, *args: P.args, **kwargs: P.kwargs) -> list[ConfigMap]: ...
    @overload
    def __call__(self, kind: _Secret, *args: P.args, **kwargs: P.kwargs) -> list[Secret]: ...
    @overload
    def __call__(self, kind: _ServiceAccount, *args: P.args, **kwargs: P.kwargs) -> list[ServiceAccount]: ...
    @overload
    def __call__(self, kind: _Deployment, *args: P.args, **kwargs: P.kwargs) -> list[Deployment]: ...
    @overload
    def __call__(self, kind: _ReplicaSet, *args: P.args, **kwargs: P.kwargs) -> list[ReplicaSet]: ...
    @overload
    def __call__(self, kind: _StatefulSet, *args: P.args, **kwargs: P.kwargs) -> list[StatefulSet]: ...
    @overload
    def __call__(self, kind: _DaemonSet, *args: P.args, **kwargs: P.kwargs) -> list[DaemonSet]: ...
    @overload
    def __call__(self, kind: _ControllerRevision, *args: P.args, **kwargs: P.kwargs) -> list[ControllerRevision]: ...
    @overload
    def __call__(self, kind: _Job, *args: P.args, **kwargs: P.kwargs) -> list[Job]: ...
    @overload
    def __call__(self, kind: _CronJob, *args: P.args, **kwargs: P.kwargs) -> list[CronJob]: ...
    @overload
    def __call__(
        self, kind: _HorizontalPodAutoscaler, *args: P.args, **kwargs: P.kwargs
    ) -> list[HorizontalPodAutoscaler]: ...
    @overload
    def __call__(self, kind: _Endpoints, *args: P.args, **kwargs: P.kwargs) -> list[Endpoints]: ...
    @overload
    def __call__(self, kind: _EndpointSlice, *args: P.args, **kwargs: P.kwargs) -> list[EndpointSlice]: ...
    @overload
    def __call__(self, kind: _PodDisruptionBudget, *args: P.args, **kwargs: P.kwargs) -> list[PodDisruptionBudget]: ...
    @overload
    def __call__(self, kind: _PriorityClass, *args: P.args, **kwargs: P.kwargs) -> list[PriorityClass]: ...
    @overload
    def __call__(self, kind: _StorageClass, *args: P.args, **kwargs: P.kwargs) -> list[StorageClass]: ...
    @overload
    def __call__(self, kind: _CSINode, *args: P.args, **kwargs: P.kwargs) -> list[CSINode]: ...
    @overload
    def __call__(self, kind: _CSIDriver, *args: P.args, **kwargs: P.kwargs) -> list[CSIDriver]: ...
    @overload
    def __call__(self, kind: _CSIStorageCapacity, *args: P.args, **kwargs: P.kwargs) -> list[CSIStorageCapacity]: ...
    @overload
    def __call__(self, kind: _VolumeAttachment, *args: P.args, **kwargs: P.kwargs) -> list[VolumeAttachment]: ...
    @overload
    def __call__(self, kind: _ResourceClaim, *args: P.args, **kwargs: P.kwargs) -> list[ResourceClaim]: ...
    @overload
    def __call__(
        self, kind: _ResourceClaimTemplate, *args: P.args, **kwargs: P.kwargs
    ) -> list[ResourceClaimTemplate]: ...
    @overload
    def __call__(self, kind: _DeviceClass, *args: P.args, **kwargs: P.kwargs) -> list[DeviceClass]: ...
    @overload
    def __call__(self, kind: _ResourceSlice, *args: P.args, **kwargs: P.kwargs) -> list[ResourceSlice]: ...
    @overload
    def __call__(self, kind: _DeviceTaintRule, *args: P.args, **kwargs: P.kwargs) -> list[DeviceTaintRule]: ...
    @overload
    def __call__(self, kind: _PodTemplate, *args: P.args, **kwargs: P.kwargs) -> list[PodTemplate]: ...
    @overload
    def __call__(self, kind: _Ingress, *args: P.args, **kwargs: P.kwargs) -> list[Ingress]: ...
    @overload
    def __call__(self, kind: _IngressClass, *args: P.args, **kwargs: P.kwargs) -> list[IngressClass]: ...
    @overload
    def __call__(self, kind: _NetworkPolicy, *args: P.args, **kwargs: P.kwargs) -> list[NetworkPolicy]: ...
    @overload
    def __call__(self, kind: _IPAddress, *args: P.args, **kwargs: P.kwargs) -> list[IPAddress]: ...
    @overload
    def __call__(self, kind: _ServiceCIDR, *args: P.args, **kwargs: P.kwargs) -> list[ServiceCIDR]: ...
    @overload
    def __call__(self, kind: _Role, *args: P.args, **kwargs: P.kwargs) -> list[Role]: ...
    @overload
    def __call__(self, kind: _ClusterRole, *args: P.args, **kwargs: P.kwargs) -> list[ClusterRole]: ...
    @overload
    def __call__(self, kind: _RoleBinding, *args: P.args, **kwargs: P.kwargs) -> list[RoleBinding]: ...
    @overload
    def __call__(self, kind: _ClusterRoleBinding, *args: P.args, **kwargs: P.kwargs) -> list[ClusterRoleBinding]: ...
    @overload
    def __call__(
        self, kind: _VolumeAttributesClass, *args: P.args, **kwargs: P.kwargs
    ) -> list[VolumeAttributesClass]: ...
    @overload
    def __call__(self, kind: _Lease, *args: P.args, **kwargs: P.kwargs) -> list[Lease]: ...
    @overload
    def __call__(self, kind: _RuntimeClass, *args: P.args, **kwargs: P.kwargs) -> list[RuntimeClass]: ...
    @overload
    def __call__(
        self, kind: _CustomResourceDefinition, *args: P.args, **kwargs: P.kwargs
    ) -> list[CustomResourceDefinition]: ...
    @overload
    def __call__(self, kind: _APIService, *args: P.args, **kwargs: P.kwargs) -> list[APIService]: ...
    @overload
    def __call__(
        self, kind: _CertificateSigningRequest, *args: P.args, **kwargs: P.kwargs
    ) -> list[CertificateSigningRequest]: ...
    @overload
    def __call__(
        self, kind: _MutatingAdmissionPolicy, *args: P.args, **kwargs: P.kwargs
    ) -> list[MutatingAdmissionPolicy]: ...
    @overload
    def __call__(
        self, kind: _MutatingAdmissionPolicyBinding, *args: P.args, **kwargs: P.kwargs
    ) -> list[MutatingAdmissionPolicyBinding]: ...
    @overload
    def __call__(
        self, kind: _MutatingWebhookConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> list[MutatingWebhookConfiguration]: ...
    @overload
    def __call__(
        self, kind: _ValidatingAdmissionPolicy, *args: P.args, **kwargs: P.kwargs
    ) -> list[ValidatingAdmissionPolicy]: ...
    @overload
    def __call__(
        self, kind: _ValidatingAdmissionPolicyBinding, *args: P.args, **kwargs: P.kwargs
    ) -> list[ValidatingAdmissionPolicyBinding]: ...
    @overload
    def __call__(
        self, kind: _ValidatingWebhookConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> list[ValidatingWebhookConfiguration]: ...
    @overload
    def __call__(self, kind: _FlowSchema, *args: P.args, **kwargs: P.kwargs) -> list[FlowSchema]: ...
    @overload
    def __call__(
        self, kind: _PriorityLevelConfiguration, *args: P.args, **kwargs: P.kwargs
    ) -> list[PriorityLevelConfiguration]: ...
    @overload
    def __call__(self, kind: type[K], *args: P.args, **kwargs: P.kwargs) -> list[K]: ...
    @overload
    def __call__(self, kind: str, *args: P.args, **kwargs: P.kwargs) -> Any: ...
