"""The served forms of stored objects: all conversions of a list at once, and the cache in any mixture with it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kitlib.apiserver.admission.webhook_calls import Attempts, Pending
from kitlib.apiserver.http import protobuf
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


def test_the_message_of_an_object_is_encoded_once_for_each_version(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []
    encode = protobuf._encode

    def counting(message: str, obj: Mapping[str, object]) -> bytes:
        encoded.extend([message] if message == "core.v1.ConfigMap" else [])
        return encode(message, obj)

    monkeypatch.setattr(protobuf, "_encode", counting)
    with Cluster.simulated(1) as cluster:
        call = call_of(Dispatcher(cluster))
        maps, ask = "/api/v1/namespaces/default/configmaps", {"accept": protobuf.PROTOBUF}
        call("POST", maps, {"metadata": {"name": "m"}})
        stream = call("GET", f"{maps}?watch=true&resourceVersion=0&fieldSelector=metadata.name=m", **ask)[1]
        assert len(stream.poll()) == 1
        for value in ("b", "c"):
            encoded.clear()
            written = call("PUT", f"{maps}/m", {"metadata": {"name": "m"}, "data": {"a": value}}, **ask)[1]
            assert protobuf.decode_object(written)["data"] == {"a": value}
            assert call("GET", f"{maps}/m", **ask)[1] == written
            (sent,) = stream.poll()
            assert sent.endswith(written)
            listed = call("GET", f"{maps}?fieldSelector=metadata.name=m", **ask)[1]
            assert protobuf.decode_object(listed)["items"][0]["data"] == {"a": value}
            assert len(encoded) == 1
