"""CEL expressions of admission policies: the names that they may use, and the types that they must have.

Source: k8s.io/apiserver/pkg/admission/plugin/cel (compile.go mustBuildEnvs, BuildRequestType; composition.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.admissionregistration import Variable
from kitlib.cel.authorizer import AUTHORIZER, FIELDS
from kitlib.cel.compiler import shown
from kitlib.cel.expression import Expression, compile_expression
from kitlib.cel.library import ANY, BOOL, INT, STRING
from kitlib.cel.messages import JSON_PATCH, OBJECT, no_messages, patch_types
from kitlib.cel.parser import CompileError

REQUEST, GROUP_VERSION_KIND, GROUP_VERSION_RESOURCE, USER, VARIABLES = (
    "kubernetes.AdmissionRequest",
    "kubernetes.GroupVersionKind",
    "kubernetes.GroupVersionResource",
    "kubernetes.UserInfo",
    "kubernetes.variables",
)
NAMESPACE, NAMESPACE_META, NAMESPACE_SPEC, NAMESPACE_STATUS, NAMESPACE_CONDITION = (
    "kubernetes.Namespace",
    "kubernetes.NamespaceMetadata",
    "kubernetes.NamespaceSpec",
    "kubernetes.NamespaceStatus",
    "kubernetes.NamespaceCondition",
)
_TEXTS, _LABELS = "list(string)", "map(string, string)"
OBJECTS: Mapping[str, Mapping[str, str]] = {
    AUTHORIZER: FIELDS,
    GROUP_VERSION_KIND: {"group": STRING, "version": STRING, "kind": STRING},
    GROUP_VERSION_RESOURCE: {"group": STRING, "version": STRING, "resource": STRING},
    USER: {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": f"map(string, {_TEXTS})"},
    REQUEST: {
        "kind": GROUP_VERSION_KIND,
        "resource": GROUP_VERSION_RESOURCE,
        "subResource": STRING,
        "requestKind": GROUP_VERSION_KIND,
        "requestResource": GROUP_VERSION_RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": USER,
        "dryRun": BOOL,
        "options": ANY,
    },
    NAMESPACE: {"metadata": NAMESPACE_META, "spec": NAMESPACE_SPEC, "status": NAMESPACE_STATUS},
    NAMESPACE_META: {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), ANY),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
    NAMESPACE_SPEC: {"finalizers": _TEXTS},
    NAMESPACE_STATUS: {"conditions": f"list({NAMESPACE_CONDITION})", "phase": STRING},
    NAMESPACE_CONDITION: {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": ANY,
    },
}
"""Source: BuildRequestType, BuildNamespaceType, whose `UID` no namespace has."""
PATCH_TYPES = {"ApplyConfiguration": OBJECT, "JSONPatch": f"list({JSON_PATCH})"}
"""What the expression of a mutation must give. Source: mutating/patch ReturnTypes."""
MAX_LENGTH = 32 * 1024
"""Characters of an expression. Kubernetes bounds what it costs; this bounds what compiling it may take."""
MAX_COST = 200_000
"""Elements that one evaluation may go through: an element takes five of Kubernetes' units of cost, at the least.

Source: celconfig.PerCallLimit, a million.
"""


@dataclass
class PolicyEnvironment:
    """What the expressions of one policy may name, in the order in which its variables are declared.

    Attributes:
        has_params: whether the policy has a paramKind.
        variables: those declared so far, and the types of their expressions.
    """

    has_params: bool = False
    variables: dict[str, str] = field(default_factory=dict)

    def declare(self, variable: Variable) -> Expression:
        """A variable's expression; those after it may use it.

        Raises:
            CompileError: and then its name stays unknown.
        """
        made = self.compile(variable.expression)
        self.variables[variable.name] = made.kind
        return made

    def compile(
        self, text: str, *kinds: str, variables: bool = True, patches: bool = False, authorizer: bool = True
    ) -> Expression:
        """An expression whose answer has one of these types, or any.

        Args:
            text: the expression.
            kinds: none = any.
            variables: whether it may use the variables.
            patches: whether it may make values of the types of patches.
            authorizer: whether it may ask who may do what; messages may not.

        Raises:
            CompileError: with the words of the API server's `Invalid value`.
        """
        names = {"object": ANY, "oldObject": ANY, "request": REQUEST, "namespaceObject": NAMESPACE}
        objects = dict(OBJECTS)
        if self.has_params:
            names["params"] = ANY
        if authorizer:
            names["authorizer"] = AUTHORIZER
        if variables:
            names["variables"] = VARIABLES
            objects[VARIABLES] = self.variables
        messages = patch_types if patches else no_messages
        made = compile_expression(text.strip(), names, objects, max_length=MAX_LENGTH, messages=messages)
        if kinds and made.kind not in kinds:
            wanted = kinds[0] if len(kinds) == 1 else f"one of [{' '.join(kinds)}]"
            raise CompileError(f"must evaluate to {wanted} but got {shown(made.kind)}")
        return made

    def mutation(self, patch_type: str, text: str) -> Expression:
        """The expression of a patch.

        Raises:
            CompileError: also where it does not give what patches of its type are.
        """
        return self.compile(text, PATCH_TYPES[patch_type], patches=True)
