"""Many objects: each version of an object is put into its wire form once for all lists and watches."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http import wires
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request
from kitlib.cluster import Cluster

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def test_a_list_makes_again_only_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    form = wires.form

    def counted(served: Any, obj: Any) -> Any:
        made.append(obj.metadata.name)
        return form(served, obj)

    monkeypatch.setattr(wires, "form", counted)
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "x"}]}}
    with Cluster.simulated([{"count": 20, "name": "n", "cpus": 8}], kubelets=False) as cluster:
        cluster.apply([{**pod, "metadata": {"name": f"p-{number:03d}"}} for number in range(200)])
        dispatcher = Dispatcher(cluster)

        def listed(**headers: str) -> int:
            made.clear()
            answer = dispatcher.handle(Request("GET", "/api/v1/pods", {}, headers))
            assert isinstance(answer, Response) and answer.code == 200
            return len(made)

        assert listed(**TABLE) == 200
        assert listed(**TABLE) == listed() == 0
        cluster.patch("pods", "p-007", {"metadata": {"labels": {"a": "b"}}})
        assert listed(**TABLE) == 1 and made == ["p-007"]
