"""The served forms of stored objects: all conversions of a list at once, and the cache in any mixture with it."""

from __future__ import annotations

import pytest

from kitlib.apiserver.admission.webhook_calls import Attempts, Pending
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.apiserver.http.wires import Wires
from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.test_conversion import CRDS, NEW, OLD, convert, lake, two_versions
from tests.apiserver.admission.webhook.servers import webhook_server
from tests.apiserver.http.conftest import call_of


def test_a_list_asks_the_webhook_about_all_its_objects_at_once_and_only_once() -> None:
    with webhook_server() as server, Cluster.simulated(1) as cluster:
        server.answers["/convert"] = convert
        dispatcher = Dispatcher(cluster)
        call = call_of(dispatcher)
        call("POST", CRDS, two_versions(server))
        for i in range(4):
            call("POST", OLD, lake("v1", f"l{i}", size=i))
        served = dispatcher.rest.resources.find("example.com", "v2", "lakes")
        assert served is not None
        objects, wires = cluster.api.store.list("Lake", copy=False), Wires(cluster)
        wires.shared(served, objects[2])
        with pytest.raises(Pending) as waits, Attempts().attempt(cluster.api.store.names):
            wires.shared_list(served, objects)
        assert len(waits.value.calls) == 3
        assert [one["spec"]["area"] for one in wires.shared_list(served, objects)] == [0, 1, 2, 3]
        asked = len(server.asked)
        assert wires.shared_list(served, objects)[0] is wires.shared(served, objects[0])
        assert len(server.asked) == asked
        assert [one["spec"]["area"] for one in call("GET", NEW)[1]["items"]] == [0, 1, 2, 3]


def test_nothing_is_kept_of_deleted_objects_that_watches_have_been_sent() -> None:
    with Cluster.simulated(1) as cluster:
        dispatcher = Dispatcher(cluster)
        call = call_of(dispatcher)
        maps = "/api/v1/namespaces/default/configmaps"
        streams = [call("GET", f"{maps}?watch=true")[1] for _ in range(2)]
        call("GET", maps)
        before = len(dispatcher.rest.wires)
        for i in range(3):
            call("POST", maps, {"metadata": {"name": f"m{i}"}})
            call("PUT", f"{maps}/m{i}", {"metadata": {"name": f"m{i}"}, "data": {"a": "b"}})
            assert all(stream.poll() for stream in streams)
            call("PUT", f"{maps}/m{i}", {"metadata": {"name": f"m{i}"}, "data": {"a": "c"}})
            call("DELETE", f"{maps}/m{i}")
            assert all(len(stream.poll()) == 2 for stream in streams)
        assert len(dispatcher.rest.wires) == before
