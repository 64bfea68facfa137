"""DefaultTolerationSeconds: a pod is evicted five minutes after its node becomes not ready or unreachable.

Source: plugin/pkg/admission/defaulttolerationseconds.
"""

from __future__ import annotations

from kitlib.api.core import Pod, Toleration
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSecondsPlugin(AdmissionPlugin):
    """A plugin that adds tolerations to new and changed pods that have none for these taints."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        pod = about.new
        assert isinstance(pod, Pod)
        for key in _TAINTS:
            if not any(t.key in ("", key) and t.effect in ("", "NoExecute") for t in pod.spec.tolerations):
                pod.spec.tolerations.append(
                    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=_SECONDS)
                )
