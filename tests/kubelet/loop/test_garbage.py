"""Images and dead containers on a simulated node: what is removed when, and before any pod is evicted."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

GI = 2**30
IMAGES = {"app:1": "2Gi", "old:1": "3Gi", "older:1": "2Gi", "pause:3": {"size": "1Gi", "pinned": True}}


def cluster(images: dict[str, Any] | None = None, *flags: str, **machine: Any) -> SimulatedCluster:
    words = {"ephemeral_storage": "20Gi", "images": IMAGES if images is None else images, **machine}
    return Cluster.simulated([{"kubelet": [*flags], **words}])


def pod(name: str, workload: str = "", image: str = "app:1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"kitlib.dev/workload.c": workload} if workload else {}},
        "spec": {"containers": [{"name": "c", "image": image}], **spec},
    }


def there(made: SimulatedCluster) -> list[str]:
    return sorted(image.names[0] for image in made.nodes[0].status.images)


def events(made: SimulatedCluster, *reasons: str) -> list[tuple[str, str]]:
    return [(e.reason, e.message) for e in made.events() if e.reason in reasons]


def notes(made: SimulatedCluster, actor: str) -> list[str]:
    return [f"{e.action} {e.about}" for e in made.node().timeline() if e.actor == actor]


def test_an_image_is_there_or_pulled_and_the_pod_hears_of_it() -> None:
    with cluster() as made:
        made.apply(pod("web"))
        made.apply(pod("undeclared", image="nginx"))
        assert events(made, "Pulled", "Pulling") == [
            ("Pulled", 'Container image "app:1" already present on machine and can be accessed by the pod')
        ], "of an image that the node knows nothing of nothing is said"
        made.node().runtime.remove_image("old:1")
        made.apply(pod("again", image="old:1"))
        assert [reason for reason, _ in events(made, "Pulled", "Pulling")] == ["Pulled", "Pulling", "Pulled"]
        assert there(made) == ["app:1", "old:1", "older:1", "pause:3"]
    with Cluster.simulated([{"images": IMAGES}], release="1.34") as made:
        made.apply(pod("web"))
        assert events(made, "Pulled") == [("Pulled", 'Container image "app:1" already present on machine')]


def test_disk_pressure_removes_unused_images_before_it_ends_a_pod() -> None:
    with cluster() as made:
        made.apply(pod("web", "disk=5Gi"))
        made.apply(pod("writer", "150s disk=1Gi; disk=5500Mi"))  # with 8 GiB of images: less than 10% is free
        made.advance(170)
        assert there(made) == ["app:1", "pause:3"]
        assert made.pod("writer").status.phase == "Running"
        assert made.pod("web").status.phase == "Running"
        assert ("EvictionThresholdMet", "Attempting to reclaim ephemeral-storage") in events(
            made, "EvictionThresholdMet"
        )
        assert notes(made, "image GC manager") == ["removing image old:1", "removing image older:1"]
        assert any("enough without ending a pod" in e.detail for e in made.node().timeline())
        conditions = {c.type: c.status for c in made.nodes[0].status.conditions}
        assert conditions["DiskPressure"] == "True", "it stays for the transition period"


def test_where_images_are_not_enough_a_pod_goes_and_leaves_nothing_behind() -> None:
    with cluster() as made:
        made.apply(pod("web", "150s disk=1Gi; disk=17Gi"))
        made.advance(180)
        assert made.pod("web").status.reason == "Evicted"
        assert there(made) == ["app:1", "pause:3"]
        made.advance(20)
        assert not made.node().runtime.dead()
        assert made.node().runtime.signals()["nodefs.available"].available == 17 * GI


def test_a_restart_leaves_one_dead_container_and_pressure_takes_those_of_pods_that_are_over() -> None:
    with cluster({}) as made:
        made.apply(pod("job", "10s disk=9Gi exit=0", restartPolicy="Never"))
        made.apply(pod("crash", "5s disk=1Gi exit=1"))
        made.advance(60)
        assert made.pod("job").status.phase == "Succeeded"
        left = made.node().runtime.dead()
        assert sorted(one.layer // GI for one in left) == [1, 9], "of the one that restarts only the last instance"
        made.apply(pod("writer", "disk=8Gi"))
        made.advance(20)
        assert [one.layer // GI for one in made.node().runtime.dead()] == [1]
        assert made.pod("writer").status.phase == "Running"
        assert "removing dead container of default/job/c" in notes(made, "container GC")
        made.delete("pod", "crash")
        made.advance(2)
        assert not made.node().runtime.dead()


def test_a_file_system_of_their_own_for_images() -> None:
    """Logs and volumes fill the node's disk, where removing images does not help; layers fill that of the images."""
    with cluster(image_storage="10Gi") as made:
        seen = made.node().runtime.signals()
        assert (seen["nodefs.available"].available, seen["imagefs.available"].available) == (20 * GI, 2 * GI)
        made.apply(pod("web", "130s logs=1Gi; logs=19Gi"))
        made.apply(pod("layers", "disk=100Mi"))
        made.advance(160)
        assert made.pod("web").status.reason == "Evicted"
        assert "old:1" in there(made)
        made.apply(pod("more", "disk=1500Mi"))
        made.advance(330)
        assert there(made) == ["app:1", "pause:3"]
        assert made.pod("layers").status.phase == "Running"


def test_images_go_when_their_disk_is_too_full_the_longest_unused_first() -> None:
    flags = ("--image-gc-high-threshold=40", "--image-gc-low-threshold=30", "--eviction-hard=")
    with cluster(None, *flags) as made:
        made.apply(pod("web"))
        made.apply(pod("was", "30s exit=0", image="old:1", restartPolicy="Never"))
        made.advance(290)
        made.delete("pod", "was")
        assert len(there(made)) == 4
        made.advance(20)
        assert there(made) == ["app:1", "old:1", "pause:3"], "older:1 was never in use; 2 GiB are enough for 30%"
        made.advance(300)
        assert there(made) == ["app:1", "old:1", "pause:3"], "that is below the high threshold"


def test_what_cannot_be_freed_is_an_event_and_the_second_time_a_failure() -> None:
    with cluster(None, "--image-gc-high-threshold=30", "--image-gc-low-threshold=20", "--eviction-hard=") as made:
        made.apply(pod("web", "disk=5Gi"))
        made.advance(301)
        message = (
            "Insufficient free disk space on the node's image filesystem (65% of 20.0 GiB used). Failed to free "
            f"sufficient space by deleting unused images (freed {5 * GI} bytes). Investigate disk usage, as it could "
            "be used by active images, logs, volumes, or other data."
        )
        assert events(made, "FreeDiskSpaceFailed", "ImageGCFailed") == [("FreeDiskSpaceFailed", message)]
        made.advance(300)
        second = [reason for reason, _ in events(made, "FreeDiskSpaceFailed", "ImageGCFailed")]
        assert second == ["FreeDiskSpaceFailed", "FreeDiskSpaceFailed", "ImageGCFailed"]


def test_an_image_for_which_there_is_no_room_is_tried_again_until_there_is() -> None:
    with cluster({"big:1": "15Gi", "app:1": "1Gi"}, "--eviction-hard=", "--image-gc-high-threshold=100") as made:
        made.node().runtime.remove_image("big:1")
        made.apply(pod("web", "60s disk=10Gi; disk=1Gi"))
        made.advance(1)
        made.apply(pod("big", image="big:1"))
        waiting = made.pod("big").status.container_statuses[0].state["waiting"]
        assert waiting["reason"] == "ErrImagePull"
        assert waiting["message"].endswith("no space left on device")
        made.advance(2)
        waiting = made.pod("big").status.container_statuses[0].state["waiting"]
        assert waiting["reason"] == "ImagePullBackOff"
        assert waiting["message"].startswith('Back-off pulling image "big:1": ErrImagePull: failed to pull')
        made.advance(65)
        assert made.pod("big").status.phase == "Pending", "after 10, 30 and 70 seconds"
        made.advance(10)
        assert made.pod("big").status.phase == "Running"
        seen = [(e.reason, e.count) for e in made.events("big")]
        assert seen == [
            ("Scheduled", 1),
            ("Pulling", 4),
            ("Failed", 3),
            ("Failed", 3),
            ("BackOff", 3),
            ("Failed", 3),
            ("Pulled", 1),
            ("Created", 1),
            ("Started", 1),
        ]


def test_an_image_without_a_size_is_refused() -> None:
    with pytest.raises(KitError, match=r"nodes\[0\].images\[app\]: a size is expected, found 'much'"):
        cluster({"app": "much"})
