"""Jobs and their templates: numbers, completion modes, selectors, and the rules of pod failure policies."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.batch import Job, JobSpec, JobTemplateSpec
from kitlib.api.names import QUALIFIED_TEXT
from kitlib.apiserver.validation.batch import (
    validate_generated_selector,
    validate_job,
    validate_job_spec,
    validate_job_template_spec,
)
from tests.apiserver.validation.told import named, part, told

CONTAINER = {"image": "x", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
POD = {
    "restartPolicy": "Never",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "containers": [{"name": "c", **CONTAINER}],
    "initContainers": [{"name": "i", **CONTAINER}],
}
INDEXED = {"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 0}
NEGATIVE = "must be greater than or equal to 0"
MODE = "requires indexed completion mode"


def found(**spec: Any) -> list[str]:
    """Return the errors of a Job's specification in a template, without `t.spec.`."""
    made = part(JobTemplateSpec, spec={"template": {"spec": POD}, **spec})
    return [text.removeprefix("t.spec.") for text in told(validate_job_template_spec(made, "t"))]


NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_not_negative(name: str) -> None:
    """Source: validateJobSpec."""
    assert found(**{**INDEXED, name: 0}) == []
    assert found(**{**INDEXED, name: -1}) == [f"{name} Invalid {NEGATIVE}"]


def test_numbers_are_checked_in_order() -> None:
    wrong = dict.fromkeys(NUMBERS, -1)
    assert found(completionMode="Indexed", **wrong) == [f"{name} Invalid {NEGATIVE}" for name in NUMBERS]


@pytest.mark.parametrize(
    ("manager", "errors"),
    [
        ("a.b/c", []),
        ("a/" + "b" * 61, []),
        ("a/" + "b" * 62, ["managedBy TooLong may not be more than 63 bytes"]),
        ("a", ['managedBy Invalid must be a domain-prefixed path (such as "acme.io/foo")']),
        ("", ["managedBy Required"]),
    ],
)
def test_a_manager_is_a_short_path(manager: str, errors: list[str]) -> None:
    assert found(managedBy=manager) == errors


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"completionMode": "NonIndexed"}, []),
        ({"completionMode": "x"}, ['completionMode NotSupported supported values: "NonIndexed", "Indexed"']),
        ({"completionMode": "x", "backoffLimitPerIndex": 1},
         ['completionMode NotSupported supported values: "NonIndexed", "Indexed"']),
        ({"completionMode": "Indexed"}, ["completions Required when completion mode is Indexed"]),
        ({"backoffLimitPerIndex": 1}, [f"backoffLimitPerIndex Invalid {MODE}"]),
        ({"completionMode": "NonIndexed", "backoffLimitPerIndex": 0, "maxFailedIndexes": 0},
         [f"backoffLimitPerIndex Invalid {MODE}", f"maxFailedIndexes Invalid {MODE}"]),
        ({"completionMode": "Indexed", "completions": 1, "maxFailedIndexes": 1},
         ["backoffLimitPerIndex Required when maxFailedIndexes is specified"]),
        ({"successPolicy": {"rules": [{"succeededCount": 1}]}}, [f"successPolicy Invalid {MODE}"]),
        ({"completionMode": "NonIndexed", "successPolicy": {"rules": [{"succeededCount": 1}]}},
         [f"successPolicy Invalid {MODE}"]),
        ({**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}]}}, []),
        ({**INDEXED, "successPolicy": {}},
         ["successPolicy.rules Required at least one rules must be specified when the successPolicy is specified"]),
        ({"podReplacementPolicy": "Failed"}, []),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, []),
        ({"podReplacementPolicy": "x"},
         ['podReplacementPolicy NotSupported supported values: "Failed", "TerminatingOrFailed"']),
        ({"podReplacementPolicy": "Failed", "podFailurePolicy": {}}, []),
        ({"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {}},
         ['podReplacementPolicy NotSupported supported values: "Failed"']),
    ],
)  # fmt: skip
def test_modes_and_policies(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateJobSpec, validatePodReplacementPolicy."""
    assert found(**spec) == errors


@pytest.mark.parametrize(
    ("policy", "failure_policy", "error"),
    [
        ("Never", False, ""),
        ("OnFailure", False, ""),
        ("Never", True, ""),
        ("OnFailure", True, 'Invalid only "Never" is supported when podFailurePolicy is specified'),
        ("Always", False, 'Required valid values: "OnFailure", "Never"'),
        ("Always", True, 'Required valid values: "OnFailure", "Never"'),
        ("", False, 'Required valid values: "OnFailure", "Never"'),
        ("x", False, 'NotSupported supported values: "OnFailure", "Never"'),
    ],
)
def test_pods_of_a_job_end(policy: str, failure_policy: bool, error: str) -> None:
    rules: dict[str, Any] = {"podFailurePolicy": {}} if failure_policy else {}
    errors = found(template={"spec": {**POD, "restartPolicy": policy}}, **rules)
    assert errors[-1:] == ([f"template.spec.restartPolicy {error}"] if error else [])


def test_the_template_is_checked_before_its_restart_policy() -> None:
    errors = found(template={"spec": {**POD, "restartPolicy": "Always", "containers": []}})
    assert errors == [
        "template.spec.containers Required",
        'template.spec.restartPolicy Required valid values: "OnFailure", "Never"',
    ]


CONDITION = {"type": "A", "status": "True"}
CODES = {"operator": "In", "values": [1]}
ONE = "Invalid specifying one of OnExitCodes and OnPodConditions is required"


def failures(*rules: dict[str, Any], **spec: Any) -> list[str]:
    errors = found(podFailurePolicy={"rules": list(rules)}, **spec)
    return [text.removeprefix("podFailurePolicy.rules") for text in errors]


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        ({"action": "Ignore", "onExitCodes": CODES}, []),
        ({"action": "Count", "onPodConditions": [CONDITION]}, []),
        ({"action": "FailJob", "onExitCodes": CODES}, []),
        ({"action": "", "onExitCodes": CODES},
         ['.action Required valid values: ["Count" "FailIndex" "FailJob" "Ignore"]']),
        ({"action": "x", "onExitCodes": CODES},
         ['.action NotSupported supported values: "Count", "FailIndex", "FailJob", "Ignore"']),
        ({"action": "FailIndex", "onExitCodes": CODES},
         [".action Invalid requires the backoffLimitPerIndex to be set"]),
        ({"action": "Count"}, [f" {ONE}"]),
        ({"action": "Count", "onExitCodes": CODES, "onPodConditions": [CONDITION]},
         [" Invalid specifying both OnExitCodes and OnPodConditions is not supported"]),
        ({"action": "Count", "onPodConditions": [CONDITION, {"type": "A B", "status": ""}]},
         [f".onPodConditions[1].type Invalid name part {QUALIFIED_TEXT}",
          '.onPodConditions[1].status Required valid values: ["False" "True" "Unknown"]']),
        ({"action": "Count", "onPodConditions": [{"type": "A", "status": "true"}]},
         ['.onPodConditions[0].status NotSupported supported values: "False", "True", "Unknown"']),
        ({"action": "Count", "onPodConditions": [CONDITION] * 20}, []),
        ({"action": "Count", "onPodConditions": [CONDITION] * 21},
         [".onPodConditions TooMany must have at most 20 items"]),
    ],
)  # fmt: skip
def test_a_rule_of_a_failure_policy(rule: dict[str, Any], errors: list[str]) -> None:
    """Source: validatePodFailurePolicyRule."""
    assert failures(rule) == [f"[0]{text}" for text in errors]


def test_an_index_fails_only_where_indexes_are_counted() -> None:
    assert failures({"action": "FailIndex", "onExitCodes": CODES}, **INDEXED) == []


def test_a_policy_has_few_rules() -> None:
    rule = {"action": "Ignore", "onPodConditions": [CONDITION]}
    assert failures(*[rule] * 20) == []
    assert failures(*[rule] * 20, {"action": "Ignore"}) == [
        " TooMany must have at most 20 items",
        f"[20] {ONE}",
    ]


OPERATORS = '["In" "NotIn"]'
NO_NAME = "must be one of the container or initContainer names in the pod template"


@pytest.mark.parametrize(
    ("codes", "errors"),
    [
        ({"operator": "NotIn", "values": [0, 1]}, []),
        ({"operator": "In", "values": [0, 1]}, ["values[0] Invalid must not be 0 for the In operator"]),
        ({"operator": "", "values": [0]}, [f"operator Required valid values: {OPERATORS}"]),
        ({"operator": "x", "values": [0]}, ['operator NotSupported supported values: "In", "NotIn"']),
        ({"operator": "In", "values": []}, ["values Invalid at least one value is required"]),
        ({"operator": "In", "values": list(range(1, 256))}, []),
        ({"operator": "NotIn", "values": list(range(256))}, ["values TooMany must have at most 255 items"]),
        ({"operator": "In", "values": [1, 1]}, ["values[1] Duplicate"]),
        ({"operator": "In", "values": [2, 1]}, ["values Invalid must be ordered"]),
        ({"operator": "In", "values": [1, 3, 0, 3]},
         ["values[2] Invalid must not be 0 for the In operator", "values[3] Duplicate",
          "values Invalid must be ordered"]),
        ({**CODES, "containerName": "c"}, []),
        ({**CODES, "containerName": "i"}, []),
        ({**CODES, "containerName": "d"}, [f"containerName Invalid {NO_NAME}"]),
        ({"containerName": ""},
         [f"operator Required valid values: {OPERATORS}", f"containerName Invalid {NO_NAME}",
          "values Invalid at least one value is required"]),
    ],
)  # fmt: skip
def test_exit_codes(codes: dict[str, Any], errors: list[str]) -> None:
    """Source: validatePodFailurePolicyRuleOnExitCodes."""
    assert failures({"action": "Count", "onExitCodes": codes}) == [f"[0].onExitCodes.{text}" for text in errors]


def test_messages_show_no_value_of_a_rule() -> None:
    made = part(JobTemplateSpec, spec={"template": {"spec": POD}, "podFailurePolicy": {"rules": [{"action": "Count"}]}})
    assert [str(error) for error in validate_job_template_spec(made, "t")] == [
        "t.spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
    ]


def test_a_template_leaves_the_selector_to_the_server() -> None:
    """Source: ValidateJobTemplateSpec."""
    assert found(manualSelector=False) == []
    assert found(manualSelector=True, selector={"matchLabels": {"a": "b"}}) == [
        "selector Invalid `selector` will be auto-generated",
        'manualSelector NotSupported supported values: "nil", "false"',
    ]


LABELS = {
    "controller-uid": "u",
    "job-name": "j",
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
}
LABEL = "spec.template.metadata.labels"


def job(labels: dict[str, str], selector: dict[str, Any] | None, uid: str = "u", name: str = "j", **spec: Any) -> Job:
    template = {"metadata": {"labels": labels}, "spec": POD}
    data = {"template": template, **({} if selector is None else {"selector": selector}), **spec}
    return named(Job, name, "n", metadata={"uid": uid}, spec=data)


@pytest.mark.parametrize("label", LABELS)
def test_a_generated_selector_selects_a_generated_label(label: str) -> None:
    """Source: validateGeneratedSelector."""
    assert told(validate_generated_selector(job(LABELS, {"matchLabels": {label: LABELS[label]}}))) == []
    wrong = "spec.selector Invalid `selector` not auto-generated"
    assert told(validate_generated_selector(job(LABELS, {"matchLabels": {label: "x"}}))) == [wrong]
    without = {key: value for key, value in LABELS.items() if key != label}
    assert told(validate_generated_selector(job(without, {}))) == [
        f"{LABEL}[{label}] Required must be '{LABELS[label]}'"
    ]
    other = job({**LABELS, label: "x"}, {})
    assert told(validate_generated_selector(other)) == [f"{LABEL}[{label}] Invalid must be '{LABELS[label]}'"]


def test_generated_labels_are_asked_for_in_order() -> None:
    wrong = told(validate_generated_selector(job({}, {"matchLabels": {"a": "b"}}, "")))
    assert wrong == [
        "metadata.uid Required",
        f"{LABEL}[controller-uid] Required must be ''",
        f"{LABEL}[job-name] Required must be 'j'",
        f"{LABEL}[batch.kubernetes.io/controller-uid] Required must be ''",
        f"{LABEL}[batch.kubernetes.io/job-name] Required must be 'j'",
        "spec.selector Invalid `selector` not auto-generated",
    ]


def test_only_a_generated_selector_needs_generated_labels() -> None:
    assert told(validate_generated_selector(job({}, None))) == []
    assert told(validate_generated_selector(job({}, {"matchLabels": {"a": "b"}}, manualSelector=True))) == []
    assert told(validate_generated_selector(job(LABELS, {"matchLabels": {"a": "b"}}, manualSelector=False))) != []
    unreadable = {"matchExpressions": [{"key": "a", "operator": "x"}]}
    assert told(validate_generated_selector(job(LABELS, unreadable))) == []


@pytest.mark.parametrize(
    ("selector", "labels", "errors"),
    [
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, []),
        ({}, {}, []),
        ({"matchLabels": {"a": "b"}}, {"a": "c"},
         ['s.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`']),
        ({"matchLabels": {"a": "b"}}, {},
         ["s.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"]),
        ({"matchExpressions": [{"key": "a", "operator": "x"}]}, {},
         ['s.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator']),
    ],
)  # fmt: skip
def test_the_selector_matches_the_template(selector: Any, labels: dict[str, str], errors: list[str]) -> None:
    """Source: ValidateJobSpec."""
    made = part(JobSpec, selector=selector, template={"metadata": {"labels": labels}, "spec": POD})
    assert [str(error) for error in validate_job_spec(made, "s")] == errors


def test_a_job_as_a_whole() -> None:
    """Source: ValidateJob."""
    assert told(validate_job(job(LABELS, {"matchLabels": {"job-name": "j"}}))) == []
    name = "a" * 62
    labels = {key: "" if "uid" in key else name for key in LABELS}
    indexed = {"completionMode": "Indexed", "completions": 1, "parallelism": -1}
    made = job(labels, {"matchLabels": {"job-name": name}}, "", name, **indexed)
    made.metadata.namespace = ""
    assert told(validate_job(made)) == [
        "metadata.namespace Required",
        "metadata.uid Required",
        f"spec.parallelism Invalid {NEGATIVE}",
        f"metadata.name Invalid will not able to create pod with invalid DNS label: {name}-0",
    ]
