"""The options of the CPU and topology managers' policies: what the kubelet rejects, and with which words."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.kubelet.config.options import go_map, is_on, policy_problems, static_policy_option_problems

NOW = Release("1.36")
ALPHA = NOW.with_gates({"CPUManagerPolicyAlphaOptions": True})
BAD = 'strconv.ParseBool: parsing "{}": invalid syntax'


def problems(
    cpu: dict[str, str],
    topology: dict[str, str],
    gates: Release = NOW,
    policies: tuple[str, str] = ("static", "restricted"),
) -> list[str]:
    return list(policy_problems(policies[0], cpu, policies[1], topology, gates))


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True"])
def test_the_texts_of_true(value: str) -> None:
    """Source: strconv.ParseBool."""
    assert is_on({"a": value}, "a")
    assert not is_on({"b": value}, "a")


@pytest.mark.parametrize("value", ["0", "f", "F", "FALSE", "false", "False"])
def test_the_texts_of_false(value: str) -> None:
    assert not is_on({"a": value}, "a")
    assert static_policy_option_problems({"full-pcpus-only": value}, NOW) == []


@pytest.mark.parametrize("value", ["", "yes", "tRue", "2"])
def test_other_texts_are_no_booleans(value: str) -> None:
    message = f'bad value for option "full-pcpus-only": {BAD.format(value)}'
    assert static_policy_option_problems({"full-pcpus-only": value}, NOW) == [message]
    assert not is_on({"full-pcpus-only": value}, "full-pcpus-only")


@pytest.mark.parametrize(
    ("option", "stage"),
    [
        ("full-pcpus-only", ""),
        ("strict-cpu-reservation", ""),
        ("prefer-align-cpus-by-uncorecache", ""),
        ("distribute-cpus-across-numa", "Beta"),
        ("align-by-socket", "Alpha"),
        ("distribute-cpus-across-cores", "Alpha"),
    ],
)
def test_an_option_needs_the_gate_of_its_stage(option: str, stage: str) -> None:
    """Source: cpumanager alphaOptions, betaOptions, stableOptions."""
    for name in ("Alpha", "Beta"):
        off = NOW.with_gates({f"CPUManagerPolicy{other}Options": other != name for other in ("Alpha", "Beta")})
        message = f'CPU Manager Policy {name}-level Options not enabled, but option "{option}" provided'
        assert static_policy_option_problems({option: "true"}, off) == ([message] if stage == name else [])


def test_an_unknown_option_is_named() -> None:
    assert static_policy_option_problems({"full": "true"}, ALPHA) == ['unknown CPU Manager Policy option: "full"']
    assert problems({}, {"closest": "true"}) == ['unknown Topology Manager Policy option: "closest"']


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("full-pcpus-only distribute-cpus-across-cores", "full-pcpus-only distribute-cpus-across-cores"),
        (
            "distribute-cpus-across-numa distribute-cpus-across-cores",
            "distribute-cpus-across-numa distribute-cpus-across-cores",
        ),
        (
            "prefer-align-cpus-by-uncorecache distribute-cpus-across-cores",
            "prefer-align-cpus-by-uncorecache distribute-cpus-across-cores",
        ),
        (
            "prefer-align-cpus-by-uncorecache distribute-cpus-across-numa",
            "prefer-align-cpus-by-uncorecache distribute-cpus-across-numa",
        ),
        (
            "prefer-align-cpus-by-uncorecache distribute-cpus-across-cores distribute-cpus-across-numa full-pcpus-only",
            "full-pcpus-only distribute-cpus-across-cores",
        ),
        ("full-pcpus-only distribute-cpus-across-numa align-by-socket strict-cpu-reservation", ""),
    ],
)
def test_only_the_first_pair_of_options_that_exclude_each_other_is_reported(given: str, expected: str) -> None:
    found = static_policy_option_problems(dict.fromkeys(given.split(), "true"), ALPHA)
    pair = expected.split()
    wanted = [f"static policy options {pair[0]} and {pair[1]} can not be used at the same time"] if pair else []
    assert found == wanted
    if pair:
        off = dict.fromkeys(given.split(), "true") | {pair[1]: "false"}
        assert f"static policy options {' and '.join(pair)} can not be used at the same time" not in (
            static_policy_option_problems(off, ALPHA)
        )


def test_options_need_their_policy_and_their_gate() -> None:
    cpu, topology = {"b": "1", "a": "true"}, {"prefer-closest-numa-nodes": "true"}
    assert problems(cpu, {}, policies=("none", "none")) == [
        "new none policy error: None policy: received unsupported options=map[a:true b:1]"
    ]
    assert problems({}, {}, policies=("none", "none")) == []
    # without a policy the topology manager does not read its options. Source: topologymanager.NewManager
    assert problems({}, {"closest": "?"}, policies=("none", "none")) == []
    assert problems({}, topology) == []
    old = Release("1.30").with_gates({"CPUManagerPolicyOptions": False, "TopologyManagerPolicyOptions": False})
    assert problems(cpu, topology, old) == [
        'CPU Manager policy options map[a:true b:1] require feature gates "CPUManager", '
        '"CPUManagerPolicyOptions" enabled',
        "topology manager policy options map[prefer-closest-numa-nodes:true] require feature gates "
        '"TopologyManagerPolicyOptions" enabled',
    ]
    assert problems({}, {}, old) == []


@pytest.mark.parametrize(
    ("policy", "value", "refused"),
    [("single-numa-node", "true", True), ("single-numa-node", "false", False), ("restricted", "true", False)],
)
def test_sockets_and_a_single_numa_node_exclude_each_other(policy: str, value: str, refused: bool) -> None:
    found = problems({"align-by-socket": value}, {}, ALPHA, ("static", policy))
    message = "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    assert found == ([f"new static policy error: {message}"] if refused else [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 'the minimum value of "max-allowable-numa-nodes" should not be less than 8'),
        ("8", ""),
        ("+9", ""),
        (
            "8.5",
            'unable to convert policy option to integer "max-allowable-numa-nodes": '
            'strconv.Atoi: parsing "8.5": invalid syntax',
        ),
        (
            "1_0",
            'unable to convert policy option to integer "max-allowable-numa-nodes": '
            'strconv.Atoi: parsing "1_0": invalid syntax',
        ),
    ],
)
def test_the_number_of_numa_nodes(value: str, expected: str) -> None:
    assert problems({}, {"max-allowable-numa-nodes": value}) == ([expected] if expected else [])


def test_a_map_is_printed_sorted() -> None:
    assert go_map({}) == "map[]"
    assert go_map({"b": "2", "a": "1"}) == "map[a:1 b:2]"
