"""The body of a request as plain data, and the API server's messages for a body that cannot be decoded.

A body is first checked for its version and kind, then decoded. A malformed body fails the first check; the message has
the expected kind and the beginning of the body. A malformed patch has the message of its own decoder.

Source: apiserver handlers/rest.go (transformDecodeError, summarizeData), handlers/patch.go (applyJSPatch,
strategicPatchObject, applyPatcher), apimachinery serializer/json (Decode, SimpleMetaFactory.Interpret),
sigs.k8s.io/yaml (Unmarshal), its go-yaml v2 (parser.fail).
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import msgspec

from kitlib.api.boundary import MAX_DEPTH, MAX_DIGITS, SURROGATE, bracket_depth
from kitlib.api.decoding import Members
from kitlib.api.errors import ManifestError
from kitlib.api.go_json import syntax_error
from kitlib.apiserver.http.request import MAX_BODY, Request
from kitlib.apiserver.http.status import StatusError

_NO_TEXT = "\ufffd"
"""Go's replacement for a byte or an escape that is no character. Source: unicode/utf8 RuneError."""
_SUMMARY = 30  # bytes of a body in an error message
_LOOK = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_MAP = "map[string]interface {}"
_OPERATION = ("op", "path", "from")


class Body(NamedTuple):
    """The object in a request's body.

    Attributes:
        data: the object; of a duplicate field the last value.
        repeated: go-yaml's message for each duplicate key of a YAML body.
    """

    data: dict[str, Any]
    repeated: tuple[str, ...] = ()


def object_body(request: Request, kind: str = "") -> dict[str, Any]:
    """Return the object in a request's body without its duplicate keys, as `read_object`."""
    return read_object(request, kind).data


def read_object(request: Request, kind: str = "", *, custom: bool = False) -> Body:
    """Decode the object in a request's body: JSON, YAML if the content type says so, or a known protobuf message.

    Args:
        request: the request.
        kind: the expected kind; "" for options, whose error messages do not name it.
        custom: whether the kind is a custom one, whose objects must name their kind.

    Raises:
        StatusError: 413, 415 or 400.
    """
    _check_size(request)
    if request.content_type == "application/vnd.kubernetes.protobuf":
        from kitlib.apiserver.http.protobuf import decode_object

        return Body(decode_object(request.body))
    repeated: tuple[str, ...] = ()
    if is_yaml(request):
        data, repeated, problem = _yaml(request.body)
    else:
        data, problem = _json(request.body)
    if problem and not is_yaml(request):
        problem = f"couldn't get version/kind; json parse error: {problem}"
    problem = problem or _first_look(data)
    if not problem and custom and not (data or {}).get("kind"):
        problem = f"Object 'Kind' is missing in '{request.body.decode('utf-8', 'replace')}'"
    if problem:
        summary = f"the object provided is unrecognized (must be of type {kind}): {problem} ({_summary(request.body)})"
        raise StatusError(400, summary if kind else problem)
    return Body(data or {}, repeated)


def patch_document(request: Request) -> dict[str, Any] | list[Any]:
    """Decode a JSON patch (a list of operations), a merge patch or a strategic merge patch.

    Raises:
        StatusError: 413 or 400.
    """
    _check_size(request)
    data, problem = _json(request.body)
    strategic, operations = "strategic" in request.content_type, "json-patch" in request.content_type
    ignored = request.get("fieldValidation") == "Ignore"  # then jsonpatch.DecodePatch is the first decoder
    if not problem:
        problem = _operations(data, ignored) if operations else _wrong_kind(data, dict, _MAP)
    if not operations and not strategic and (problem if ignored else not problem and data is None):
        raise StatusError(400, "Invalid JSON Patch")
    if problem:
        raise StatusError(400, problem if strategic or (operations and ignored) else f"error decoding patch: {problem}")
    if data is None:
        return [] if operations else {}
    return data


def apply_document(request: Request) -> Body:
    """Decode the configuration of a server-side apply: YAML, of which JSON is a subset.

    Raises:
        StatusError: 413 or 400.
    """
    _check_size(request)
    data, repeated, problem = _yaml(request.body)
    if problem:
        problem = f"error converting YAML to JSON: {problem}"
    elif wrong := _wrong_kind(data, dict, _MAP):
        problem = f"error unmarshaling JSON: while decoding JSON: {wrong}"
    if problem:
        raise StatusError(400, f"error decoding patch: {problem}")
    return Body(data or {}, repeated)


def _check_size(request: Request) -> None:
    if len(request.body) > MAX_BODY:
        raise StatusError(413, f"Request entity too large: limit is {MAX_BODY}")
    kind = request.content_type
    if kind in ("", "application/json", "application/vnd.kubernetes.protobuf") or kind.endswith("+json"):
        return
    if not is_yaml(request):
        supported = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        message = f"the body of the request was in an unknown format - accepted media types include: {supported}"
        raise StatusError(415, message, "UnsupportedMediaType")


def is_yaml(request: Request) -> bool:
    """Return whether the content type of a body is YAML, of which JSON is a subset."""
    return request.content_type in ("application/yaml", "application/apply-patch+yaml")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    shown = body[:_SUMMARY].decode("utf-8", "replace") if body[:1] == b"{" else body[:_SUMMARY].hex()
    return f"{shown} ..." if len(body) > _SUMMARY else shown


def _first_look(data: Any) -> str:
    """Return the problem of version and kind, or "". Source: SimpleMetaFactory.Interpret, schema.ParseGroupVersion."""
    if data is None:
        return ""
    wrong = _wrong_kind(data, dict, _LOOK)
    if not wrong:
        for field in data:
            if field in ("apiVersion", "kind"):
                wrong = wrong or _wrong_kind(data[field], str, f"Go struct field .{field} of type string", field=True)
    if wrong:
        return f"couldn't get version/kind; json parse error: {wrong}"
    version = data.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 and version != "/" else ""


def _operations(data: Any, ignored: bool) -> str:
    """Return the problem of a JSON patch, or "".

    Source: handlers/patch.go jsonPatchOp; jsonpatch.DecodePatch if `ignored`.
    """
    patch, one = "[]handlers.jsonPatchOp", "handlers.jsonPatchOp"
    if ignored:
        patch, one = "jsonpatch.Patch", "jsonpatch.Operation"
    wrong = _wrong_kind(data, list, patch)
    for operation in data if isinstance(data, list) else ():
        wrong = wrong or _wrong_kind(operation, dict, one)
        for field in operation if isinstance(operation, dict) and not ignored else ():
            if field in _OPERATION:
                place = f"Go struct field jsonPatchOp.{field} of type string"
                wrong = wrong or _wrong_kind(operation[field], str, place, field=True)
    return wrong


def _wrong_kind(value: Any, wanted: type, place: str, *, field: bool = False) -> str:
    """Return the decoder's message for a value of a wrong type, "" for null.

    Source: encoding/json UnmarshalTypeError.
    """
    if value is None or isinstance(value, wanted):
        return ""
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return f"json: cannot unmarshal {names[type(value)]} into {place if field else f'Go value of type {place}'}"


class _OutOfRange(Exception):
    """A number that does not fit into a float64."""


def _json(body: bytes) -> tuple[Any, str]:
    """Return the data of a JSON text, or None and the decoder's message."""
    if bracket_depth(body) > MAX_DEPTH:
        return None, f"more than {MAX_DEPTH} levels"
    try:
        return msgspec.json.decode(body), ""
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    problem = syntax_error(body)
    if problem:
        return None, problem
    text = SURROGATE.sub(_NO_TEXT, body.decode("utf-8", "surrogateescape"))
    try:
        return _as_text(json.loads(text, parse_float=_number, parse_int=_whole)), ""
    except _OutOfRange as error:
        return None, f"json: cannot unmarshal number {error} into Go value of type float64"


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _OutOfRange(text[:MAX_DIGITS])
    return value


def _whole(text: str) -> int | float:
    return int(text) if len(text) < MAX_DIGITS else _number(text)


def _as_text(value: Any) -> Any:
    """Replace unpaired surrogates, which are no characters, in all strings."""
    if isinstance(value, str):
        return SURROGATE.sub(_NO_TEXT, value)
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return value


def _yaml(body: bytes) -> tuple[Any, tuple[str, ...], str]:
    """Return the data of a YAML text's first document, the messages of duplicate keys, and the reader's error or ""."""
    from kitlib.api.serialize import load_data
    from kitlib.api.yaml_reader import yaml_documents

    try:
        return load_data(body), (), ""
    except ManifestError:  # it rejects duplicate keys, the server does not
        pass
    repeated: list[str] = []
    try:
        return next(yaml_documents(body, repeated=repeated), None), tuple(repeated), ""
    except ManifestError as error:
        return None, (), _yaml_problem(body) or f"yaml: {error}"


def with_repeated_members(body: bytes) -> Any:
    """Return the data of a JSON text with `Members` for objects with a duplicate key; None if there are none."""
    found = False

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        one = dict(pairs)
        if len(one) == len(pairs):
            return one
        found = True
        return Members(pairs)

    if bracket_depth(body) > MAX_DEPTH:
        return None
    data = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=made, parse_int=str, parse_float=str)
    return data if found else None


def _yaml_problem(body: bytes) -> str:
    """Return go-yaml's error message for an invalid YAML text; "" if libyaml finds no error.

    go-yaml is a translation of libyaml: the problems are the same, the line numbers follow a rule of its own.
    """
    import yaml

    try:
        for event in yaml.parse(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.DocumentEndEvent):
                break
    except yaml.MarkedYAMLError as error:
        line = 0
        if error.problem_mark is not None and error.problem_mark.line:
            line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
        elif error.context_mark is not None:
            line = error.context_mark.line
        return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"
    except (yaml.YAMLError, UnicodeError):
        pass
    return ""
