"""Images that a node description declares missing: pulls fail in the runtime's words, other images start."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.node.simulated.registry import not_found
from tests.controllers.builders import workload


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("foo:none", "docker.io/library/foo:none"),
        ("foo", "docker.io/library/foo:latest"),
        ("a/b@sha256:0", "docker.io/a/b@sha256:0"),
        ("registry.example:5000/b", "registry.example:5000/b:latest"),
        ("localhost/b:1", "localhost/b:1"),
    ],
)
def test_an_error_names_the_whole_reference(image: str, name: str) -> None:
    assert f'pull and unpack image "{name}": failed to resolve reference "{name}": {name}: not found' in not_found(
        image
    )


def test_a_missing_image_keeps_a_rollout_back_until_it_is_undone() -> None:
    with Cluster.simulated({"missing_images": ["*:404"]}) as cluster:
        cluster.apply(workload("DaemonSet"))
        cluster.advance(5)
        broken = workload("DaemonSet")
        broken["spec"]["template"]["spec"]["containers"][0]["image"] = "web:404"
        cluster.apply(broken)
        cluster.advance(5)
        (pod,) = cluster.list("Pod")
        waiting = pod.status.container_statuses[0].state["waiting"]
        assert waiting["reason"] in ("ErrImagePull", "ImagePullBackOff")
        assert waiting["message"].endswith("docker.io/library/web:404: not found")
        cluster.apply(workload("DaemonSet"))
        cluster.advance(40)
        assert [pod.status.container_statuses[0].ready for pod in cluster.list("Pod")] == [True]


def test_patterns_of_missing_images_are_a_list() -> None:
    with pytest.raises(KitError, match=r"nodes\[0\].missing_images: a list of patterns"):
        Cluster.simulated([{"missing_images": "*:404"}])
