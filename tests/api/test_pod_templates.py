"""Templates of workloads, and fields of features that are off."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.pod_templates import drop_disabled_fields, pod_spec_of, template_of
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, to_dict

CONTAINER: dict[str, Any] = {"name": "c", "image": "i"}
SIGNAL = {"lifecycle": {"stopSignal": "SIGUSR1"}}
GROUP = {"schedulingGroup": {"podGroupName": "workers"}}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "projected": {"sources": [source]}}]}


def pod(container: dict[str, Any] = CONTAINER, **spec: Any) -> Any:
    made = {"containers": [container], **spec}
    return from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": made}, strict=True)


def cron_job(container: dict[str, Any]) -> Any:
    template = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": template}}
    return from_dict({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "j"}, "spec": spec})


def kept(obj: Any, old: Any = None, **gates: bool) -> dict[str, Any]:
    drop_disabled_fields(obj, old, Release("1.36").with_gates(gates) if gates else Release("1.36"))
    spec = pod_spec_of(obj)
    assert spec is not None
    return to_dict(spec)


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        (GROUP, {}),
        (volume(clusterTrustBundle={"name": "b", "path": "p"}), volume()),
        (volume(podCertificate={"signerName": "a/b", "keyType": "ED25519"}), volume()),
        (volume(secret={"name": "s"}), volume(secret={"name": "s"})),
    ],
)
def test_fields_of_features_that_are_off_are_dropped(spec: dict[str, Any], left: dict[str, Any]) -> None:
    found = kept(pod(**spec))
    del found["containers"]
    assert found == left


def test_a_stop_signal_goes_with_a_lifecycle_that_has_nothing_else() -> None:
    assert "lifecycle" not in kept(pod({**CONTAINER, **SIGNAL}))["containers"][0]
    hook = {"preStop": {"sleep": {"seconds": 1}}}
    found = kept(cron_job({**CONTAINER, "lifecycle": {**SIGNAL["lifecycle"], **hook}}))
    assert found["containers"][0]["lifecycle"] == hook


def test_what_stands_already_may_stay() -> None:
    assert kept(pod(**GROUP), pod(**GROUP))["schedulingGroup"] == GROUP["schedulingGroup"]
    assert "schedulingGroup" not in kept(pod(**GROUP), pod())
    assert kept(pod(**GROUP), GenericWorkload=True)["schedulingGroup"] == GROUP["schedulingGroup"]


def test_other_kinds_have_no_template() -> None:
    made = from_dict({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert template_of(made) is pod_spec_of(made) is None
    drop_disabled_fields(made, None, Release("1.36"))
    assert template_of(cron_job(CONTAINER)) is not None


def test_fields_that_a_newer_release_has_on_stay_there() -> None:
    """ContainerRestartRules since 1.35, PodCertificateRequest since 1.37."""
    rules = {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}
    for release, certificate, own in (("1.34", False, False), ("1.36", False, True), ("1.37", True, True)):
        made = pod({**CONTAINER, **rules}, **volume(podCertificate={"signerName": "a/b", "keyType": "ED25519"}))
        drop_disabled_fields(made, None, Release(release))
        assert (made.spec.volumes[0].projected.sources[0].pod_certificate is not None) is certificate
        assert (made.spec.containers[0].restart_policy is not None) is own
        assert bool(made.spec.containers[0].restart_policy_rules) is own
