"""The rows of the releases: feature gates, behaviours, defaults of settings and messages by minor version.

Besides Kubernetes' own feature gates the table holds behaviours that changed without a gate; their names begin with
`Kit` and their lines say what changed. To add a release is to add its rows here; code asks `Release`.

Source: pkg/features/kube_features.go (versioned feature specs) and the changelogs of the releases named.
"""

from __future__ import annotations

RELEASES = tuple(f"1.{minor}" for minor in range(23, 38))
"""The supported releases, oldest first."""

_OFF, _ON = False, True

GATES: dict[str, tuple[tuple[int, bool], ...]] = {
    # gate: (first minor version with the value, value) ...; disabled before the first
    "AuthorizePodWebsocketUpgradeCreatePermission": ((35, _ON),),
    "ChangeContainerStatusOnKubeletRestart": ((23, _ON), (35, _OFF)),
    "ClusterTrustBundleProjection": ((29, _OFF),),
    "ClearingNominatedNodeNameAfterBinding": ((34, _OFF), (35, _ON)),
    "ContainerRestartRules": ((34, _OFF), (35, _ON)),
    "ContainerStopSignals": ((33, _OFF),),
    "CPUManagerPolicyAlphaOptions": ((23, _OFF),),
    "CPUManagerPolicyBetaOptions": ((23, _ON),),
    "CPUManagerPolicyOptions": ((23, _ON),),
    "CustomCPUCFSQuotaPeriod": ((23, _OFF), (36, _ON)),
    "DefaultPodTopologySpread": ((20, _ON),),
    "DeploymentReplicaSetTerminatingReplicas": ((33, _OFF), (35, _ON)),
    "DisableCPUQuotaWithExclusiveCPUs": ((33, _ON),),
    "DRAAdminAccess": ((32, _OFF), (34, _ON)),
    "DRAConsumableCapacity": ((34, _OFF), (36, _ON)),
    "DRADeviceBindingConditions": ((34, _OFF), (36, _ON)),
    "DRADeviceTaintRules": ((35, _OFF), (37, _ON)),
    "DRADeviceTaints": ((33, _OFF), (36, _ON)),
    "DRAExtendedResource": ((34, _OFF), (36, _ON)),
    "DRAFractionalCapacityRange": ((37, _ON),),
    "DRANodeAllocatableResources": ((36, _OFF),),
    "DRAOptionalNodeOperations": ((37, _OFF),),
    "DRAPartitionableDevices": ((33, _OFF), (36, _ON)),
    "DRAPrioritizedList": ((33, _OFF), (34, _ON)),
    "DynamicResourceAllocation": ((26, _OFF), (34, _ON)),
    "ExtendWebSocketsToKubelet": ((36, _ON),),
    "GenericWorkload": ((35, _OFF),),
    "GracefulNodeShutdown": ((20, _OFF), (21, _ON)),
    "GracefulNodeShutdownBasedOnPodPriority": ((23, _OFF), (24, _ON)),
    "HPAScaleToZero": ((23, _OFF), (37, _ON)),
    "HugepageAwareEviction": ((37, _ON),),
    "ImageMaximumGCAge": ((29, _OFF), (30, _ON)),
    "InPlacePodLevelResourcesVerticalScaling": ((35, _OFF), (36, _ON)),
    "InPlacePodVerticalScaling": ((27, _OFF), (33, _ON)),
    "InPlacePodVerticalScalingExclusiveCPUs": ((32, _OFF),),
    "InPlacePodVerticalScalingExclusiveMemory": ((34, _OFF),),
    "InPlacePodVerticalScalingInitContainers": ((36, _ON),),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ((37, _OFF),),
    "InPlacePodVerticalScalingSchedulerPreemption": ((37, _OFF),),
    "KubeletCrashLoopBackOffMax": ((32, _OFF), (35, _ON)),
    "KubeletCgroupDriverFromCRI": ((28, _OFF), (31, _ON)),
    "MatchLabelKeysInPodAffinity": ((29, _OFF), (31, _ON)),
    "MatchLabelKeysInPodTopologySpread": ((25, _OFF), (27, _ON)),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ((34, _ON),),
    # 1.35.0 enabled it; it is disabled again in 1.35.4 and 1.36 (kubernetes/kubernetes #137904, #137926)
    "MaxUnavailableStatefulSet": ((24, _OFF),),
    "MemoryManager": ((22, _ON),),
    "MemoryQoS": ((22, _OFF), (37, _ON)),
    "MinDomainsInPodTopologySpread": ((24, _OFF), (27, _ON)),
    "NodeDeclaredFeatures": ((35, _OFF), (36, _ON)),
    "NodeInclusionPolicyInPodTopologySpread": ((25, _OFF), (26, _ON)),
    "NodeSwap": ((22, _OFF), (30, _ON)),
    "NominatedNodeNameForExpectation": ((34, _OFF), (35, _ON)),
    "OrderedNamespaceDeletion": ((30, _OFF), (33, _ON)),
    "PodCertificateRequest": ((34, _OFF), (37, _ON)),
    "PodDisruptionConditions": ((25, _OFF), (26, _ON)),
    "PodLevelResourceManagers": ((36, _OFF),),
    "PodLevelResources": ((32, _OFF), (34, _ON)),
    "PodObservedGenerationTracking": ((33, _OFF), (34, _ON)),
    "PodSchedulingReadiness": ((26, _OFF), (27, _ON)),
    "PodTopologyLabelsAdmission": ((33, _OFF), (35, _ON)),
    "QOSReserved": ((23, _OFF),),
    "ReadWriteOncePod": ((22, _OFF), (27, _ON)),
    "RecursiveReadOnlyMounts": ((30, _OFF), (31, _ON)),
    "ReduceDefaultCrashLoopBackOffDecay": ((33, _OFF),),
    "RestartAllContainersOnContainerExits": ((35, _OFF), (36, _ON)),
    "SchedulerAsyncPreemption": ((32, _OFF), (33, _ON)),
    "SchedulerPopFromBackoffQ": ((33, _ON),),
    "SchedulerQueueingHints": ((28, _OFF), (32, _ON)),
    "ServiceAccountTokenJTI": ((29, _OFF), (30, _ON)),
    "ServiceAccountTokenNodeBinding": ((29, _OFF), (31, _ON)),
    "ServiceAccountTokenPodNodeInfo": ((29, _OFF), (30, _ON)),
    "SidecarContainers": ((28, _OFF), (29, _ON)),
    "StorageCapacityScoring": ((33, _OFF), (37, _ON)),
    "SupplementalGroupsPolicy": ((31, _OFF), (33, _ON)),
    "TaintTolerationComparisonOperators": ((35, _OFF),),
    "TokenRequestServiceAccountUIDValidation": ((34, _ON),),
    "TopologyManagerPolicyAlphaOptions": ((26, _OFF),),
    "TopologyManagerPolicyBetaOptions": ((26, _OFF), (28, _ON)),
    "TopologyManagerPolicyOptions": ((26, _OFF), (28, _ON)),
    "UserNamespacesHostNetworkSupport": ((35, _OFF),),
    "VolumeBindMountOptions": ((37, _OFF),),
    "VolumeLimitScaling": ((35, _OFF), (37, _ON)),
    # kubectl get crd shows scope and versions, and group, kind, short names and Established with -o wide (#131599)
    "KitDefinitionsShowVersions": ((37, _ON),),
    # kubectl describe shows a StatefulSet's service, pod management and claim retention policies (#137547)
    "KitDescribeStatefulSetPolicies": ((37, _ON),),
    # nodes that the pod's node affinity or selector excludes do not count in the skew
    "KitSpreadHonoursNodeAffinity": ((24, _ON),),
    # the weighted sum of a node's spread scores is rounded instead of truncated
    "KitSpreadScoreRounded": ((24, _ON),),
    # a request larger than the node's allocatable is UnschedulableAndUnresolvable, so that preemption skips the node
    "KitFitUnresolvable": ((34, _ON),),
    # balanced allocation gives no score to pods that request nothing
    "KitBalancedSkipsBestEffort": ((33, _ON),),
    # balanced allocation compares the node with and without the pod
    "KitBalancedComparesWithout": ((35, _ON),),
    # the sum of the containers' requests includes sidecars, independently of the feature gate
    "KitRequestsCountSidecars": ((28, _ON),),
    # in scoring, sidecars count, with the default requests of 100m and 200Mi where they request nothing
    "KitNonZeroCountsSidecars": ((32, _ON),),
    # the score for free resources ignores pod-level requests
    "KitScoreSkipsPodLevel": ((33, _ON),),
    # pod-level resources may set huge pages
    "KitPodLevelHugePages": ((33, _ON),),
    # a claim that another pod uses rejects every node in Filter instead of the pod in PreFilter
    "KitReadWriteOncePodFilters": ((27, _ON),),
    # a claim that is bound to a missing volume rejects the pod at once
    "KitVolumeZonePreFilters": ((27, _ON),),
    # a volume's beta zone label also matches the node's label without "beta"
    "KitBetaZoneLabelsMatch": ((29, _ON),),
    # host ports of sidecars count as used
    "KitSidecarPortsCount": ((34, _ON),),
    # the kubelet reports a pending resize by conditions instead of `status.resize`
    "KitResizeHasConditions": ((33, _ON),),
    # during a resize the actual resources of containers count instead of the allocated ones
    "KitResizeCountsActuated": ((32, _ON),),
    # during a resize both the actual and the allocated resources count
    "KitResizeCountsAllocated": ((35, _ON),),
    # a namespace selector of the incoming pod's affinity is also evaluated on empty labels: the terms became values of
    # an interface in 1.34 (kubernetes/kubernetes #132457)
    "KitNamespaceSelectorAskedTwice": ((34, _ON),),
    # an enabled gate requires the gates that it depends on; before, it had no effect without them
    "KitGatesDepend": ((35, _ON),),
    # PreFilter may restrict the candidates to named nodes
    "KitPreFilterNodeNames": ((24, _ON),),
    # a plugin may skip Score in PreScore; before, topology spread gave 100 to every node in this case
    "KitPreScoreSkips": ((28, _ON),),
    # the same for node affinity and volume binding
    "KitNodeAffinityScoreSkips": ((30, _ON),),
    # a spread constraint with an empty selector counts no pods; before, it counted all pods of the namespace
    "KitEmptySpreadSelectorCountsNobody": ((27, _ON),),
    # a resource that the pod does not request is not checked, even if the node is overcommitted in it
    "KitFitChecksOnlyRequested": ((28, _ON),),
    # the score for free resources ignores the overhead
    "KitFitScoreIgnoresOverhead": ((23, _ON), (24, _OFF)),
    # one node affinity term without a node rejects the pod, whatever the other terms match
    "KitAnyConflictingTermRejects": ((24, _ON), (27, _OFF)),
    # images of init containers count too
    "KitImageLocalityCountsInit": ((30, _ON),),
    # scoring counts the overhead's CPU in whole CPUs instead of thousandths, and ignores its other resources
    "KitScoringRoundsOverhead": ((23, _ON), (27, _OFF)),
    # a rejection in PreFilter counts for every node; otherwise preemption tries all of them
    "KitPreFilterRejectsEveryNode": ((23, _ON), (26, _OFF), (28, _ON)),
    # nodes that PreFilter excludes have a status of their own, so that preemption skips them too
    "KitAbsentNodesHaveStatus": ((30, _ON),),
    # plugins that exclude nodes in PreFilter count among those that rejected the pod
    "KitNarrowingPluginsReject": ((31, _ON),),
    # a missing node in the result of PreFilter ends the cycle
    "KitMissingNamedNodeFails": ((24, _ON), (30, _OFF)),
    # the scheduler crashes if none of the nodes in the result of PreFilter exists
    "KitNoNamedNodePanics": ((30, _ON), (31, _OFF)),
    # errors of PostFilter are shown in the event
    "KitPostFilterErrorShown": ((27, _ON),),
    # victims of an earlier preemption are identified by their condition instead of their deletion timestamp
    "KitWaitsForPreemptedOnly": ((27, _ON),),
    # victims are sorted by importance after the division by violated disruption budgets
    "KitVictimsSortedAgain": ((32, _ON),),
    # preemption's trial removals update the use of ReadWriteOncePod claims
    "KitVolumeRestrictionsTracksPods": ((27, _ON),),
    # after a rejection of a node the other Filter plugins run too
    "KitAllFiltersRun": ((24, _ON), (26, _OFF)),
    # an unschedulable pod without events is retried after five minutes instead of one
    "KitPoolKeepsFiveMinutes": ((24, _ON),),
    # nodes with devices of a claim's first alternatives are preferred
    "KitPrioritizedListScores": ((35, _ON),),
    # a resize beyond the node's allocatable is rejected by the API server instead of the kubelet
    "KitPodResizeValidator": ((36, _ON),),
    # empty pod-level resources do not determine the QoS class (kubernetes/kubernetes #137150)
    "KitEmptyPodLevelIgnored": ((37, _ON),),
    # MemoryQoS has memoryReservationPolicy, and protects Burstable pods by memory.low instead of memory.min
    "KitMemoryReservationPolicy": ((36, _ON),),
    # MemoryQoS writes nothing without a throttling factor and a reservation policy (kubernetes.io/blog of 14 September
    # 2026)
    "KitMemoryQoSNeedsSettings": ((37, _ON),),
}


LOCKED: dict[str, int] = {
    # gate: first minor version with a locked value (LockToDefault)
    "CPUManagerPolicyOptions": 33,
    "DefaultPodTopologySpread": 24,
    "DisableCPUQuotaWithExclusiveCPUs": 37,
    "DRAAdminAccess": 36,
    "DRAExtendedResource": 37,
    "DRAPrioritizedList": 37,
    "DynamicResourceAllocation": 35,
    "ImageMaximumGCAge": 35,
    "InPlacePodVerticalScaling": 35,
    "KubeletCgroupDriverFromCRI": 34,
    "MatchLabelKeysInPodAffinity": 33,
    "MemoryManager": 32,
    "MinDomainsInPodTopologySpread": 30,
    "NodeDeclaredFeatures": 37,
    "NodeInclusionPolicyInPodTopologySpread": 33,
    "NodeSwap": 34,
    "OrderedNamespaceDeletion": 34,
    "PodDisruptionConditions": 31,
    "PodSchedulingReadiness": 30,
    "RecursiveReadOnlyMounts": 33,
    "SchedulerQueueingHints": 34,
    "SidecarContainers": 33,
    "SupplementalGroupsPolicy": 35,
    "TopologyManagerPolicyOptions": 32,
}


Setting = bool | int | float | str | tuple[str, ...] | None
"""The value of a setting; None where the release has none."""


DEFAULTS: dict[str, tuple[tuple[int, Setting], ...]] = {
    # setting: (first minor version with the default, the value) ...; None before the first
    # versions of resource.k8s.io in which DeviceTaintRules are served, the preferred one first (k8s.io/api resource)
    "deviceTaintRuleVersions": (
        (35, ("v1alpha3",)),
        (36, ("v1beta2", "v1alpha3")),
        (37, ("v1", "v1beta2", "v1alpha3")),
    ),
    # names that nodes may list in status.declaredFeatures, sorted (KEP-5328)
    "nodeDeclaredFeatures": (
        (
            36,
            (
                "ExtendWebSocketsToKubelet",
                "InPlacePodLevelResourcesVerticalScaling",
                "InPlacePodVerticalScalingInitContainers",
                "RestartAllContainersOnContainerExits",
                "UserNamespacesHostNetworkSupport",
            ),
        ),
        (
            37,
            (
                "DRANodeAllocatableResources",
                "DRAOptionalNodeOperations",
                "ExtendWebSocketsToKubelet",
                "InPlacePodLevelResourcesVerticalScaling",
                "InPlacePodVerticalScalingInitContainers",
                "InPlacePodVerticalScalingMemoryBackedVolumes",
                "RestartAllContainersOnContainerExits",
                "UserNamespacesHostNetworkSupport",
                "VolumeBindMountOptions",
            ),
        ),
    ),
    # the kubelet refuses to start on cgroup v1 (KEP-5573)
    "failCgroupV1": ((31, False), (35, True)),
    # grace period in seconds of the eviction manager at a hard threshold or a limit; 0 was mistaken for the pod's own
    # grace period, also for force-deleted pods (kubernetes#124063)
    "immediateEvictionGracePeriodSeconds": ((23, 0), (31, 1)),
    # whether a pod fails whose init container was OOMKilled with exit code 0, or stays Pending (kubernetes#115331)
    "oomKilledInitFailsPod": ((23, False), (27, True)),
    # whether the time of a preStop hook counts against the grace period (kubernetes#115835)
    "preStopHookUsesGracePeriod": ((23, False), (28, True)),
    # --node-monitor-grace-period of kube-controller-manager
    "nodeMonitorGracePeriodSeconds": ((22, 40), (32, 50)),
    # on cgroup v2, the kernel kills all processes of a container (memory.oom.group, kubernetes#117793); a setting since
    # 1.32; on cgroup v1 always true
    "singleProcessOOMKill": ((23, True), (28, False)),
    "kubeAPIQPS": ((23, 5), (27, 50)),
    "kubeAPIBurst": ((23, 10), (27, 100)),
    # at a soft threshold: evictionMaxPodGracePeriod alone, or its minimum with the pod's own grace period
    "softEvictionGracePeriod": ((23, "evictionMaxPodGracePeriod"), (32, "smaller")),
    # None = MemoryQoS writes no memory.high; a null in a configuration file means this default (KEP-2570)
    "memoryThrottlingFactor": ((22, 0.8), (27, 0.9), (37, None)),
}
"""The defaults of settings that changed between releases."""


TEXTS: dict[str, tuple[tuple[int, str], ...]] = {
    # name: (first minor version with the text, the text) ...
    "no_reasons": ((23, "0/{nodes} nodes are available: ."), (26, "0/{nodes} nodes are available:")),
    "pre_filter_error": (
        (23, "0/{nodes} nodes are available: {nodes} {reason}."),
        (26, "0/{nodes} nodes are available: {reason}."),
    ),
    "describe_probe_thresholds": (
        (23, "#success={success} #failure={failure}"),
        (37, "successThreshold={success} failureThreshold={failure}"),
    ),
    "no_victims": (
        (23, "No victims found on node {node} for preemptor pod {pod}"),
        (24, "No preemption victims found for incoming pod"),
    ),
    "preemption_never": ((23, ""), (24, "not eligible due to preemptionPolicy=Never.")),
    "preemption_terminating": ((23, ""), (24, "not eligible due to a terminating pod on the nominated node.")),
    "post_filter": ((23, "{message}"), (24, "preemption: {message}")),
    "fit_error": ((23, "{filters}"), (24, "{filters} {post}"), (26, "{filters} {post}."), (29, "{filters} {post}")),
    "container_created": (
        (23, "Created container {name}"),
        (32, "Created container: {name}"),
        (35, "Container created"),
    ),
    "container_started": ((23, "Started container {name}"), (35, "Container started")),
    # proposed after 1.33 was released (kubernetes#71869)
    "image_gc_failed": (
        (
            23,
            "Failed to garbage collect required amount of images. Attempted to free {to_free} bytes, but only found "
            "{freed} bytes eligible to free.",
        ),
        (
            34,
            "Insufficient free disk space on the node's image filesystem ({used}% of {capacity} used). Failed to free "
            "sufficient space by deleting unused images (freed {freed} bytes). Investigate disk usage, as it could be "
            "used by active images, logs, volumes, or other data.",
        ),
    ),
    "image_present": (
        (23, 'Container image "{image}" already present on machine'),
        (35, 'Container image "{image}" already present on machine and can be accessed by the pod'),
    ),
    "absent_nodes": (
        (23, ""),
        (30, "node is filtered out by the prefilter result"),
        (31, ""),
        (32, "node(s) didn't satisfy plugin(s) [{plugins}]"),
    ),
    "volume_node_conflict": (
        (23, "node(s) had volume node affinity conflict"),
        (33, "node(s) didn't match PersistentVolume's node affinity"),
    ),
    "volume_bind_timeout": ((23, "timed out waiting for the condition"), (28, "context deadline exceeded")),
    "read_write_once_pod": (
        (23, "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"),
        (
            34,
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod",
        ),
    ),
    # from 1.35.0 on, and in 1.34 from its second patch on (kubernetes/kubernetes #134740, cherry-picked in #135023);
    # 1.34 here is 1.34.1, which still names the taint
    "untolerated_taint": (
        (23, "node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate"),
        (24, "node(s) had untolerated taint {{{key}: {value}}}"),
        (35, "node(s) had untolerated taint(s)"),
    ),
}
"""The messages whose wording changed between releases."""
