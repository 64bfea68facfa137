"""Nothing is created in a namespace that is being deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.errors import Forbidden, NotFound
from kitlib.apiserver.admission.namespace_lifecycle import NamespaceLifecyclePlugin
from tests.apiserver.admission.writes import made, pod, write


def test_an_active_namespace_accepts_objects() -> None:
    NamespaceLifecyclePlugin().admit(*write(pod(namespace="n"), None, made("Namespace", "n")))


def test_a_terminating_namespace_accepts_none() -> None:
    """Source: plugin/pkg/admission/namespace/lifecycle Admit."""
    gone = made("Namespace", "n")
    gone.metadata.deletion_timestamp = datetime(2024, 1, 1, tzinfo=UTC)
    with pytest.raises(Forbidden) as raised:
        NamespaceLifecyclePlugin().admit(*write(made("ServiceAccount", "s", namespace="n"), None, gone))
    assert str(raised.value) == (
        'serviceaccounts "s" is forbidden: unable to create new content in namespace n because it is being terminated'
    )


def test_a_missing_namespace_is_not_found() -> None:
    with pytest.raises(NotFound, match=r'^namespaces "n" not found$'):
        NamespaceLifecyclePlugin().admit(*write(pod(namespace="n")))
