"""Custom objects in another version of their kind: relabelled, or converted by the definition's webhook.

An object is stored in the storage version of its definition and converted to the version of each request. The webhook
receives one object a review; upstream sends the objects of a list in one.

Source: apiextensions-apiserver pkg/apiserver/conversion: converter.go, nop_converter.go, webhook_converter.go.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.errors import APIError, KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.admission.webhook_calls import (
    Answer,
    WebhookCall,
    WebhookCaller,
    WebhookError,
    ask,
)
from kitlib.apiserver.admission.webhook_servers import target_of
from kitlib.apiserver.store.store import Store

TIMEOUT = 30.0
"""The timeout of a conversion in seconds. Source: apiserver webhook/client.go defaultRequestTimeout."""
_GROUP = "apiextensions.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_CONVERTED = ("labels", "annotations")
"""The metadata that a webhook may change. Source: restoreObjectMeta."""
_CONTENT = ("name", "namespace", "uid", *_CONVERTED)


class ConversionError(APIError):
    """An object that its webhook does not convert: the API server answers with status 500 and no reason."""

    code, reason = 500, ""


def definition_of_kind(store: Store, obj: KubeObject) -> CustomResourceDefinition | None:
    """Return the definition of an object's kind, whichever versions it serves; None if there is none."""
    wanted = obj.api_version.rpartition("/")[0], obj.kind
    definitions: list[CustomResourceDefinition] = store.list("CustomResourceDefinition", copy=False)
    return next(
        (definition for definition in definitions if (definition.spec.group, definition.spec.names.kind) == wanted),
        None,
    )


def to_storage(store: Store, obj: KubeObject, caller: WebhookCaller | None) -> KubeObject:
    """Return an object in the storage version of its definition.

    Raises:
        ConversionError: the webhook does not convert it.
    """
    definition = definition_of_kind(store, obj)
    version = next((one.name for one in definition.spec.versions if one.storage), "") if definition else ""
    made = converted(store, [obj], f"{definition.spec.group}/{version}", caller)[0] if definition and version else obj
    if made is not obj:
        # The response is in the version of the request. A webhook is asked for it before the write: waiting for its
        # answer handles the request again, which must not write twice.
        converted(store, [made], obj.api_version, caller)
    return made


def converted(
    store: Store, objects: Sequence[KubeObject], api_version: str, caller: WebhookCaller | None
) -> list[KubeObject]:
    """Return objects of one kind in a version; an object that has the version already is returned itself.

    Raises:
        ConversionError: the webhook does not convert an object.
    """
    others = [item for item in objects if item.api_version != api_version]
    definition = definition_of_kind(store, others[0]) if others else None
    if definition is None:
        return list(objects)
    conversion = definition.spec.conversion
    if conversion is None or conversion.strategy != "Webhook" or conversion.webhook is None:
        return [item if item.api_version == api_version else _relabelled(item, api_version) for item in objects]
    try:
        calls = [_call(store, definition, item, api_version) for item in others]
    except WebhookError as error:
        raise _failed(others[0], f" failed: {error}") from None
    answers = iter(zip(calls, ask(caller, calls), strict=True))
    return [item if item.api_version == api_version else _made(item, api_version, *next(answers)) for item in objects]


def _relabelled(obj: KubeObject, api_version: str) -> KubeObject:
    made = deepcopy(obj)
    made.api_version = api_version
    return made


def _call(store: Store, definition: CustomResourceDefinition, obj: KubeObject, api_version: str) -> WebhookCall:
    """Return the call that converts an object; the same content has the same key and UID.

    Raises:
        WebhookError: the webhook cannot be called.
    """
    webhook = definition.spec.conversion.webhook if definition.spec.conversion else None
    assert webhook is not None and webhook.client_config is not None, "validated with the definition"
    version = next((one for one in webhook.conversion_review_versions if one in _VERSIONS), "")
    if not version:
        raise WebhookError("no supported conversion review versions")
    data = to_dict(obj)
    # Without the metadata that a write sets: the answer to the request's object is that to the stored one.
    meta = {name: data["metadata"].get(name) for name in _CONTENT}
    content = json.dumps([definition.name, api_version, {**data, "metadata": meta}], sort_keys=True, default=str)
    uid = str(uuid.UUID(bytes=hashlib.sha256(content.encode()).digest()[:16], version=4))
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": [data]}
    review = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}
    return WebhookCall(target_of(store, webhook.client_config, TIMEOUT), review, f"conversion {content}")


def _failed(obj: KubeObject, why: str) -> ConversionError:
    return ConversionError(f"conversion webhook for {obj.api_version}, Kind={obj.kind}{why}")


def _made(obj: KubeObject, api_version: str, call: WebhookCall, answer: Answer) -> KubeObject:
    """Return the converted object of an answer. Source: webhookConverter.Convert."""
    try:
        objects = _objects(call, answer)
    except WebhookError as error:
        raise _failed(obj, f" failed: {error}") from None
    if len(objects) != 1:
        raise _failed(obj, f" returned {len(objects)} objects, expected 1")
    made, old = objects[0], to_dict(obj)
    if not isinstance(made, dict):
        raise _failed(obj, " returned invalid object: expected an object")
    for name, expected in (("groupVersion", api_version), ("kind", obj.kind)):
        got = made.get("apiVersion" if name == "groupVersion" else name)
        if got != expected:
            raise _failed(
                obj, f" returned invalid object at index 0: invalid {name} (expected {expected}, received {got})"
            )
    meta = made.get("metadata")
    if not isinstance(meta, dict):
        raise _failed(obj, " returned invalid metadata: missing metadata in converted object")
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, got = old["metadata"].get(name) or "", meta.get(name) or ""
        if expected != got:
            raise _failed(obj, f" returned invalid object: must have the same {shown}: {expected} != {got}")
    kept = {name: value for name, value in old["metadata"].items() if name not in _CONVERTED}
    for name in _CONVERTED:
        given = meta.get(name)
        if given is None:
            continue
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            raise _failed(obj, f" returned invalid metadata: invalid metadata.{name}: expected a map of strings")
        kept[name] = given
    try:
        found: KubeObject = from_dict({**made, "metadata": kept})
    except KitError as error:
        raise _failed(obj, f" returned invalid object: {error}") from None
    return found


def _objects(call: WebhookCall, answer: Answer) -> list[Any]:
    """Return the objects of an answer. Source: getConvertedObjectsFromResponse.

    Raises:
        WebhookError: the answer reports a failure, or does not belong to this request.
    """
    if isinstance(answer, WebhookError):
        raise answer
    sent, response = call.review["apiVersion"], answer.get("response")
    strict = sent.endswith("/v1")  # v1beta1 does not verify kind and uid
    got = answer.get("apiVersion"), answer.get("kind")
    if strict and got != (sent, "ConversionReview"):
        raise WebhookError(f"expected webhook response of {sent}, Kind=ConversionReview, got {got[0]}, Kind={got[1]}")
    if not isinstance(response, dict):
        raise WebhookError("no response provided")
    uid = call.review["request"]["uid"]
    if strict and response.get("uid") != uid:
        raise WebhookError(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        why = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise WebhookError(str(result.get("message") or why))
    return list(response.get("convertedObjects") or ())
