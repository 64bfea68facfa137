"""The selection of webhooks for a write, the requests that they receive, and the effect of their responses.

Configurations are sorted by name, and the webhooks of one are called in its order. Mutating webhooks are called one
after the other, each with the object as the previous one changed it; validating ones all at once.

Source: apiserver pkg/admission/plugin/webhook: generic/webhook.go ShouldCallHook, request/admissionreview.go,
mutating/dispatcher.go, validating/dispatcher.go, errors/statuserror.go.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from kitlib.api.admissionregistration import (
    MatchResources,
    MutatingWebhook,
    MutatingWebhookConfiguration,
    NamedRuleWithOperations,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from kitlib.api.core import Namespace
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import APIError, Forbidden, InternalError, KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission import custom_kinds
from kitlib.apiserver.admission.attributes import AdmissionAttributes, shown
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin, before_it_is_named
from kitlib.apiserver.admission.policy.invocations import (
    EXEMPT,
    ConditionError,
    authorizer,
    conditions_met,
)
from kitlib.apiserver.admission.policy.matching import matches
from kitlib.apiserver.admission.webhook_calls import (
    Answer,
    WebhookCall,
    WebhookCaller,
    WebhookError,
    ask,
)
from kitlib.apiserver.admission.webhook_servers import call_of, target_of
from kitlib.apiserver.store.json_patch import PatchError, apply_json_patch
from kitlib.apiserver.store.store import Store
from kitlib.cel import library as lib
from kitlib.cel.admission_expressions import PolicyEnvironment
from kitlib.cel.expression import Expression

NEVER_ASKED = frozenset({*EXEMPT, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"})
"""Resources for which webhooks are never called. Source: rules.IsExemptAdmissionConfigurationResource."""
IGNORE, IF_NEEDED = "Ignore", "IfNeeded"
_VERSIONS = ("v1", "v1beta1")


class WebhookDenied(APIError):
    """The denial of a write by a webhook, with the webhook's status code.

    The message is `admission webhook "x" denied the request: …`.
    """

    def __init__(self, name: str, status: Mapping[str, Any]) -> None:
        self.code = max(int(status.get("code") or 0), 400)
        self.reason = str(status.get("reason") or "")
        said = status.get("message") or status.get("reason")
        denied = f'admission webhook "{name}" denied the request'
        super().__init__(f"{denied}: {said}" if said else f"{denied} without explanation")


class _Refused(KitError):
    """A write for which a webhook cannot be called: a dry run if the webhook has side effects."""


class _Hook(NamedTuple):
    """A webhook of a configuration; `place` distinguishes webhooks of the same name."""

    place: str
    hook: ValidatingWebhook

    def write(
        self, store: Store, about: AdmissionAttributes, caller: WebhookCaller | None
    ) -> AdmissionAttributes | None:
        """Return a write as the webhook sees it; None if its rules, selectors or conditions do not match.

        Source: webhook.ShouldCallHook.
        """
        name = about.named.namespace
        namespace = store.find(Namespace, name, copy=False) if name else None
        if not _is_about(self.hook, about, namespace):
            return None
        seen = _in_version_of_rules(store, self.hook, about, caller)
        return seen if _conditions_hold(store, self.hook, seen, namespace) else None


def _hooks(store: Store, kind: type[KubeObject], about: AdmissionAttributes) -> Iterator[_Hook]:
    """Yield the webhooks of all configurations, in order; none for a resource about which no webhook is asked."""
    if about.resource.plural in NEVER_ASKED:
        return
    for configuration in sorted(store.list(kind, copy=False), key=lambda configuration: str(configuration.name)):
        for i, hook in enumerate(configuration.webhooks):
            yield _Hook(f"{configuration.name}/{i}/{hook.name}", hook)


def _in_version_of_rules(
    store: Store, hook: ValidatingWebhook, about: AdmissionAttributes, caller: WebhookCaller | None
) -> AdmissionAttributes:
    """Return a write of a custom object in a version that the webhook's rules name.

    With the match policy Equivalent a rule about v1 matches a write in v2, and the webhook receives v1.

    Source: generic/webhook.go ShouldCallHook (EquivalentResourceMapper), conversion.go NewVersionedAttributes.
    """
    if not custom_kinds.is_custom(about.object):
        return about
    accepted = {version for rule in hook.rules for version in rule.api_versions}
    if about.version in accepted or "*" in accepted:
        return about
    served = custom_kinds.served_versions(store, about.object)
    version = next(
        (candidate for candidate in served if candidate.rpartition("/")[2] in accepted), about.object.api_version
    )
    new, old = (
        None if item is None else custom_kinds.in_version(store, item, version, caller)
        for item in (about.new, about.old)
    )
    return replace(about, new=new, old=old)


def _is_about(hook: ValidatingWebhook, about: AdmissionAttributes, namespace: Namespace | None) -> bool:
    rules = [
        NamedRuleWithOperations(
            operations=rule.operations,
            api_groups=rule.api_groups,
            api_versions=rule.api_versions,
            resources=rule.resources,
            scope=rule.scope,
        )
        for rule in hook.rules
    ]
    wanted = MatchResources(
        namespace_selector=hook.namespace_selector,
        object_selector=hook.object_selector,
        resource_rules=rules,
        match_policy=hook.match_policy,
    )
    return bool(rules) and matches(wanted, about, namespace)


@lru_cache(maxsize=256)
def _condition(text: str) -> Expression:
    return PolicyEnvironment(False).compile(text, lib.BOOL, variables=False)


def _conditions_hold(
    store: Store, hook: ValidatingWebhook, about: AdmissionAttributes, namespace: Namespace | None
) -> bool:
    """Return whether the match conditions are true; the failure policy decides about errors.

    Source: matchconditions matcher.Match.
    """
    if not hook.match_conditions:
        return True
    conditions = [(condition.expression, _condition(condition.expression)) for condition in hook.match_conditions]
    names = {**about.names, "namespaceObject": shown(namespace), "authorizer": authorizer(store, about)}
    try:
        return conditions_met(conditions, names)
    except ConditionError as error:
        if hook.failure_policy == IGNORE:
            return False
        raise Forbidden(about.resource.qualified, about.name, str(error)) from None


def _call(store: Store, webhook: _Hook, about: AdmissionAttributes, given: AdmissionAttributes) -> WebhookCall:
    """Return the call of a webhook for a write; `given` is the write in the version of the request.

    Raises:
        WebhookError: the webhook's server cannot be found.
        _Refused: the call is not permitted.
    """
    hook = webhook.hook
    if about.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
        raise _Refused(f'admission webhook "{hook.name}" does not support dry run')
    version = next((candidate for candidate in hook.admission_review_versions if candidate in _VERSIONS), "")
    if not version:
        listed = ", ".join(hook.admission_review_versions)
        raise WebhookError(f"the webhook accepts AdmissionReview {listed}; the server knows v1 and v1beta1")
    names = about.names
    requested = {name: given.names["request"][name] for name in ("requestKind", "requestResource")}
    user = {name: value for name, value in names["request"]["userInfo"].items() if value}
    request = {
        **{name: value for name, value in names["request"].items() if value != ""},
        **requested,
        "userInfo": user,
        "object": names["object"],
        "oldObject": names["oldObject"],
    }
    review = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}
    return call_of(webhook.place, target_of(store, hook.client_config, float(hook.timeout_seconds or 10)), review)


def _response(call: WebhookCall, answer: Answer, *, mutating: bool) -> Mapping[str, Any]:
    """Return the response in the answer of a mutating or validating webhook. Source: VerifyAdmissionResponse.

    Raises:
        WebhookError: the answer does not belong to this request.
    """
    if isinstance(answer, WebhookError):
        raise WebhookError(f"failed to call webhook: {answer}")
    response = answer.get("response")
    sent, got = call.review["apiVersion"], answer.get("apiVersion")
    problem = ""
    if (answer.get("kind"), got) != ("AdmissionReview", sent) and not (got is None and sent.endswith("v1beta1")):
        problem = f"expected webhook response of {sent}, Kind=AdmissionReview, got {got}, Kind={answer.get('kind')}"
    elif not isinstance(response, dict):
        problem = "webhook response was absent"
    elif response.get("uid") != call.review["request"]["uid"] and sent.endswith("/v1"):
        wanted = call.review["request"]["uid"]
        problem = f'expected response.uid="{wanted}", got "{response.get("uid") or ""}"'
    elif sent.endswith("/v1"):
        problem = _patch_problem(response, mutating=mutating)
    if problem:
        raise WebhookError(f"received invalid webhook response: {problem}")
    return cast(Mapping[str, Any], response)


def _patch_problem(response: Mapping[str, Any], *, mutating: bool) -> str:
    """Return the error in patch and patchType of a v1 response; "" if there is none."""
    patch, type_ = bool(response.get("patch")), response.get("patchType")
    if not mutating:
        field = "patch" if patch else "patchType" if type_ is not None else ""
        return f"validating webhook may not return response.{field}" if field else ""
    if patch and type_ is None:
        return "webhook returned response.patch but not response.patchType"
    if type_ is not None and not patch:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if type_ == "" else ""


def _patch_in(response: Mapping[str, Any]) -> list[Any]:
    """Return the operations of a response's patch; [] if it has none.

    Raises:
        WebhookError: the patch is not a list in JSON.
    """
    if not response.get("patch"):
        return []
    try:
        found = json.loads(base64.b64decode(str(response["patch"])))
    except ValueError as error:
        raise WebhookError(f"received undecodable patch in webhook response: {error}") from None
    if not isinstance(found, list):
        raise WebhookError("received undecodable patch in webhook response: the patch must be a list of operations")
    return found


def _failed(hook: ValidatingWebhook, error: WebhookError) -> None:
    """Ignore a failed call if the failure policy is Ignore.

    Raises:
        InternalError: the failure policy is Fail.
    """
    if hook.failure_policy != IGNORE:
        raise InternalError(f'Internal error occurred: failed calling webhook "{hook.name}": {error}')


def validate(store: Store, about: AdmissionAttributes, caller: WebhookCaller | None) -> list[str]:
    """Call the validating webhooks of a write.

    Returns:
        The webhooks' warnings.

    Raises:
        WebhookDenied, InternalError, Forbidden: the write is rejected.
    """
    asked: list[tuple[ValidatingWebhook, WebhookCall]] = []
    for webhook in _hooks(store, ValidatingWebhookConfiguration, about):
        seen = webhook.write(store, about, caller)
        if seen is None:
            continue
        try:
            asked.append((webhook.hook, _call(store, webhook, seen, about)))
        except WebhookError as error:
            _failed(webhook.hook, WebhookError(f"failed to call webhook: {error}"))
    warnings: list[str] = []
    for (hook, call), answer in zip(asked, ask(caller, [call for _, call in asked]), strict=True):
        try:
            response = _response(call, answer, mutating=False)
        except WebhookError as error:
            _failed(hook, error)
            continue
        warnings += [str(warning) for warning in response.get("warnings") or ()]
        if response.get("allowed") is not True:
            raise WebhookDenied(hook.name, response.get("status") or {})
    return warnings


class MutatingRequest:
    """A write that goes through the mutating webhooks once or twice.

    Attributes:
        again: whether a webhook has changed the object: then every mutating plugin runs a second time, and of the
            webhooks those with reinvocationPolicy IfNeeded that saw the object before another one changed it.

    Args:
        store: the store with the configurations.
        about: the write.
        caller: the connection to the webhooks.
        warnings: the list to which the webhooks' warnings are appended.

    Source: mutating/dispatcher.go Dispatch; reinvocationcontext.go.
    """

    def __init__(
        self, store: Store, about: AdmissionAttributes, caller: WebhookCaller | None, warnings: list[str]
    ) -> None:
        self.again = False
        self._caller, self._warnings = caller, warnings
        self._store, self._about = store, about
        self._asked: set[str] = set()
        self._due: set[str] = set()
        self._output: dict[str, Any] | None = None

    def mutated(self, obj: KubeObject, *, second: bool = False) -> KubeObject:
        """Return the object after all matching webhooks; the same object if none changes it.

        Raises:
            WebhookDenied, InternalError, Forbidden: the write is rejected.
        """
        # Another plugin has changed the object since the first round, so all eligible webhooks are due.
        if second and self._output is not None and to_dict(obj) != self._output:
            self._require_reinvocation()
        for hook in _hooks(self._store, MutatingWebhookConfiguration, self._about):
            # Each is matched against the object as the ones before it left it: a label that the first adds can select
            # the second. Source: mutatingDispatcher.Dispatch (attrForCheck).
            about = replace(self._about, new=obj)
            seen = hook.write(self._store, about, self._caller)
            if seen is None:
                continue
            # A webhook that was not called in the first round is not called in the second, even if it matches now.
            if second and hook.place not in self._due:
                continue
            made = self._ask(hook, seen, about)
            if made is not None and to_dict(made) != to_dict(obj):
                obj = made
                self.again = True
                self._require_reinvocation()
            if not second and isinstance(hook.hook, MutatingWebhook) and hook.hook.reinvocation_policy == IF_NEEDED:
                self._asked.add(hook.place)
        self._output = to_dict(obj)
        return obj

    def ask_about_deletion(self) -> None:
        """Call all matching webhooks about a deletion, which has no object to change.

        Raises:
            WebhookDenied, InternalError, Forbidden: the deletion is rejected.
        """
        for hook in _hooks(self._store, MutatingWebhookConfiguration, self._about):
            seen = hook.write(self._store, self._about, self._caller)
            if seen is not None:
                self._ask(hook, seen, self._about)

    def _require_reinvocation(self) -> None:
        """Mark the webhooks called so far for reinvocation. Source: RequireReinvokingPreviouslyInvokedPlugins."""
        self._due |= self._asked

    def _ask(self, webhook: _Hook, about: AdmissionAttributes, given: AdmissionAttributes) -> KubeObject | None:
        hook = webhook.hook
        try:
            try:
                call = _call(self._store, webhook, about, given)
            except WebhookError as error:
                raise WebhookError(f"failed to call webhook: {error}") from None
            response = _response(call, ask(self._caller, [call])[0], mutating=True)
            self._warnings.extend(str(warning) for warning in response.get("warnings") or ())
            if response.get("allowed") is not True:
                raise WebhookDenied(hook.name, response.get("status") or {})
            operations = _patch_in(response)
            if operations and given.new is not None and response.get("patchType") not in (None, "JSONPatch"):
                raise WebhookError(f'unsupported patch type "{response["patchType"]}"')
        except WebhookError as error:
            _failed(hook, error)
            return None
        if not operations:
            return None
        if given.new is None:
            why = f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this '
            raise InternalError(f"Internal error occurred: {why}operation")
        try:
            changed = apply_json_patch(call.review["request"]["object"], operations)
            # Bodies of subresources are no kinds with objects, so their type is not found by the name of the kind.
            made = set_defaults(from_dict(changed, type(given.new) if given.parent is not None else None))
        except (PatchError, KitError, ValueError, TypeError) as error:
            raise InternalError(f"Internal error occurred: {error}") from None
        version = given.object.api_version
        return cast(KubeObject, custom_kinds.in_version(self._store, made, version, self._caller))


class MutatingAdmissionWebhookPlugin(AdmissionPlugin):
    """A plugin for every write, used if a mutating webhook is configured."""

    def __init__(self) -> None:
        self._request: MutatingRequest | None = None

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        self._request = MutatingRequest(around.store, about, around.caller, around.warnings)
        if about.new is None:
            self._request.ask_about_deletion()
            return None
        return before_it_is_named(about.object, around.given, self._request.mutated)

    def admit_again(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        if self._request is None:
            return self.admit(about, around)
        return before_it_is_named(about.object, around.given, partial(self._request.mutated, second=True))

    def asks_again(self) -> bool:
        return self._request is not None and self._request.again


class ValidatingAdmissionWebhookPlugin(AdmissionPlugin):
    """A plugin for every write, used if a validating webhook is configured."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        around.warnings += validate(around.store, about, around.caller)
