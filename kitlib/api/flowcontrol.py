"""flowcontrol.apiserver.k8s.io/v1: FlowSchema and PriorityLevelConfiguration, which are stored but queue no requests.

Source: k8s.io/api/flowcontrol/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct
from kitlib.api.numbers import Int32


class PriorityLevelConfigurationReference(KubeStruct):
    name: str = ""


class FlowDistinguisherMethod(KubeStruct):
    type: str = ""


class UserSubject(KubeStruct):
    name: str = ""


class GroupSubject(KubeStruct):
    name: str = ""


class ServiceAccountSubject(KubeStruct):
    namespace: str = ""
    name: str = ""


class FlowSubject(KubeStruct):
    """Upstream: flowcontrol Subject."""

    kind: str = ""
    user: UserSubject | None = None
    group: GroupSubject | None = None
    service_account: ServiceAccountSubject | None = None


class ResourcePolicyRule(KubeStruct):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    cluster_scope: bool = False
    namespaces: list[str] = []


class NonResourcePolicyRule(KubeStruct):
    verbs: list[str] = []
    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default_factory=list)


class PolicyRulesWithSubjects(KubeStruct):
    subjects: list[FlowSubject] = []
    resource_rules: list[ResourcePolicyRule] = []
    non_resource_rules: list[NonResourcePolicyRule] = []


class FlowSchemaSpec(KubeStruct):
    priority_level_configuration: PriorityLevelConfigurationReference = msgspec.field(
        default_factory=PriorityLevelConfigurationReference
    )
    matching_precedence: Int32 = 0
    distinguisher_method: FlowDistinguisherMethod | None = None
    rules: list[PolicyRulesWithSubjects] = []


class FlowControlStatus(KubeStruct):
    """Upstream: FlowSchemaStatus, PriorityLevelConfigurationStatus."""

    conditions: list[Condition] = []


class FlowSchema(KubeObject):
    api_version: str = "flowcontrol.apiserver.k8s.io/v1"
    kind: str = "FlowSchema"
    spec: FlowSchemaSpec = msgspec.field(default_factory=FlowSchemaSpec)
    status: FlowControlStatus = msgspec.field(default_factory=FlowControlStatus)


class QueuingConfiguration(KubeStruct):
    queues: Int32 = 0
    hand_size: Int32 = 0
    queue_length_limit: Int32 = 0


class LimitResponse(KubeStruct):
    type: str = ""
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(KubeStruct):
    nominal_concurrency_shares: Int32 | None = None
    limit_response: LimitResponse = msgspec.field(default_factory=LimitResponse)
    lendable_percent: Int32 | None = None
    borrowing_limit_percent: Int32 | None = None


class ExemptPriorityLevelConfiguration(KubeStruct):
    nominal_concurrency_shares: Int32 | None = None
    lendable_percent: Int32 | None = None


class PriorityLevelConfigurationSpec(KubeStruct):
    type: str = ""
    limited: LimitedPriorityLevelConfiguration | None = None
    exempt: ExemptPriorityLevelConfiguration | None = None


class PriorityLevelConfiguration(KubeObject):
    api_version: str = "flowcontrol.apiserver.k8s.io/v1"
    kind: str = "PriorityLevelConfiguration"
    spec: PriorityLevelConfigurationSpec = msgspec.field(default_factory=PriorityLevelConfigurationSpec)
    status: FlowControlStatus = msgspec.field(default_factory=FlowControlStatus)
