"""Every kind: what may not change, what cannot be decoded, what is warned of, and that nothing breaks validation."""

import copy
import gzip
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Invalid, KitError, ManifestError, as_kubectl_prints
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.validation import validate, validate_pod_create
from kitlib.apiserver.validation.warnings.kinds import warnings_of

VECTORS = Path(__file__).parents[1] / "vectors"
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "c", "image": "img"}]},
}
SELECTOR = {"matchLabels": {"app": "a"}}
ODD = [
    None, "", 0, -1, 1.5, True, [], {}, [None], {"": None}, "x" * 300, 2**31, 2**70, -(2**40), ["a"], [{}], [[]],
    {"a": {"b": []}}, "1Gi", "half", "200%", "..", "1.2.3.4", "::", "2020-01-01T00:00:00Z",
]  # fmt: skip


def manifest(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **copy.deepcopy(fields)}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    return manifest("apps/v1", kind, spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


def job(**spec: Any) -> dict[str, Any]:
    pod = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    return manifest("batch/v1", "Job", spec={"template": pod, **spec})


CLAIM = manifest(
    "v1",
    "PersistentVolumeClaim",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
)
CLASS = manifest("storage.k8s.io/v1", "StorageClass", provisioner="example.com/p", parameters={"a": "b"})
RULES = manifest(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
)


def at(data: Any, path: str, value: Any) -> dict[str, Any]:
    """The data with one field changed."""
    changed = copy.deepcopy(data)
    place, *rest = path.split("/")
    here = changed
    for step in rest:
        here = here[int(place)] if isinstance(here, list) else here.setdefault(place, {})
        place = step
    here[int(place) if isinstance(here, list) else place] = value
    return dict(changed)


@pytest.mark.parametrize(
    ("made", "path", "value", "words"),
    [
        (workload("Deployment"), "spec/selector/matchLabels", {"app": "a", "b": "c"}, "does not match template"),
        (workload("Deployment"), "spec/selector/matchLabels", {}, "field is immutable"),
        (workload("DaemonSet"), "spec/selector", {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
         "field is immutable"),
        (workload("StatefulSet", serviceName="s"), "spec/serviceName", "t",
         "spec: Forbidden: updates to statefulset spec for fields other than"),
        (job(), "spec/completions", 3, "spec.completions: Invalid value: 3: field is immutable"),
        (job(), "spec/template/spec/containers/0/image", "other", "spec.template: Invalid value"),
        (CLAIM, "spec/accessModes", ["ReadWriteMany"], "spec: Forbidden: spec is immutable after creation"),
        (CLASS, "parameters", {"a": "c"}, "parameters: Forbidden: updates to parameters are forbidden."),
        (CLASS, "provisioner", "example.com/q", "provisioner: Forbidden: updates to provisioner are forbidden."),
        (RULES, "roleRef/name", "s", "roleRef: Invalid value"),
        (manifest("scheduling.k8s.io/v1", "PriorityClass", value=5), "value", 6,
         "value: Forbidden: may not be changed in an update."),
        (manifest("v1", "Secret", immutable=True, data={"k": "dg=="}), "data", {"k": "dm8="},
         "data: Forbidden: field is immutable when `immutable` is set"),
        (manifest("v1", "ConfigMap", immutable=True, data={"k": "v"}), "immutable", False,
         "immutable: Forbidden: field is immutable when `immutable` is set"),
        (manifest("v1", "Secret", data={"k": "dg=="}), "type", "kubernetes.io/other", "type: Invalid value"),
        (manifest("v1", "Pod", spec=TEMPLATE["spec"]), "spec/restartPolicy", "Never",
         "pod updates may not change fields other than"),
    ],
)  # fmt: skip
def test_what_may_not_be_changed_is_refused_with_its_words(
    made: dict[str, Any], path: str, value: Any, words: str
) -> None:
    api = APIServer()
    stored = to_dict(api.create(from_dict(made)))
    with pytest.raises(Invalid) as refused:
        api.update(from_dict(at(stored, path, value)))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("made", "path", "value", "cause"),
    [
        (workload("Deployment"), "spec/replicas", "3",
         "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (workload("Deployment"), "spec/template/spec/containers/0/imagePull", "Always",
         'strict decoding error: unknown field "spec.template.spec.containers[0].imagePull"'),
        (workload("Deployment"), "spec/template/spec/containers/0/resources", {"limits": {"cpu": "1x"}},
         "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        (manifest("v1", "Secret"), "data", {"k": "!"}, "illegal base64 data at input byte 0"),
        (workload("Deployment"), "spec/strategy", {"rollingUpdate": {"maxSurge": True}},
         "json: cannot unmarshal bool into Go struct field "
         "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"),
        (manifest("v1", "Service"), "spec", {"ports": [{"port": 80, "targetPort": 2**31}]},
         "json: cannot unmarshal number 2147483648 into Go struct field ServicePort.spec.ports.targetPort "
         "of type int32"),
        (manifest("v1", "Secret"), "data", {"k": ["a"]},
         "json: cannot unmarshal string into Go struct field Secret.data of type uint8"),
        (manifest("autoscaling/v1", "HorizontalPodAutoscaler"), "spec", {"scaleTargetRef": "x"},
         "json: cannot unmarshal string into Go struct field HorizontalPodAutoscalerSpec.spec.scaleTargetRef "
         "of type v1.CrossVersionObjectReference"),
        (manifest("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"), "spec", {"rules": [{"subjects": [{"kind": 1}]}]},
         "json: cannot unmarshal number into Go struct field Subject.spec.rules.subjects.kind of type v1.SubjectKind"),
        (manifest("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"), "spec",
         {"rules": [{"subjects": [{"user": {"name": []}}]}]},
         "json: cannot unmarshal array into Go struct field UserSubject.spec.rules.subjects.user.name of type string"),
        (RULES, "roleRef/kind", 1, "json: cannot unmarshal number into Go struct field RoleRef.roleRef.kind "
         "of type string"),
        (manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "webhooks",
         [{"rules": [{"operations": [1]}]}],
         "json: cannot unmarshal number into Go struct field RuleWithOperations.webhooks.rules.operations "
         "of type v1.OperationType"),
        (manifest("coordination.k8s.io/v1", "Lease"), "spec", {"renewTime": 5},
         "json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string"),
    ],
)  # fmt: skip
def test_what_cannot_be_decoded_is_said_as_the_server_says_it(
    made: dict[str, Any], path: str, value: Any, cause: str
) -> None:
    with pytest.raises(ManifestError) as refused:
        from_dict(at(made, path, value), strict=True)
    assert refused.value.cause == cause
    head = f'{made["kind"]} in version "v1" cannot be handled as a {made["kind"]}: '
    assert as_kubectl_prints(refused.value) == f"Error from server (BadRequest): {head}{cause}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("e30=", ""),
        ("eyJhIg==", "unexpected end of JSON input"),
        ("eyJhIjp9", "invalid character '}' looking for beginning of value"),
        ("eyJhIg0KInM=", "invalid character '\"' after object key"),
        ("WzFd", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_the_settings_of_a_registry_are_json(content: str, problem: str) -> None:
    """Source: ValidateSecret, which shows json.Unmarshal's error and not the content."""
    made = manifest("v1", "Secret", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": content})
    made["metadata"]["namespace"] = "default"
    found = [str(error) for error in validate(set_defaults(from_dict(made)))]
    shown = f'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": {problem}'
    assert found == ([shown] if problem else [])


@pytest.mark.parametrize(("spec", "warned"), [({}, True), ({"ingressClassName": "c"}, False)])
def test_the_older_class_of_an_ingress_is_warned_of_where_it_stands_alone(spec: dict[str, Any], warned: bool) -> None:
    """Source: ingressStrategy.WarningsOnCreate."""
    made = manifest("networking.k8s.io/v1", "Ingress", spec=spec)
    made["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "c"}
    assert bool(warnings_of(from_dict(made))) is warned


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (workload("Deployment", strategy={"type": "Rolling", "rollingUpdate": {"maxSurge": "10%"}}),
         'spec.strategy: Unsupported value: {"Type":"Rolling","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"10%"}}: '
         'supported values: "Recreate", "RollingUpdate"'),
        (workload("DaemonSet", updateStrategy={"type": "Rolling", "rollingUpdate": {"maxUnavailable": 2}}),
         'spec.updateStrategy: Unsupported value: {"Type":"Rolling","RollingUpdate":{"MaxUnavailable":2,"MaxSurge":0}}:'
         ' supported values: "RollingUpdate", "OnDelete"'),
        (workload("StatefulSet", updateStrategy={"type": "Rolling", "rollingUpdate": {}}),
         'spec.updateStrategy: Invalid value: {"Type":"Rolling","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}:'
         " must be 'RollingUpdate' or 'OnDelete'"),
        (workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "2"}}),
         'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "2": a valid percent string must be a numeric '
         "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"),
    ],
)  # fmt: skip
def test_strategies_are_shown_as_the_server_holds_them(made: dict[str, Any], expected: str) -> None:
    """Source: apps.DeploymentStrategy and its kin, whose numbers are no pointers; getIntOrPercentValue."""
    made["metadata"]["namespace"] = "default"
    assert [str(error) for error in validate(set_defaults(from_dict(made)))] == [expected]


def test_conditions_of_a_failure_policy_hold_where_nothing_is_said() -> None:
    """Source: SetDefaults_PodFailurePolicyOnPodConditionsPattern, of Jobs and of what CronJobs make."""
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    spec = job(podFailurePolicy={"rules": rules})["spec"]
    made = manifest("batch/v1", "CronJob", spec={"schedule": "* * * * *", "jobTemplate": {"spec": spec}})
    stored = to_dict(APIServer().create(from_dict(made)))["spec"]["jobTemplate"]["spec"]
    assert stored["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


def test_kubectl_lists_several_causes_one_a_line() -> None:
    bad = at(at(workload("Deployment"), "spec/replicas", -1), "spec/minReadySeconds", -1)
    with pytest.raises(Invalid) as refused:
        APIServer().create(from_dict(bad))
    first, *causes = as_kubectl_prints(refused.value).splitlines()
    assert first == 'The Deployment "x" is invalid: '
    assert [cause.split(":")[0] for cause in causes] == ["* spec.replicas", "* spec.minReadySeconds"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("securityContext", {"runAsUser": -1}, "must be between 0 and 2147483647, inclusive"),
        ("securityContext", {"runAsUser": 2**31}, "must be between 0 and 2147483647, inclusive"),
        ("containers/0/securityContext", {"runAsGroup": 2**31}, "must be between 0 and 2147483647, inclusive"),
    ],
)
def test_numeric_users_and_groups_are_those_of_linux(path: str, value: dict[str, Any], words: str) -> None:
    made = manifest("v1", "Pod", spec=at(TEMPLATE["spec"], path, value))
    made["metadata"]["namespace"] = "default"
    assert [error.detail for error in validate(set_defaults(from_dict(made)))] == [words]


def test_deprecated_and_doubtful_fields_are_warned_of() -> None:
    spec = at(TEMPLATE["spec"], "nodeSelector", {"beta.kubernetes.io/os": "linux"})
    spec["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert warnings_of(from_dict(manifest("v1", "Pod", spec=spec))) == [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ]


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [before] if before else []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += paths(value[key], (*before, key))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_value_anywhere_is_refused_in_words_or_accepted(seed: int) -> None:
    chance = random.Random(seed)
    with gzip.open(VECTORS / "live_manifests.jsonl.gz", "rt") as lines:
        cases = [case["manifest"] for case in map(json.loads, lines) if case["accepted"]]
    accepted = 0
    for _ in range(150):
        here = made = copy.deepcopy(chance.choice(cases))
        *before, last = chance.choice([path for path in paths(made) if path[0] not in ("apiVersion", "kind")])
        for step in before:
            here = here[step]
        here[last] = copy.deepcopy(chance.choice(ODD))
        try:
            obj = from_dict(made, strict=True)
            warnings_of(obj)
            APIServer().create(obj)
            accepted += 1
        except KitError as error:
            assert str(error) and as_kubectl_prints(error)
    assert accepted


@pytest.mark.speed
def test_a_thousand_pods_are_validated_in_well_under_a_second() -> None:
    pods = [set_defaults(from_dict(manifest("v1", "Pod", spec=TEMPLATE["spec"]), None)) for _ in range(1000)]
    assert all(isinstance(pod, Pod) for pod in pods)
    started = time.perf_counter()
    for pod in pods:
        pod.metadata.namespace = "default"
        assert not validate_pod_create(pod)
    assert time.perf_counter() - started < 1


def test_a_notebook_shows_what_the_server_refuses_as_kubectl_does() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shown: list[str] = []
    shell._showtraceback = lambda kind, value, text: shown.extend(text)
    shell.run_cell("from kitlib.cluster import Cluster; Cluster.simulated([{}]).get('Pod', 'web')")
    InteractiveShell.clear_instance()
    assert shown == ['Error from server (NotFound): pods "web" not found']
