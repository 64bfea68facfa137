"""Metadata: names, owners, finalizers, labels, annotations, selectors and templates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.api.names import LABEL_TEXT, QUALIFIED_TEXT, SUBDOMAIN_TEXT, VALUE_TEXT
from kitlib.apiserver.validation import object_meta as metas
from tests.apiserver.validation.told import part, told

UNKNOWN = "name is neither a standard finalizer name nor is it fully qualified"


def meta(**fields: Any) -> ObjectMeta:
    return part(ObjectMeta, **{"name": "a", "namespace": "n", **fields})


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (meta(), []),
        (meta(name="", generateName="a-"), []),
        (meta(name="A"), [f"metadata.name Invalid {SUBDOMAIN_TEXT}"]),
        (meta(name=""), ["metadata.name Required name or generateName is required"]),
        (meta(generateName="-"), [f"metadata.generateName Invalid {SUBDOMAIN_TEXT}"]),
        (meta(generateName="A-"), []),  # the letter before the dash is masked too, as upstream
        (meta(generateName="Ab-"), [f"metadata.generateName Invalid {SUBDOMAIN_TEXT}"]),
        (meta(namespace=""), ["metadata.namespace Required"]),
        (meta(namespace="A"), [f"metadata.namespace Invalid {LABEL_TEXT}"]),
        (meta(generation=-1), ["metadata.generation Invalid must be greater than or equal to 0"]),
        (
            meta(labels={"-": "a b"}),
            [f"metadata.labels Invalid name part {QUALIFIED_TEXT}", f"metadata.labels Invalid {VALUE_TEXT}"],
        ),
        (meta(annotations={"A.B/c": "any text"}), []),
        (meta(annotations={"-": ""}), [f"metadata.annotations Invalid name part {QUALIFIED_TEXT}"]),
        (meta(annotations={"a": "x" * (256 * 1024 - 1)}), []),
        (
            meta(annotations={"a": "x" * (256 * 1024)}),
            ["metadata.annotations TooLong may not be more than 262144 bytes"],
        ),
        (meta(finalizers=["orphan", "a.b/c"]), []),
        (meta(finalizers=["x"]), [f"metadata.finalizers[0] Invalid {UNKNOWN}"]),
        (
            meta(finalizers=["orphan", "foregroundDeletion"]),
            ["metadata.finalizers Invalid finalizer orphan and foregroundDeletion cannot be both set"],
        ),
    ],
)
def test_new_metadata(made: ObjectMeta, errors: list[str]) -> None:
    """Source: ValidateObjectMetaAccessor."""
    assert told(metas.validate_object_meta(made, namespaced=True)) == errors


def test_options_of_kinds() -> None:
    assert told(metas.validate_object_meta(meta(), namespaced=False)) == [
        "metadata.namespace Forbidden not allowed on this type"
    ]
    assert told(metas.validate_object_meta(meta(finalizers=["x"]), namespaced=True, known_finalizers=False)) == []
    dotted = meta(name="a.b")
    assert told(metas.validate_object_meta(dotted, namespaced=True, name_rule=metas.name_is_dns_label, field="m")) == [
        "m.name Invalid must not contain dots"
    ]


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({}, []),
        (
            {"name": "b", "namespace": "m"},
            ["metadata.name Invalid field is immutable", "metadata.namespace Invalid field is immutable"],
        ),
        ({"uid": "v"}, ["metadata.uid Invalid field is immutable"]),
        ({"uid": ""}, []),
        ({"finalizers": ["x"]}, [f"metadata.finalizers[0] Invalid {UNKNOWN}"]),
        ({"labels": {"a": "b c"}}, [f"metadata.labels Invalid {VALUE_TEXT}"]),
    ],
)
def test_changed_metadata(change: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateObjectMetaUpdate."""
    assert told(metas.validate_object_meta_update(meta(**{"uid": "u", **change}), meta(uid="u"))) == errors


def test_finalizers_are_not_added_during_a_deletion() -> None:
    old = meta(finalizers=["a/a"])
    assert told(metas.validate_object_meta_update(meta(finalizers=["a/a", "a/c", "a/b"]), old)) == []
    old.deletion_timestamp = datetime(2024, 1, 1, tzinfo=UTC)
    assert told(metas.validate_object_meta_update(meta(finalizers=["a/a"]), old)) == []
    assert told(metas.validate_object_meta_update(meta(), old)) == []
    assert told(metas.validate_object_meta_update(meta(finalizers=["a/c", "a/b"]), old)) == [
        "metadata.finalizers Forbidden no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"a/b", "a/c"}'
    ]


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


@pytest.mark.parametrize(
    ("owners", "errors"),
    [
        ([OWNER, {**OWNER, "controller": True}], []),
        (
            [{}],
            [
                "o.apiVersion Invalid version must not be empty",
                "o.kind Invalid must not be empty",
                "o.name Invalid must not be empty",
                "o.uid Invalid must not be empty",
            ],
        ),
        ([{**OWNER, "apiVersion": "a/"}], ["o.apiVersion Invalid version must not be empty"]),
        ([{**OWNER, "apiVersion": "a/b/c"}], ["o.apiVersion Invalid version must not be empty"]),
        ([{**OWNER, "kind": "Event"}], ["o Invalid /v1, Kind=Event is disallowed from being an owner"]),
        (
            [{**OWNER, "controller": True}, {**OWNER, "name": "q", "controller": True}],
            [
                'o Invalid Only one reference can have Controller set to true. Found "true" in references for Pod/p '
                "and Pod/q"
            ],
        ),
    ],
)
def test_owners(owners: list[Any], errors: list[str]) -> None:
    """Source: ValidateOwnerReferences."""
    assert told(metas.validate_owner_references(meta(ownerReferences=owners).owner_references, "o")) == errors


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        ({"key": "a", "operator": "In", "values": ["b"]}, []),
        ({"key": "a", "operator": "NotIn"}, ["values Required must be specified when `operator` is 'In' or 'NotIn'"]),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            ["values Forbidden may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
        ({"key": "a", "operator": "Gt"}, ["operator Invalid not a valid selector operator"]),
        ({"key": "-", "operator": "Exists"}, [f"key Invalid name part {QUALIFIED_TEXT}"]),
        ({"key": "a", "operator": "In", "values": ["b", "c d"]}, [f"values[1] Invalid {VALUE_TEXT}"]),
    ],
)
def test_selectors(one: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateLabelSelectorRequirement."""
    found = told(metas.validate_label_selector(part(LabelSelector, matchExpressions=[one]), "s"))
    assert [text.removeprefix("s.matchExpressions[0].") for text in found] == errors
    assert metas.validate_label_selector(None, "s") == []
    labels = told(metas.validate_label_selector(part(LabelSelector, matchLabels={"a": "b c"}), "s"))
    assert labels == [f"s.matchLabels Invalid {VALUE_TEXT}"]


def test_a_template_has_labels_and_annotations_only() -> None:
    """Source: ValidateTemplateObjectMeta, whose names are Go's in lower camel case."""
    assert (
        told(metas.validate_template_object_meta(part(ObjectMeta, labels={"a": "b"}, annotations={"c": "d"}), "t"))
        == []
    )
    assert told(metas.validate_template_object_meta(meta(uid="u", finalizers=["x"], generation=1), "t")) == [
        f"t.{name} Forbidden cannot be set" for name in ("name", "namespace", "uID", "generation", "finalizers")
    ]
