"""Tests of image names and the resulting pull policy, by the rules of distribution/reference and ParseImageName."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.image_reference import default_pull_policy, parse_image_name
from kitlib.api.serialize import from_dict

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("image", "parts", "policy"),
    [
        ("nginx", ("docker.io/library/nginx", "latest", ""), "Always"),
        ("nginx:1.27", ("docker.io/library/nginx", "1.27", ""), "IfNotPresent"),
        ("nginx:latest", ("docker.io/library/nginx", "latest", ""), "Always"),
        ("polinux/stress", ("docker.io/polinux/stress", "latest", ""), "Always"),
        ("localhost:5000", ("docker.io/library/localhost", "5000", ""), "IfNotPresent"),
        ("localhost:5000/app", ("localhost:5000/app", "latest", ""), "Always"),
        ("registry.example/a/b:1", ("registry.example/a/b", "1", ""), "IfNotPresent"),
        ("index.docker.io/nginx:2", ("docker.io/library/nginx", "2", ""), "IfNotPresent"),
        (f"nginx@{DIGEST}", ("docker.io/library/nginx", "", DIGEST), "IfNotPresent"),
        (f"nginx:latest@{DIGEST}", ("docker.io/library/nginx", "latest", DIGEST), "Always"),
        (f"nginx:1@{DIGEST}", ("docker.io/library/nginx", "1", DIGEST), "IfNotPresent"),
        # what is no valid name has no tag
        ("Nginx", None, "IfNotPresent"),
        ("nginx:", None, "IfNotPresent"),
        ("nginx@sha256:12", None, "IfNotPresent"),
        ("nginx@md5:" + "0a" * 16, None, "IfNotPresent"),
        ("a//b", None, "IfNotPresent"),
        ("0a" * 32, None, "IfNotPresent"),
        ("", None, "IfNotPresent"),
    ],
)
def test_parts_and_policy(image: str, parts: tuple[str, str, str] | None, policy: str) -> None:
    assert parse_image_name(image) == parts
    assert default_pull_policy(image) == policy
    pod = from_dict({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}}, Pod)
    assert set_defaults(pod).spec.containers[0].image_pull_policy == policy
