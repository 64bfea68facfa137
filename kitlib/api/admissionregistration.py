"""admissionregistration.k8s.io/v1: webhook configurations, admission policies and their bindings.

Source: k8s.io/api/admissionregistration/v1/types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.apiextensions import WebhookClientConfig
from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64


class RuleWithOperations(KubeStruct):
    operations: list[str] = []
    api_groups: list[str] = []
    api_versions: list[str] = []
    resources: list[str] = []
    scope: str | None = None


class NamedRuleWithOperations(KubeStruct):
    resource_names: list[str] = []
    operations: list[str] = []
    api_groups: list[str] = []
    api_versions: list[str] = []
    resources: list[str] = []
    scope: str | None = None


class MatchCondition(KubeStruct):
    name: str = ""
    expression: str = ""


class ValidatingWebhook(KubeStruct):
    name: str = ""
    client_config: WebhookClientConfig = msgspec.field(default_factory=WebhookClientConfig)
    rules: list[RuleWithOperations] = []
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    side_effects: str | None = None
    timeout_seconds: Int32 | None = None
    admission_review_versions: list[str] = []
    match_conditions: list[MatchCondition] = []


class MutatingWebhook(ValidatingWebhook):
    reinvocation_policy: str | None = None


class ValidatingWebhookConfiguration(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingWebhookConfiguration"
    webhooks: list[ValidatingWebhook] = []


class MutatingWebhookConfiguration(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingWebhookConfiguration"
    webhooks: list[MutatingWebhook] = []


class ParamKind(KubeStruct):
    api_version: str = ""
    kind: str = ""


class MatchResources(KubeStruct):
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    resource_rules: list[NamedRuleWithOperations] = []
    exclude_resource_rules: list[NamedRuleWithOperations] = []
    match_policy: str | None = None


class Validation(KubeStruct):
    expression: str = ""
    message: str = ""
    reason: str | None = None
    message_expression: str = ""


class AuditAnnotation(KubeStruct):
    key: str = ""
    value_expression: str = ""


class Variable(KubeStruct):
    name: str = ""
    expression: str = ""


class ValidatingAdmissionPolicySpec(KubeStruct):
    param_kind: ParamKind | None = None
    match_constraints: MatchResources | None = None
    validations: list[Validation] = []
    failure_policy: str | None = None
    audit_annotations: list[AuditAnnotation] = []
    match_conditions: list[MatchCondition] = []
    variables: list[Variable] = []


class ValidatingAdmissionPolicyStatus(KubeStruct):
    observed_generation: Int64 = 0
    type_checking: dict[str, Any] | None = None
    conditions: list[Condition] = []


class ValidatingAdmissionPolicy(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingAdmissionPolicy"
    spec: ValidatingAdmissionPolicySpec = msgspec.field(default_factory=ValidatingAdmissionPolicySpec)
    status: ValidatingAdmissionPolicyStatus = msgspec.field(default_factory=ValidatingAdmissionPolicyStatus)


class ApplyConfiguration(KubeStruct):
    expression: str = ""


class JSONPatch(KubeStruct):
    expression: str = ""


class Mutation(KubeStruct):
    patch_type: str = ""
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = msgspec.field(name="jsonPatch", default=None)


class MutatingAdmissionPolicySpec(KubeStruct):
    param_kind: ParamKind | None = None
    match_constraints: MatchResources | None = None
    variables: list[Variable] = []
    mutations: list[Mutation] = []
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] = []
    reinvocation_policy: str = ""


class MutatingAdmissionPolicy(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingAdmissionPolicy"
    spec: MutatingAdmissionPolicySpec = msgspec.field(default_factory=MutatingAdmissionPolicySpec)


class ParamRef(KubeStruct):
    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: str | None = None


class MutatingAdmissionPolicyBindingSpec(KubeStruct):
    policy_name: str = ""
    param_ref: ParamRef | None = None
    match_resources: MatchResources | None = None


class MutatingAdmissionPolicyBinding(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "MutatingAdmissionPolicyBinding"
    spec: MutatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=MutatingAdmissionPolicyBindingSpec)


class ValidatingAdmissionPolicyBindingSpec(MutatingAdmissionPolicyBindingSpec):
    validation_actions: list[str] = []


class ValidatingAdmissionPolicyBinding(KubeObject):
    api_version: str = "admissionregistration.k8s.io/v1"
    kind: str = "ValidatingAdmissionPolicyBinding"
    spec: ValidatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=ValidatingAdmissionPolicyBindingSpec)
