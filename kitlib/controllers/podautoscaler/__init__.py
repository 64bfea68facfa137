"""HorizontalPodAutoscalers: replicas from the CPU and memory usage that nodes measure for the pods.

Imported by the table of controllers; lessons use its arithmetic. Face: `HorizontalController`, `replica_calculator`.

The kit measures the usage of containers. There are no custom, object or external metrics, and hollow nodes measure
nothing.

Source: pkg/controller/podautoscaler/horizontal.go (reconcileAutoscaler, computeReplicasForMetrics,
computeStatusForResourceMetric, setStatus).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from kitlib.api.autoscaling import (
    ContainerResourceMetricStatus,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerStatus,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    ResourceMetricStatus,
)
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.api.resource import Quantity
from kitlib.api.selectors import SelectorError
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta
from kitlib.controllers.podautoscaler.behavior import (
    Note,
    ScaleEvent,
    ScaleHistory,
    limit,
    note_scaling,
    rules_of,
    stabilize,
)
from kitlib.controllers.podautoscaler.replica_calculator import ReplicaRecommendation, Tolerance, resource_replicas
from kitlib.controllers.scales import ScaleTarget, find_scale

SYNC_PERIOD = 15.0
_PERCENT = " resource utilization (percentage of request)"


class _MetricError(KitError):
    """A metric that cannot be used.

    Args:
        reason: the reason for the event and the condition.
        message: the message for both.
        outer: the text in front of the message if it is the first of several errors.
    """

    def __init__(self, reason: str, message: str, outer: str = "") -> None:
        self.reason, self.outer = reason, outer
        super().__init__(message)


class HorizontalController(Controller):
    """The controller of HorizontalPodAutoscalers."""

    name: ClassVar[str] = "horizontal-pod-autoscaler"

    def __init__(self, manager: Any) -> None:
        super().__init__(manager)
        self._histories: dict[str, ScaleHistory] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {"HorizontalPodAutoscaler": self._on_hpa}

    def _on_hpa(self, change: Delta) -> None:
        if change.type == "DELETED":
            self._histories.pop(change.new.metadata.uid, None)
        elif (
            change.type == "ADDED"
            or change.old is None
            or change.old.metadata.generation != (change.new.metadata.generation)
        ):
            self.enqueue(change.new)

    def sync(self, key: Key) -> None:
        """Source: reconcileKey, reconcileAutoscaler."""
        hpa: HorizontalPodAutoscaler | None = self.find(HorizontalPodAutoscaler, key)
        if hpa is None:
            return
        self.queue.add_after(key, SYNC_PERIOD)
        status = deepcopy(hpa.status)
        status.observed_generation = hpa.metadata.generation
        try:
            self._reconcile(hpa, status)
        finally:
            if status != hpa.status:
                changed = deepcopy(hpa)
                changed.status = status
                self.api.update_status(changed)

    def _reconcile(self, hpa: HorizontalPodAutoscaler, status: HorizontalPodAutoscalerStatus) -> None:
        try:
            target = self._target(hpa)
        except KitError as error:
            self.event(hpa, "Warning", "FailedGetScale", str(error))
            message = f"the HPA controller was unable to get the target's current scale: {error}"
            self._put(status, "AbleToScale", Note("False", "FailedGetScale", message))
            return
        message = "the HPA controller was able to get the target's current scale"
        self._put(status, "AbleToScale", Note("True", "SucceededGetScale", message))
        current = target.replicas
        desired, reason = self._desired(hpa, status, target, current)
        status.current_replicas = target.status_replicas
        if desired is None:
            return
        if desired != current:
            self.api.update(target.scaled_to(desired), "scale")
            message = f"the HPA controller was able to update the target scale to {desired}"
            self._put(status, "AbleToScale", Note("True", "SucceededRescale", message))
            self.event(hpa, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}")
            note_scaling(hpa, self._history(hpa), current, desired, self.now())
            status.last_scale_time = self.now()
        status.desired_replicas = desired

    def _target(self, hpa: HorizontalPodAutoscaler) -> ScaleTarget:
        reference = hpa.spec.scale_target_ref
        return find_scale(self.api.store, reference.api_version, reference.kind, reference.name, hpa.namespace)

    def _history(self, hpa: HorizontalPodAutoscaler) -> ScaleHistory:
        return self._histories.setdefault(hpa.metadata.uid, ScaleHistory())

    def _desired(
        self, hpa: HorizontalPodAutoscaler, status: HorizontalPodAutoscalerStatus, target: ScaleTarget, current: int
    ) -> tuple[int | None, str]:
        """Return the desired replicas and the reason; None if no metric could be used."""
        least = 1 if hpa.spec.min_replicas is None else hpa.spec.min_replicas
        if current == 0 and least != 0:
            message = "scaling is disabled since the replica count of the target is zero"
            self._put(status, "ScalingActive", Note("False", "ScalingDisabled", message))
            return 0, ""
        if current > hpa.spec.max_replicas:
            return hpa.spec.max_replicas, "Current number of replicas above Spec.MaxReplicas"
        if current < least:
            return least, "Current number of replicas below Spec.MinReplicas"
        try:
            wanted, metric = self._by_metrics(hpa, status, target, current)
        except _MetricError as error:
            self.event(hpa, "Warning", "FailedComputeMetricsReplicas", str(error))
            return None, ""
        reason = f"{metric} above target" if wanted > current else "All metrics below target"
        history, now = self._history(hpa), self.now()
        # Without a history the current size is a recommendation, so a new autoscaler does not scale down at once.
        if not history.recommendations:
            history.recommendations.append(ScaleEvent(now, current))
        stabilized, note = stabilize(hpa, history, current, wanted, now)
        self._put(status, "AbleToScale", note)
        desired, note = limit(hpa, history, current, stabilized, now)
        self._put(status, "ScalingLimited", note)
        return desired, reason

    def _by_metrics(
        self, hpa: HorizontalPodAutoscaler, status: HorizontalPodAutoscalerStatus, target: ScaleTarget, current: int
    ) -> tuple[int, str]:
        """Return the maximum of all metrics' replicas, and that metric's name. Source: computeReplicasForMetrics."""
        pods = self._pods_of(hpa, status, target)
        self._check_unambiguous(hpa, status, target, pods)
        wanted, metric, invalid = 0, "", 0
        first: _MetricError | None = None
        status.current_metrics = []
        for one in hpa.spec.metrics:
            try:
                found, name, shown = self._one_metric(hpa, one, pods, current)
            except _MetricError as error:
                invalid += 1
                first = first or error
                self.event(hpa, "Warning", error.reason, str(error))
                continue
            status.current_metrics.append(shown)
            if not metric or found > wanted:
                wanted, metric = found, name
        # With a missing metric scaling up is safe, scaling down is not: the missing one might ask for more replicas.
        if first is not None and (invalid >= len(hpa.spec.metrics) or wanted < current):
            message = f"the HPA was unable to compute the replica count: {first}"
            self._put(status, "ScalingActive", Note("False", first.reason, message))
            total = len(hpa.spec.metrics)
            why = f"invalid metrics ({invalid} invalid out of {total}), first error is: {first.outer}{first}"
            raise _MetricError(first.reason, why)
        message = f"the HPA was able to successfully calculate a replica count from {metric}"
        self._put(status, "ScalingActive", Note("True", "ValidMetricFound", message))
        return wanted, metric

    def _pods_of(
        self, hpa: HorizontalPodAutoscaler, status: HorizontalPodAutoscalerStatus, target: ScaleTarget
    ) -> list[Pod]:
        """Return the pods that the target's scale selects.

        Raises:
            _MetricError: the scale of a custom object has no selector, or an invalid one.

        Source: validateAndParseSelector.
        """
        in_namespace = self.informers.of_namespace("Pod", hpa.namespace)
        try:
            if not target.selector:
                raise _MetricError("SelectorRequired", "selector is required")
            matches = target.matcher()
            return [pod for pod in in_namespace if isinstance(pod, Pod) and matches(pod.metadata.labels)]
        except SelectorError as error:
            why = f"couldn't convert selector into a corresponding internal selector object: {error}"
            wrong = _MetricError("InvalidSelector", why)
        except _MetricError as error:
            wrong, why = error, "the HPA target's scale is missing a selector"
        self.event(hpa, "Warning", wrong.reason, str(wrong))
        self._put(status, "ScalingActive", Note("False", "InvalidSelector", why))
        raise wrong

    def _check_unambiguous(
        self, hpa: HorizontalPodAutoscaler, status: HorizontalPodAutoscalerStatus, target: ScaleTarget, pods: list[Pod]
    ) -> None:
        """Check that no other autoscaler's target selects one of these pods.

        Raises:
            _MetricError: another one does; the error names the autoscalers.

        Source: validateAndParseSelector, hpasControllingPodsUnderSelector.
        """
        found = {hpa.key}
        for other in self.informers.of_namespace("HorizontalPodAutoscaler", hpa.namespace):
            assert isinstance(other, HorizontalPodAutoscaler)
            with suppress(KitError):  # a target without a scale selects no pods
                its = self._target(other)
                if its.selector and any(map(its.matcher(), (pod.metadata.labels for pod in pods))):
                    found.add(other.key)
        if len(found) > 1:
            message = f"pods by selector {target.selector} are controlled by multiple HPAs: [{' '.join(sorted(found))}]"
            self.event(hpa, "Warning", "AmbiguousSelector", message)
            self._put(status, "ScalingActive", Note("False", "AmbiguousSelector", message))
            raise _MetricError("AmbiguousSelector", message)

    def _one_metric(
        self, hpa: HorizontalPodAutoscaler, metric: MetricSpec, pods: list[Pod], current: int
    ) -> tuple[int, str, MetricStatus]:
        """Return the replicas for a metric, its name, and its current value. Source: computeReplicasForMetric."""
        container = ""
        if metric.type == "Resource" and metric.resource is not None:
            resource, target = metric.resource.name, metric.resource.target
            reason, name = "FailedGetResourceMetric", f"{resource}{_PERCENT}"
        elif metric.type == "ContainerResource" and metric.container_resource is not None:
            resource, target = metric.container_resource.name, metric.container_resource.target
            container = metric.container_resource.container
            reason, name = "FailedGetContainerResourceMetric", f"{resource} container{_PERCENT}"
        else:
            why = f"{metric.type.lower()} metrics are served by no API here"
            raise _MetricError(f"FailedGet{metric.type}Metric", f"unable to get metric: {why}")
        try:
            found = self._recommend(hpa, resource, target, container, pods, current)
        except KitError as error:
            text = str(error)
            what = "usage" if target.average_utilization is None else "utilization"
            outer = f"failed to get {resource} {'container' if container else 'resource'} metric value: "
            raise _MetricError(reason, f"failed to get {resource} {what}: {text}", outer) from error
        if target.average_utilization is None:
            name = f"{resource} container resource" if container else f"{resource} resource"
        value = _value(resource, found)
        if container:
            shown = ContainerResourceMetricStatus(name=resource, container=container, current=value)
            return found.replicas, name, MetricStatus(type=metric.type, container_resource=shown)
        return (
            found.replicas,
            name,
            MetricStatus(type=metric.type, resource=ResourceMetricStatus(name=resource, current=value)),
        )

    def _recommend(
        self,
        hpa: HorizontalPodAutoscaler,
        resource: str,
        target: MetricTarget,
        container: str,
        pods: list[Pod],
        current: int,
    ) -> ReplicaRecommendation:
        up, down = rules_of(hpa)
        default = Tolerance()
        tolerance = Tolerance(
            default.down if down.tolerance is None else down.tolerance.nano / 1e9,
            default.up if up.tolerance is None else up.tolerance.nano / 1e9,
        )
        usage = {
            name: {c: round(cpus * 1000) if resource == "cpu" else memory * 1000 for c, (cpus, memory) in of.items()}
            for (namespace, name), of in self.manager.metrics().items()
            if namespace == hpa.namespace
        }
        average = target.average_value.milli_value() if target.average_value is not None else None
        return resource_replicas(
            current,
            resource,
            pods,
            usage,
            self.now(),
            utilization=target.average_utilization,
            average=average,
            container=container,
            tolerance=tolerance,
        )

    def _put(self, status: HorizontalPodAutoscalerStatus, kind: str, note: Note) -> None:
        """Source: setConditionInList."""
        old = next((condition for condition in status.conditions if condition.type == kind), None)
        changed = old is None or old.status != note.status
        new = Condition(
            type=kind,
            status=note.status,
            reason=note.reason,
            message=note.message,
            last_transition_time=self.now() if changed or old is None else old.last_transition_time,
        )
        status.conditions = (
            [*status.conditions, new]
            if old is None
            else [new if condition is old else condition for condition in status.conditions]
        )


def _value(resource: str, found: ReplicaRecommendation) -> MetricValueStatus:
    average = (
        Quantity.from_milli(found.usage, "DecimalSI")
        if resource == "cpu"
        else Quantity.from_int(found.usage // 1000, "DecimalSI")
    )
    return MetricValueStatus(average_utilization=found.utilization, average_value=average)
