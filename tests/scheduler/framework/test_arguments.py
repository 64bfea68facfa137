"""Arguments of plugins are validated in kube-scheduler's words."""

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.profile import Profile


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"minCandidateNodesPercentage": 101}, "not in valid range"),
        ({"minCandidateNodesAbsolute": -1}, "not in valid range"),
        ({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}, "cannot both be zero"),
    ],
)
def test_wrong_arguments_of_preemption_are_refused(args, problem):
    with pytest.raises(KitError, match=problem):
        Profile.default(DefaultPreemption=args)


def with_arguments(plugin, **arguments):
    return Profile.from_configuration({"pluginConfig": [{"name": plugin, "args": arguments}]})


@pytest.mark.parametrize(
    ("plugin", "arguments", "message"),
    [
        (
            "PodTopologySpread",
            {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
            'pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
        ),
        (
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [{"topologyKey": "", "whenUnsatisfiable": "Never"}]},
            "[pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
            "pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can not be empty, "
            'pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported '
            'values: "DoNotSchedule", "ScheduleAnyway"]',
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            "pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Best"}},
            'pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Best": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 0}]}},
            "pluginConfig[0].args.scoringStrategy.resources[0].weight: Invalid value: 0: resource weight of cpu not in "
            "valid range (0, 100]",
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 50, "score": 0}, {"utilization": 50, "score": 9}]
                    },
                }
            },
            "pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: "
            "values must be sorted in increasing order",
        ),
        ("NodeAffinity", {"added": {}}, 'pluginConfig[0].args: strict decoding error: unknown field "added"'),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": "ten"},
            'pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: "ten": a whole number is expected',
        ),
    ],
)
def test_wrong_arguments_are_refused_with_the_schedulers_words(plugin, arguments, message):
    with pytest.raises(KitError) as caught:
        with_arguments(plugin, **arguments)
    assert str(caught.value) == message


def test_a_weight_that_is_no_number_is_refused():
    score = {"enabled": [{"name": "ImageLocality", "weight": "much"}]}
    with pytest.raises(KitError, match=r"plugins.score.enabled\[ImageLocality\].weight: Invalid value: 'much'"):
        Profile.from_configuration({"plugins": {"score": score}})
