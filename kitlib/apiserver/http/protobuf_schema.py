"""The messages that clients send in protobuf, field by field: numbers and types of the API's wire format.

A field reads `name=NUMBER TYPE`. Types: `s` text, `b` bytes, `i` whole number, `t` truth value, or a message's name;
`*` behind it = repeated, `{…}` = a map of that type, `^` = the message's fields stand in its parent (inlined in JSON),
`-` = zero is written for no number.

Source: field numbers of k8s.io/api and k8s.io/apimachinery generated.proto (facts of the wire format).
"""

from __future__ import annotations

MESSAGES: dict[str, str] = {
    "Time": "seconds=1 i; nanos=2 i",
    "Quantity": "string=1 s",
    "IntOrString": "type=1 i; intVal=2 i; strVal=3 s",
    "ObjectMeta": (
        "name=1 s; generateName=2 s; namespace=3 s; uid=5 s; resourceVersion=6 s; generation=7 i-; "
        "creationTimestamp=8 Time; deletionTimestamp=9 Time; deletionGracePeriodSeconds=10 i; labels=11 {s}; "
        "annotations=12 {s}; ownerReferences=13 OwnerReference*; finalizers=14 s*"
    ),
    "OwnerReference": "kind=1 s; name=3 s; uid=4 s; apiVersion=5 s; controller=6 t; blockOwnerDeletion=7 t",
    "LabelSelector": "matchLabels=1 {s}; matchExpressions=2 LabelSelectorRequirement*",
    "LabelSelectorRequirement": "key=1 s; operator=2 s; values=3 s*",
    "ObjectReference": "kind=1 s; namespace=2 s; name=3 s; uid=4 s; apiVersion=5 s; resourceVersion=6 s; fieldPath=7 s",
    "LocalObjectReference": "name=1 s",
    "DeleteOptions": (
        "gracePeriodSeconds=1 i; preconditions=2 Preconditions; orphanDependents=3 t; "
        "propagationPolicy=4 s; dryRun=5 s*"
    ),
    "Preconditions": "uid=1 s; resourceVersion=2 s",
    # core/v1
    "Namespace": "metadata=1 ObjectMeta; spec=2 NamespaceSpec",
    "NamespaceSpec": "finalizers=1 s*",
    "ConfigMap": "metadata=1 ObjectMeta; data=2 {s}; binaryData=3 {b}; immutable=4 t",
    "Secret": "metadata=1 ObjectMeta; data=2 {b}; type=3 s; stringData=4 {s}; immutable=5 t",
    "ServiceAccount": (
        "metadata=1 ObjectMeta; secrets=2 ObjectReference*; imagePullSecrets=3 LocalObjectReference*; "
        "automountServiceAccountToken=4 t"
    ),
    "Service": "metadata=1 ObjectMeta; spec=2 ServiceSpec",
    "ServiceSpec": (
        "ports=1 ServicePort*; selector=2 {s}; clusterIP=3 s; type=4 s; externalIPs=5 s*; sessionAffinity=7 s; "
        "loadBalancerIP=8 s; loadBalancerSourceRanges=9 s*; externalName=10 s; externalTrafficPolicy=11 s; "
        "publishNotReadyAddresses=13 t; ipFamilyPolicy=17 s; clusterIPs=18 s*; ipFamilies=19 s*"
    ),
    "ServicePort": "name=1 s; protocol=2 s; port=3 i; targetPort=4 IntOrString; nodePort=5 i; appProtocol=6 s",
    "ResourceQuota": "metadata=1 ObjectMeta; spec=2 ResourceQuotaSpec",
    "ResourceQuotaSpec": "hard=1 {Quantity}; scopes=2 s*",
    "Binding": "metadata=1 ObjectMeta; target=2 ObjectReference",
    "Event": (
        "metadata=1 ObjectMeta; involvedObject=2 ObjectReference; reason=3 s; message=4 s; source=5 EventSource; "
        "firstTimestamp=6 Time; lastTimestamp=7 Time; count=8 i; type=9 s; eventTime=10 Time; action=12 s; "
        "related=13 ObjectReference; reportingComponent=14 s; reportingInstance=15 s"
    ),
    "EventSource": "component=1 s; host=2 s",
    "Pod": "metadata=1 ObjectMeta; spec=2 PodSpec",
    "PodTemplateSpec": "metadata=1 ObjectMeta; spec=2 PodSpec",
    "PodSpec": (
        "volumes=1 Volume*; containers=2 Container*; restartPolicy=3 s; terminationGracePeriodSeconds=4 i; "
        "activeDeadlineSeconds=5 i; dnsPolicy=6 s; nodeSelector=7 {s}; serviceAccountName=8 s; serviceAccount=9 s; "
        "nodeName=10 s; hostNetwork=11 t; hostPID=12 t; hostIPC=13 t; imagePullSecrets=15 LocalObjectReference*; "
        "hostname=16 s; subdomain=17 s; schedulerName=19 s; initContainers=20 Container*; "
        "automountServiceAccountToken=21 t; tolerations=22 Toleration*; priorityClassName=24 s; priority=25 i; "
        "shareProcessNamespace=27 t; runtimeClassName=29 s; enableServiceLinks=30 t; preemptionPolicy=31 s; "
        "overhead=32 {Quantity}"
    ),
    "Volume": "name=1 s; volumeSource=2 VolumeSource^",
    "VolumeSource": "hostPath=1 HostPath; emptyDir=2 EmptyDir; secret=6 SecretVolume; configMap=19 ConfigMapVolume",
    "HostPath": "path=1 s; type=2 s",
    "EmptyDir": "medium=1 s; sizeLimit=2 Quantity",
    "SecretVolume": "secretName=1 s",
    "ConfigMapVolume": "localObjectReference=1 LocalObjectReference^",
    "Container": (
        "name=1 s; image=2 s; command=3 s*; args=4 s*; workingDir=5 s; ports=6 ContainerPort*; env=7 EnvVar*; "
        "resources=8 ResourceRequirements; volumeMounts=9 VolumeMount*; terminationMessagePath=13 s; "
        "imagePullPolicy=14 s; securityContext=15 SecurityContext; stdin=16 t; stdinOnce=17 t; tty=18 t; "
        "terminationMessagePolicy=20 s; restartPolicy=24 s"
    ),
    "ContainerPort": "name=1 s; hostPort=2 i; containerPort=3 i; protocol=4 s; hostIP=5 s",
    "EnvVar": "name=1 s; value=2 s",
    "ResourceRequirements": "limits=1 {Quantity}; requests=2 {Quantity}",
    "VolumeMount": "name=1 s; readOnly=2 t; mountPath=3 s; subPath=4 s",
    "SecurityContext": (
        "capabilities=1 Capabilities; privileged=2 t; runAsUser=4 i; runAsNonRoot=5 t; readOnlyRootFilesystem=6 t; "
        "allowPrivilegeEscalation=7 t; runAsGroup=8 i"
    ),
    "Capabilities": "add=1 s*; drop=2 s*",
    "Toleration": "key=1 s; operator=2 s; value=3 s; effect=4 s; tolerationSeconds=5 i",
    # apps/v1, batch/v1
    "Deployment": "metadata=1 ObjectMeta; spec=2 DeploymentSpec",
    "DeploymentSpec": (
        "replicas=1 i; selector=2 LabelSelector; template=3 PodTemplateSpec; strategy=4 DeploymentStrategy; "
        "minReadySeconds=5 i; revisionHistoryLimit=6 i; paused=7 t; progressDeadlineSeconds=9 i"
    ),
    "DeploymentStrategy": "type=1 s; rollingUpdate=2 RollingUpdate",
    "RollingUpdate": "maxUnavailable=1 IntOrString; maxSurge=2 IntOrString",
    "Job": "metadata=1 ObjectMeta; spec=2 JobSpec",
    "JobSpec": (
        "parallelism=1 i; completions=2 i; activeDeadlineSeconds=3 i; selector=4 LabelSelector; manualSelector=5 t; "
        "template=6 PodTemplateSpec; backoffLimit=7 i; ttlSecondsAfterFinished=8 i; completionMode=9 s; suspend=10 t"
    ),
    "CronJob": "metadata=1 ObjectMeta; spec=2 CronJobSpec",
    "CronJobSpec": (
        "schedule=1 s; startingDeadlineSeconds=2 i; concurrencyPolicy=3 s; suspend=4 t; jobTemplate=5 JobTemplateSpec; "
        "successfulJobsHistoryLimit=6 i; failedJobsHistoryLimit=7 i; timeZone=8 s"
    ),
    "JobTemplateSpec": "metadata=1 ObjectMeta; spec=2 JobSpec",
    # autoscaling/v2
    "HorizontalPodAutoscaler": "metadata=1 ObjectMeta; spec=2 HorizontalPodAutoscalerSpec",
    "HorizontalPodAutoscalerSpec": (
        "scaleTargetRef=1 CrossVersionObjectReference; minReplicas=2 i; maxReplicas=3 i; metrics=4 MetricSpec*"
    ),
    "CrossVersionObjectReference": "kind=1 s; name=2 s; apiVersion=3 s",
    "MetricSpec": "type=1 s; resource=4 ResourceMetricSource",
    "ResourceMetricSource": "name=1 s; target=2 MetricTarget",
    "MetricTarget": "type=1 s; value=2 Quantity; averageValue=3 Quantity; averageUtilization=4 i",
    # networking.k8s.io/v1, policy/v1, scheduling.k8s.io/v1, coordination.k8s.io/v1
    "Ingress": "metadata=1 ObjectMeta; spec=2 IngressSpec",
    "IngressSpec": "defaultBackend=1 IngressBackend; tls=2 IngressTLS*; rules=3 IngressRule*; ingressClassName=4 s",
    "IngressTLS": "hosts=1 s*; secretName=2 s",
    "IngressRule": "host=1 s; ingressRuleValue=2 IngressRuleValue^",
    "IngressRuleValue": "http=1 HTTPIngressRuleValue",
    "HTTPIngressRuleValue": "paths=1 HTTPIngressPath*",
    "HTTPIngressPath": "path=1 s; backend=2 IngressBackend; pathType=3 s",
    "IngressBackend": "service=4 IngressServiceBackend",
    "IngressServiceBackend": "name=1 s; port=2 ServiceBackendPort",
    "ServiceBackendPort": "name=1 s; number=2 i",
    "PodDisruptionBudget": "metadata=1 ObjectMeta; spec=2 PodDisruptionBudgetSpec",
    "PodDisruptionBudgetSpec": (
        "minAvailable=1 IntOrString; selector=2 LabelSelector; maxUnavailable=3 IntOrString; "
        "unhealthyPodEvictionPolicy=4 s"
    ),
    "PriorityClass": "metadata=1 ObjectMeta; value=2 i; globalDefault=3 t; description=4 s; preemptionPolicy=5 s",
    "Lease": "metadata=1 ObjectMeta; spec=2 LeaseSpec",
    "LeaseSpec": (
        "holderIdentity=1 s; leaseDurationSeconds=2 i; acquireTime=3 Time; renewTime=4 Time; leaseTransitions=5 i"
    ),
    # rbac.authorization.k8s.io/v1
    "Role": "metadata=1 ObjectMeta; rules=2 PolicyRule*",
    "ClusterRole": "metadata=1 ObjectMeta; rules=2 PolicyRule*",
    "PolicyRule": "verbs=1 s*; apiGroups=2 s*; resources=3 s*; resourceNames=4 s*; nonResourceURLs=5 s*",
    "RoleBinding": "metadata=1 ObjectMeta; subjects=2 Subject*; roleRef=3 RoleRef",
    "ClusterRoleBinding": "metadata=1 ObjectMeta; subjects=2 Subject*; roleRef=3 RoleRef",
    "Subject": "kind=1 s; apiGroup=2 s; name=3 s; namespace=4 s",
    "RoleRef": "apiGroup=1 s; kind=2 s; name=3 s",
    # authorization.k8s.io/v1, authentication.k8s.io/v1
    "SelfSubjectAccessReview": "metadata=1 ObjectMeta; spec=2 SelfSubjectAccessReviewSpec",
    "SelfSubjectAccessReviewSpec": (
        "resourceAttributes=1 ResourceAttributes; nonResourceAttributes=2 NonResourceAttributes"
    ),
    "ResourceAttributes": "namespace=1 s; verb=2 s; group=3 s; version=4 s; resource=5 s; subresource=6 s; name=7 s",
    "NonResourceAttributes": "path=1 s; verb=2 s",
    "SelfSubjectRulesReview": "metadata=1 ObjectMeta; spec=2 SelfSubjectRulesReviewSpec",
    "SelfSubjectRulesReviewSpec": "namespace=1 s",
    "SelfSubjectReview": "metadata=1 ObjectMeta",
    "TokenRequest": "metadata=1 ObjectMeta; spec=2 TokenRequestSpec",
    "TokenRequestSpec": "audiences=1 s*; boundObjectRef=3 BoundObjectReference; expirationSeconds=4 i",
    "BoundObjectReference": "kind=1 s; apiVersion=2 s; name=3 s; uid=4 s",
}

REGROUPED: dict[tuple[str, str], str] = {
    ("events.k8s.io/v1", "Event"): (
        "metadata=1 ObjectMeta; eventTime=2 Time; reportingController=4 s; reportingInstance=5 s; action=6 s; "
        "reason=7 s; regarding=8 ObjectReference; related=9 ObjectReference; note=10 s; type=11 s"
    ),
}
"""Kinds that have other fields in another group."""
