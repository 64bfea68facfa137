"""ImageLocality: the score of images that are on a node, scaled by how many nodes have them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node
from kitlib.api.serialize import from_dict
from kitlib.scheduler.plugins.image_locality import MB, ImageLocality, normalized
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import pod_of


def scores(has: list[dict[str, int]], *images: str) -> list[int]:
    """Return the score of each node, which has these images of so many megabytes."""
    nodes = []
    for number, sizes in enumerate(has):
        images_there = [{"names": [name], "sizeBytes": size * MB} for name, size in sizes.items()]
        data = {"metadata": {"name": f"n{number}"}, "status": {"allocatable": {"pods": "9"}, "images": images_there}}
        nodes.append(from_dict(data, Node))
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    found = Scheduler(nodes, release="1.36").explain(pod_of({"name": "p", "spec": {"containers": containers}})).scores
    assert found is not None
    points: list[int] = found.raw[ImageLocality.name].tolist()
    return points


@pytest.mark.parametrize(
    ("has", "images", "expected"),
    [
        # 100 * (511.5 - 23) / 977; half of the nodes have it, so half of its size counts
        ([{"a:1": 1023}, {}], ["a:1"], [50, 0]),
        ([{"a:1": 1023}, {"a:1": 1023}], ["a:1"], [100, 100]),
        ([{"a:1": 46}, {}], ["a:1"], [0, 0]),
        ([{"a:latest": 2000}, {}], ["a"], [100, 0]),
        ([{"a:2": 2000}, {}], ["a"], [0, 0]),
        # with two containers 2000 MB are needed: 100 * (1000 - 23) / 1977
        ([{"a:1": 2000}, {}], ["a:1", "b:1"], [49, 0]),
    ],
    ids=["half", "everywhere", "below 23 MB", "latest", "another tag", "two containers"],
)
def test_the_larger_the_image_on_the_node_the_better(has: Any, images: list[str], expected: list[int]) -> None:
    """Source: imagelocality calculatePriority, scaledImageScore."""
    assert scores(has, *images) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [("a", "a:latest"), ("a:1", "a:1"), ("host:5000/a", "host:5000/a:latest"), ("h:1/a:2", "h:1/a:2")],
)
def test_an_image_without_a_tag_is_latest(image: str, expected: str) -> None:
    """Source: imagelocality normalizedImageName."""
    assert normalized(image) == expected
