"""Names of signers and bundles, and annotations for signers."""

from __future__ import annotations

import pytest

from kitlib.api.names import LABEL_TEXT, QUALIFIED_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation.signer_names import (
    is_kubernetes_signer_name,
    validate_cluster_trust_bundle_name,
    validate_signer_name,
    validate_user_annotations,
)
from tests.apiserver.validation.told import told

FORM = "f Invalid must be a fully qualified domain and path of the form 'example.com/signer-name'"
SEGMENTS = "f Invalid should be a domain with at least two segments separated by dots"


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a.b/c", []),
        ("a.b/c.d", []),
        ("", ["f Required"]),
        ("a.b", [FORM]),
        ("a.b/c/d", [FORM]),
        ("a/c", [SEGMENTS]),
        ("A.b/c", [f'f Invalid validating label "A": {LABEL_TEXT}']),
        ("a.b/C.D", [f'f Invalid validating label "C": {SUBDOMAIN_TEXT}']),
        ("a.b/", [f'f Invalid validating label "": {SUBDOMAIN_TEXT}']),
        (f"{'a.' * 126}b/c", []),
        (f"{'a.' * 126}bb/c", ["f TooLong may not be more than 253 bytes"]),
        (f"a.b/{'c.' * 300}d", ["f TooLong may not be more than 571 bytes"]),
    ],
)
def test_the_name_of_a_signer(name: str, errors: list[str]) -> None:
    """Source: ValidateSignerName."""
    assert told(validate_signer_name(name, "f")) == errors


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kubernetes.io/a", True),
        ("x.kubernetes.io/a", True),
        ("xkubernetes.io/a", False),
        ("kubernetes.io.x/a", False),
        ("a.b/kubernetes.io", False),
    ],
)
def test_signers_of_kubernetes(name: str, expected: bool) -> None:
    assert is_kubernetes_signer_name(name) is expected


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("a.b", ()),
        ("A", (SUBDOMAIN_TEXT,)),
        ("a.b:c:d", ()),
        ("a.b:c:D", (SUBDOMAIN_TEXT,)),
        ("a:", (SUBDOMAIN_TEXT,)),
        (":a", ('ClusterTrustBundle without signer name must not have ":" in its name',)),
    ],
)
def test_the_name_of_a_bundle(name: str, problems: tuple[str, ...]) -> None:
    """Source: ValidateClusterTrustBundleName."""
    assert validate_cluster_trust_bundle_name(name) == problems


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"a.b/C": "x"}, []),
        ({"A.B/c": "x"}, []),
        ({"a": "x"}, ['f Invalid must be a domain-prefixed key (such as "acme.io/foo")']),
        ({"": "x"}, ["f Required"]),
        ({"a.b/-": "x"}, [f"f Invalid name part {QUALIFIED_TEXT}"]),
        ({"a.b/c": "x" * (256 * 1024 - 5)}, []),
        ({"a.b/c": "x" * (256 * 1024 - 4)}, ["f TooLong may not be more than 262144 bytes"]),
    ],
)
def test_annotations_for_signers(values: dict[str, str], errors: list[str]) -> None:
    """Source: ValidateUserAnnotations, IsDomainPrefixedKey."""
    assert told(validate_user_annotations(values, "f")) == errors
