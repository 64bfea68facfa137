"""The FlowSchemas and PriorityLevelConfigurations that every API server creates when it starts.

They can be read; requests are not queued by them.

Source: staging k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go.
"""

from __future__ import annotations

from typing import NamedTuple

from kitlib.api.flowcontrol import (
    ExemptPriorityLevelConfiguration,
    FlowDistinguisherMethod,
    FlowSchema,
    FlowSchemaSpec,
    FlowSubject,
    GroupSubject,
    LimitedPriorityLevelConfiguration,
    LimitResponse,
    NonResourcePolicyRule,
    PolicyRulesWithSubjects,
    PriorityLevelConfiguration,
    PriorityLevelConfigurationReference,
    PriorityLevelConfigurationSpec,
    QueuingConfiguration,
    ResourcePolicyRule,
    ServiceAccountSubject,
    UserSubject,
)
from kitlib.api.meta import KubeObject, ObjectMeta

AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
QUEUE_LENGTH = 50
_EVERYBODY = ("group:system:unauthenticated", "group:system:authenticated")
_NODES = ("group:system:nodes",)
_MANAGER, _SCHEDULER = "user:system:kube-controller-manager", "user:system:kube-scheduler"
_ACCOUNTS = ("account:*",)
_ALL = (ResourcePolicyRule(verbs=["*"], api_groups=["*"], resources=["*"], namespaces=["*"], cluster_scope=True),)
_WRITE = ["get", "create", "update"]
_LEASES, _COORDINATION = ["leases"], ["coordination.k8s.io"]
_LOCKS = (ResourcePolicyRule(verbs=_WRITE, api_groups=_COORDINATION, resources=_LEASES, namespaces=["*"]),)


class _Level(NamedTuple):
    """A level's concurrency shares, the percentage that can be lent, queues and hand size; 0 queues = reject."""

    shares: int
    lendable: int
    queues: int = 0
    hand: int = 0


class _Schema(NamedTuple):
    """The requests and subjects that a level serves; the lowest precedence matches first. No rules = all requests."""

    level: str
    precedence: int
    method: str
    subjects: tuple[str, ...]
    rules: tuple[ResourcePolicyRule, ...] = ()
    urls: tuple[str, ...] = ()


LEVELS = {
    "catch-all": _Level(5, 0),
    "system": _Level(30, 33, 64, 6),
    "node-high": _Level(40, 25, 64, 6),
    "leader-election": _Level(10, 0, 16, 4),
    "workload-high": _Level(40, 50, 128, 6),
    "workload-low": _Level(100, 90, 128, 6),
    "global-default": _Level(20, 50, 128, 6),
}
SCHEMAS = {
    "exempt": _Schema("exempt", 1, "", ("group:system:masters",)),
    "probes": _Schema("exempt", 2, "", _EVERYBODY, urls=("/healthz", "/readyz", "/livez")),
    "system-leader-election": _Schema(
        "leader-election", 100, "ByUser", (_MANAGER, _SCHEDULER, *_ACCOUNTS), rules=_LOCKS
    ),
    "endpoint-controller": _Schema(
        "workload-high",
        150,
        "ByUser",
        (_MANAGER, "account:endpoint-controller", "account:endpointslicemirroring-controller"),
        rules=(ResourcePolicyRule(verbs=_WRITE, api_groups=[""], resources=["endpoints"], namespaces=["*"]),),
    ),
    "workload-leader-election": _Schema("leader-election", 200, "ByUser", _ACCOUNTS, rules=_LOCKS),
    "system-node-high": _Schema(
        "node-high",
        400,
        "ByUser",
        _NODES,
        rules=(
            ResourcePolicyRule(
                verbs=["*"],
                api_groups=[""],
                resources=["nodes", "nodes/status"],
                namespaces=["*"],
                cluster_scope=True,
            ),
            ResourcePolicyRule(verbs=["*"], api_groups=_COORDINATION, resources=_LEASES, namespaces=["*"]),
        ),
    ),
    "system-nodes": _Schema("system", 500, "ByUser", _NODES),
    "kube-controller-manager": _Schema("workload-high", 800, "ByNamespace", (_MANAGER,)),
    "kube-scheduler": _Schema("workload-high", 800, "ByNamespace", (_SCHEDULER,)),
    "kube-system-service-accounts": _Schema("workload-high", 900, "ByNamespace", _ACCOUNTS),
    "service-accounts": _Schema("workload-low", 9000, "ByUser", ("group:system:serviceaccounts",)),
    "global-default": _Schema("global-default", 9900, "ByUser", _EVERYBODY),
    "catch-all": _Schema("catch-all", 10000, "ByUser", _EVERYBODY),
}


def flow_control() -> list[KubeObject]:
    """Return the objects, the levels first."""
    exempt = PriorityLevelConfigurationSpec(type="Exempt", exempt=ExemptPriorityLevelConfiguration())
    return [
        PriorityLevelConfiguration(metadata=_meta("exempt"), spec=exempt),
        *(PriorityLevelConfiguration(metadata=_meta(name), spec=_limited(one)) for name, one in LEVELS.items()),
        *(FlowSchema(metadata=_meta(name), spec=_spec(one)) for name, one in SCHEMAS.items()),
    ]


def _meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, annotations={AUTO_UPDATE: "true"})


def _limited(level: _Level) -> PriorityLevelConfigurationSpec:
    queuing = QueuingConfiguration(queues=level.queues, hand_size=level.hand, queue_length_limit=QUEUE_LENGTH)
    limit = LimitResponse(type="Queue", queuing=queuing) if level.queues else LimitResponse(type="Reject")
    limited = LimitedPriorityLevelConfiguration(
        nominal_concurrency_shares=level.shares, lendable_percent=level.lendable, limit_response=limit
    )
    return PriorityLevelConfigurationSpec(type="Limited", limited=limited)


def _spec(schema: _Schema) -> FlowSchemaSpec:
    everything = not schema.rules and not schema.urls
    urls = [NonResourcePolicyRule(verbs=["get"], non_resource_urls=list(schema.urls))] if schema.urls else []
    rules = PolicyRulesWithSubjects(
        subjects=[_subject(subject) for subject in schema.subjects],
        resource_rules=list(_ALL if everything else schema.rules),
        non_resource_rules=[NonResourcePolicyRule(verbs=["*"], non_resource_urls=["*"])] if everything else urls,
    )
    return FlowSchemaSpec(
        priority_level_configuration=PriorityLevelConfigurationReference(name=schema.level),
        matching_precedence=schema.precedence,
        distinguisher_method=FlowDistinguisherMethod(type=schema.method) if schema.method else None,
        rules=[rules],
    )


def _subject(text: str) -> FlowSubject:
    kind, _, name = text.partition(":")
    if kind == "group":
        return FlowSubject(kind="Group", group=GroupSubject(name=name))
    if kind == "user":
        return FlowSubject(kind="User", user=UserSubject(name=name))
    account = ServiceAccountSubject(namespace="kube-system", name=name)
    return FlowSubject(kind="ServiceAccount", service_account=account)
