"""Tests that every write passes the admission plugins in upstream's order, each loaded with its first write."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import Forbidden
from kitlib.apiserver.admission import plugins
from kitlib.apiserver.admission.attributes import AdmissionAttributes, attributes_of
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.cluster import Cluster

ALL_ORDERED_PLUGINS = (
    *("AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists"),
    *("LimitPodHardAntiAffinityTopology", "LimitRanger", "ServiceAccount", "NodeRestriction"),
    *("TaintNodesByCondition", "AlwaysPullImages", "ImagePolicyWebhook", "PodSecurity", "PodNodeSelector", "Priority"),
    *("DefaultTolerationSeconds", "PodTolerationRestriction", "EventRateLimit", "ExtendedResourceToleration"),
    *("DefaultStorageClass", "StorageObjectInUseProtection", "PodGroupProtection"),
    *("OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval"),
    *("CertificateSigning", "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "DefaultIngressClass"),
    *("DenyServiceExternalIPs", "PodTopologyLabels", "PodGroupWorkloadExists", "NodeDeclaredFeatureValidator"),
    *("JobValidation", "PodResizeValidator", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota", "AlwaysDeny"),
)
"""Source: pkg/kubeapiserver/options/plugins.go of 1.36."""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def test_the_plugins_stand_in_upstreams_order() -> None:
    names = [one.name for one in plugins.PLUGINS]
    assert names == sorted(names, key=ALL_ORDERED_PLUGINS.index)


@pytest.mark.parametrize("one", plugins.PLUGINS, ids=lambda one: str(one.name))
def test_a_descriptor_leads_to_a_plugin_that_does_something(one: plugins.PluginDescriptor) -> None:
    kind = plugins._class_of(one)
    assert issubclass(kind, AdmissionPlugin) and kind.__name__ == f"{one.name}Plugin"
    assert {"admit", "validate"} & vars(kind).keys()


def test_a_contributors_plugin_sees_create_update_and_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    class Recorder(AdmissionPlugin):
        def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
            seen.append(("admit", about.operation))
            about.object.metadata.labels["recorded"] = "yes"

        def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
            seen.append(("validate", about.operation))
            if about.operation == "DELETE" and about.object.metadata.labels.get("keep"):
                raise Forbidden("pods", about.object.name, "it is to be kept")

    mine = plugins.PluginDescriptor("Recorder", "", lambda a, s: isinstance(a.object, Pod) and not a.subresource)
    class_of = plugins._class_of
    monkeypatch.setattr(plugins, "PLUGINS", (*plugins.PLUGINS, mine))
    monkeypatch.setattr(plugins, "_class_of", lambda one: Recorder if one is mine else class_of(one))
    cluster = Cluster.simulated(0)
    cluster.apply(POD)
    assert seen == [("admit", "CREATE"), ("validate", "CREATE")]
    assert cluster.pod("p").metadata.labels == {"recorded": "yes"}
    cluster.patch("Pod", "p", {"metadata": {"labels": {"keep": "1"}}})
    assert seen[2:] == [("admit", "UPDATE"), ("validate", "UPDATE")]
    with pytest.raises(Forbidden, match="to be kept"):
        cluster.delete("Pod", "p")


def test_a_write_asks_only_the_plugins_that_it_concerns() -> None:
    api = Cluster.simulated(0).api
    about = attributes_of(api.store, api.store.get("Namespace", "default"), None)
    around = AdmissionContext(api.store, api.release)
    assert [one.name for one in plugins.PLUGINS if one.wanted(about, around)] == []
