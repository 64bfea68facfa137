"""CEL expressions of admission policies: the variables they may use, and the types they must evaluate to.

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
"""The fields of each object type. Source: BuildRequestType, BuildNamespaceType (`UID` is upstream's spelling)."""
PATCH_TYPES = {"ApplyConfiguration": OBJECT, "JSONPatch": f"list({JSON_PATCH})"}
"""Patch type -> the type that a mutation's expression must evaluate to. Source: mutating/patch ReturnTypes."""
MAX_LENGTH = 32 * 1024
"""The maximum length of an expression in characters; it bounds the time that compilation takes."""
MAX_COST = 200_000
"""The maximum number of elements that one evaluation visits. An element costs at least five of Kubernetes' units.

Source: celconfig.PerCallLimit, 1,000,000 units.
"""


@dataclass
class PolicyEnvironment:
    """The environment of one policy's expressions: the names that are declared when an expression is compiled.

    Attributes:
        has_params: whether the policy has a paramKind.
        variables: the variables declared so far, name -> type of the variable's expression.
    """

    has_params: bool = False
    variables: dict[str, str] = field(default_factory=dict)

    def declare(self, variable: Variable) -> Expression:
        """Compile a variable's expression and declare the variable for the expressions after it.

        Raises:
            CompileError: the expression is invalid; the variable stays undeclared.
        """
        made = self.compile(variable.expression)
        self.variables[variable.name] = made.kind
        return made

    def compile(
        self, text: str, *kinds: str, variables: bool = True, patches: bool = False, authorizer: bool = True
    ) -> Expression:
        """Compile an expression and check the type of its result.

        Args:
            text: the expression.
            kinds: the accepted result types; none = any type.
            variables: whether `variables` is declared.
            patches: whether `Object` and `JSONPatch` literals are allowed.
            authorizer: whether `authorizer` is declared; message expressions do not have it.

        Raises:
            CompileError: the expression is invalid; the message is that of the API server's `Invalid value`.
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
        """Compile the expression of a mutation.

        Raises:
            CompileError: the expression is invalid or does not evaluate to the type of its patch.
        """
        return self.compile(text, PATCH_TYPES[patch_type], patches=True)
