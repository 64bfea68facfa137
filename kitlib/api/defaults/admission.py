"""Defaults of webhook configurations, admission policies, flow control and API services.

Source: the defaults.go of pkg/apis/admissionregistration/v1, flowcontrol/v1, kube-aggregator apiregistration/v1.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.admissionregistration import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhook,
    MutatingWebhookConfiguration,
    NamedRuleWithOperations,
    RuleWithOperations,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from kitlib.api.certificates import APIService
from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.api.meta import LabelSelector

Rule = RuleWithOperations | NamedRuleWithOperations
HTTPS = 443
PRECEDENCE, SHARES = 1000, 30
QUEUES, HAND_SIZE, QUEUE_LENGTH = 64, 8, 50


def webhook_configuration(obj: ValidatingWebhookConfiguration | MutatingWebhookConfiguration) -> None:
    """Set the defaults of webhooks.

    Source: SetDefaults_ValidatingWebhook, SetDefaults_MutatingWebhook, SetDefaults_Rule, SetDefaults_ServiceReference.
    """
    for hook in obj.webhooks:
        hook.failure_policy = "Fail" if hook.failure_policy is None else hook.failure_policy
        _select(hook, hook.rules)
        hook.timeout_seconds = 10 if hook.timeout_seconds is None else hook.timeout_seconds
        if isinstance(hook, MutatingWebhook) and hook.reinvocation_policy is None:
            hook.reinvocation_policy = "Never"
        service = hook.client_config.service
        if service is not None and service.port is None:
            service.port = HTTPS


def admission_policy(obj: ValidatingAdmissionPolicy | MutatingAdmissionPolicy) -> None:
    """Source: SetDefaults_ValidatingAdmissionPolicySpec, SetDefaults_MutatingAdmissionPolicySpec."""
    obj.spec.failure_policy = "Fail" if obj.spec.failure_policy is None else obj.spec.failure_policy
    _match_resources(obj.spec.match_constraints)


def admission_policy_binding(obj: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding) -> None:
    """Source: SetObjectDefaults_ValidatingAdmissionPolicyBinding."""
    _match_resources(obj.spec.match_resources)


def _match_resources(given: MatchResources | None) -> None:
    """Source: SetDefaults_MatchResources."""
    if given is not None:
        _select(given, [*given.resource_rules, *given.exclude_resource_rules])


def _select(given: ValidatingWebhook | MatchResources, rules: Iterable[Rule]) -> None:
    """Set the match defaults that webhooks and policies share. Source: SetDefaults_MatchResources, SetDefaults_Rule."""
    given.match_policy = "Equivalent" if given.match_policy is None else given.match_policy
    given.namespace_selector = given.namespace_selector or LabelSelector()
    given.object_selector = given.object_selector or LabelSelector()
    for rule in rules:
        rule.scope = "*" if rule.scope is None else rule.scope


def flow_schema(obj: FlowSchema) -> None:
    """Source: SetDefaults_FlowSchemaSpec."""
    obj.spec.matching_precedence = obj.spec.matching_precedence or PRECEDENCE


def priority_level_configuration(obj: PriorityLevelConfiguration) -> None:
    """Set the defaults of a priority level.

    Source: SetDefaults_LimitedPriorityLevelConfiguration, SetDefaults_ExemptPriorityLevelConfiguration,
    SetDefaults_QueuingConfiguration.
    """
    for level, shares in ((obj.spec.limited, SHARES), (obj.spec.exempt, 0)):
        if level is not None:
            given = level.nominal_concurrency_shares
            level.nominal_concurrency_shares = shares if given is None else given
            level.lendable_percent = level.lendable_percent or 0
    queuing = obj.spec.limited.limit_response.queuing if obj.spec.limited is not None else None
    if queuing is not None:
        queuing.queues = queuing.queues or QUEUES
        queuing.hand_size = queuing.hand_size or HAND_SIZE
        queuing.queue_length_limit = queuing.queue_length_limit or QUEUE_LENGTH


def api_service(obj: APIService) -> None:
    """Source: SetDefaults_ServiceReference."""
    if obj.spec.service is not None and obj.spec.service.port is None:
        obj.spec.service.port = HTTPS
