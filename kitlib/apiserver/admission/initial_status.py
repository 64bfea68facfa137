"""A new object's status: what the manifest says of it does not count.

Source: PrepareForCreate of the registries' strategies.
"""

from __future__ import annotations

from kitlib.api.admissionregistration import ValidatingAdmissionPolicy
from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.api.batch import CronJob, Job
from kitlib.api.certificates import APIService, CertificateSigningRequest
from kitlib.api.core import PersistentVolume, PersistentVolumeClaim, ReplicationController
from kitlib.api.devices import ResourceClaim
from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.api.meta import KubeObject
from kitlib.api.networking import Ingress
from kitlib.api.policy import PodDisruptionBudget

_APPS = (Deployment, ReplicaSet, StatefulSet, DaemonSet)
_EMPTY = (
    *(ReplicationController, Job, CronJob, HorizontalPodAutoscaler, PodDisruptionBudget, ResourceClaim, Ingress),
    *(CustomResourceDefinition, ValidatingAdmissionPolicy, FlowSchema, PriorityLevelConfiguration),
    *(CertificateSigningRequest, APIService),
)


def reset_status(obj: KubeObject) -> None:
    """Give a new object the status that it begins with; in place."""
    if isinstance(obj, _APPS):
        obj.status = {}
    elif isinstance(obj, _EMPTY):
        obj.status = type(obj.status)()
    elif isinstance(obj, PersistentVolumeClaim | PersistentVolume):
        obj.status = type(obj.status)(phase="Pending")
