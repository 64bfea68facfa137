"""DefaultBinder binds every pod, and no event can help a pod on its account."""

from __future__ import annotations

from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.default_binder import DefaultBinder
from tests.scheduler.builders import node, pod


def test_every_pod_is_bound_and_bind_is_the_only_point() -> None:
    plugin = DefaultBinder()
    assert plugin.bind(PodInfo(pod("p")), node("n")).ok
    points = ("pre_enqueue", "pre_filter", "filter", "score", "reserve", "permit", "pre_bind", "bind", "post_bind")
    assert [point for point in points if plugin.takes_part(point)] == ["bind"]
    assert list(plugin.events_to_register(Context(Snapshot(), Release("1.36")))) == []
