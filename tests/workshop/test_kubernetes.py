"""The recipe for a room on Kubernetes: its files fit together, and its numbers are those that were asked for."""

from __future__ import annotations

import ast
import csv
import io
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.workshop import Limits
from kitlib.workshop.kubernetes import CHART, HUB, KubernetesRoom, size_of
from kitlib.workshop.nodes_namespace import NodesNamespace

ROOT = Path(__file__).parents[2]
ALLOW_RULES = {
    *("cloudMetadataServer", "dnsPortsCloudMetadataServer", "dnsPortsKubeSystemNamespace", "dnsPortsPrivateIPs"),
    *("nonPrivateIPs", "privateIPs"),
}
KNOWN: dict[str, Any] = {
    "hub": {
        "config": None,
        "concurrentSpawnLimit": int,
        "activeServerLimit": int,
        "resources": {"requests": None, "limits": None},
        "services": {"room": {"url": str, "oauth_no_confirm": bool}},
        "loadRoles": None,
        "extraEnv": None,
        "extraFiles": {key: {"mountPath": str, "stringData": str} for key in ("roster", "again")},
        "extraConfig": None,
    },
    "proxy": {"service": {"type": {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}}},
    "singleuser": {
        "image": {"name": str, "tag": str},
        "cmd": list,
        "defaultUrl": str,
        "startTimeout": int,
        "uid": int,
        "fsGid": int,
        "memory": {"limit": str, "guarantee": str},
        "cpu": {"limit": (int, float), "guarantee": (int, float)},
        "allowPrivilegeEscalation": bool,
        "extraEnv": None,
        "storage": {
            "type": {"dynamic", "static", "none"},
            "capacity": str,
            "homeMountPath": str,
            "extraVolumes": list,
            "extraVolumeMounts": list,
        },
        "networkPolicy": {"enabled": bool, "egressAllowRules": dict.fromkeys(ALLOW_RULES, bool), "egress": list},
        "profileList": list,
    },
    "scheduling": {
        "userScheduler": {"enabled": bool},
        "podPriority": {"enabled": bool},
        "userPlaceholder": {"enabled": bool, "replicas": int},
    },
    "prePuller": {"hook": {"enabled": bool}, "continuous": {"enabled": bool}},
    "cull": {"enabled": bool, "timeout": int, "every": int, "maxAge": int},
}
"""Keys of the chart's values that the recipe may use, their types or words; None = not looked at further. The chart
refuses others. Source: zero-to-jupyterhub-k8s jupyterhub/values.schema.yaml, values.yaml (4.4)."""
FILES = {
    *("Dockerfile", "start-learner", "values.yaml", "storage.yaml", "room.yaml", "nodes-namespace.yaml"),
    *("guide.md", "guide-kubernetes.md"),
}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room") / "recipe"
    numbers = ["--learners", "200", "--memory", "700", "--cpus", "1.5", "--nodes", "2"]
    names = ["--image", "reg.example:5000/learner:3", "--node-image", "reg.example:5000/node:3", "--hub", "class"]
    assert cli.main(["workshop", str(folder), "--kubernetes", *numbers, *names, "--no-wheel"]) == 0
    return folder


@pytest.fixture(scope="module")
def values(recipe: Path) -> Any:
    return yaml.safe_load((recipe / "values.yaml").read_text())


def test_everything_that_the_guide_names_is_written(recipe: Path) -> None:
    assert {path.name for path in recipe.iterdir()} == FILES
    guide = (recipe / "guide-kubernetes.md").read_text()
    assert set(re.findall(r"`([\w-]+\.(?:yaml|md))`", guide)) <= FILES
    filled = [path for path in recipe.iterdir() if path.suffix == ".yaml" or path.name == "guide-kubernetes.md"]
    assert not [path.name for path in filled if re.search(r"\$\{?[a-z_]+\}?", path.read_text())]
    assert os.access(recipe / "start-learner", os.X_OK)
    image = (recipe / "Dockerfile").read_text()
    assert "ARG EXTRAS=notebook,live\n" in image
    # the chart's hub and its JupyterHub, not that of a hub on one host
    assert f"ARG JUPYTERHUB={HUB}\n" in image and f"--version {CHART} " in guide


def test_the_values_carry_the_numbers_that_were_asked_for(values: Any) -> None:
    user = values["singleuser"]
    assert user["memory"] == {"limit": "700M", "guarantee": "230M"} and user["cpu"]["limit"] == 1.5
    assert user["image"] == {"name": "reg.example:5000/learner", "tag": "3"}
    assert values["hub"]["activeServerLimit"] == 202
    assert values["cull"]["enabled"] and user["networkPolicy"]["enabled"]


def unknown(given: Any, known: Any, where: str = "") -> list[str]:
    """Places of the values that the chart does not have, or that are of another type there."""
    if known is None:
        return []
    if isinstance(known, set):
        return [] if given in known else [f"{where}: {given!r}"]
    if not isinstance(known, dict):
        right = isinstance(given, known) and (known is bool or not isinstance(given, bool))
        return [] if right else [f"{where}: {given!r}"]
    return [one for key, value in given.items() for one in unknown(value, known.get(key, ()), f"{where}.{key}")]


def test_the_values_are_those_that_the_chart_knows(values: Any) -> None:
    assert unknown(values, KNOWN) == []
    assert unknown({"cull": {"idle": 5, "every": "5m"}}, KNOWN) == [".cull.idle: 5", ".cull.every: '5m'"]
    assert unknown({"singleuser": {"storage": {"type": "nfs"}}}, KNOWN) == [".singleuser.storage.type: 'nfs'"]
    assert {"type", "homeMountPath"} <= set(values["singleuser"]["storage"])  # the schema requires both


def test_learners_displace_the_placeholders(values: Any) -> None:
    """Source: chart templates/scheduling/user-placeholder: a priority class only with podPriority."""
    scheduling = values["scheduling"]
    assert scheduling["userPlaceholder"]["replicas"] > 0 and scheduling["podPriority"]["enabled"]


def test_learners_have_rights_only_where_they_want_real_nodes(values: Any, recipe: Path) -> None:
    simulated, real = values["singleuser"]["profileList"]
    assert simulated["default"] and "kubespawner_override" not in simulated
    override = real["kubespawner_override"]
    assert override["environment"]["KITLIB_NODES"] == "kubernetes"
    assert override["environment"]["KITLIB_NODES_MACHINES"] == "required"
    granted = list(yaml.safe_load_all((recipe / "nodes-namespace.yaml").read_text()))
    for number in (1, 202):  # the numbers of the hub's users, which KubeSpawner fills in
        namespace = override["environment"]["KITLIB_NODES_NAMESPACE"].format(userid=number)
        account = {"name": override["service_account"].format(userid=number), "namespace": "class"}
        assert [one["subjects"] for one in granted if one["kind"] == "RoleBinding"][number - 1] == [
            {"kind": "ServiceAccount", **account}
        ]
        assert namespace in [one["metadata"]["name"] for one in granted if one["kind"] == "Namespace"]
        (made,) = [one for one in granted if one["kind"] == "ServiceAccount" and one["metadata"] == account]
        assert made["automountServiceAccountToken"] is False
    storage = {one["kind"]: one for one in yaml.safe_load_all((recipe / "storage.yaml").read_text())}
    claim = values["singleuser"]["storage"]["extraVolumes"][0]["persistentVolumeClaim"]["claimName"]
    assert storage["PersistentVolumeClaim"]["metadata"]["name"] == claim


def test_a_learner_sees_a_folder_of_their_own_and_the_rooms_decisions_read_only(values: Any) -> None:
    user = values["singleuser"]
    mounts = {one["mountPath"]: one for one in user["storage"]["extraVolumeMounts"]}
    assert mounts[user["extraEnv"]["KITLIB_PROGRESS"]]["subPath"] == "learners/{username}"
    room = mounts[os.path.dirname(user["extraEnv"]["KITLIB_ROOM"])]
    assert room["readOnly"] and room["subPath"] == "room"


@pytest.mark.parametrize("named", [False, True], ids=["chart 4.2", "chart 4.3"])
def test_only_the_trainer_sees_all_learners(values: Any, named: bool) -> None:
    """Source: chart files/hub/jupyterhub_config.py: the volume mounts, from 4.3 on with names."""
    code = values["hub"]["extraConfig"]["trainer"]
    names: dict[str, Any] = {"c": type("Config", (), {"KubeSpawner": type("Spawner", (), {})})}
    exec(compile(ast.parse(code), "extraConfig", "exec"), names)
    hook = names["c"].KubeSpawner.pre_spawn_hook
    own = [dict(one) for one in values["singleuser"]["storage"]["extraVolumeMounts"]]
    for name, sees_all in (("trainer", True), ("ada", False)):
        spawner = type("Spawner", (), {})()
        spawner.user = type("User", (), {"name": name})
        spawner.authenticator = type("Authenticator", (), {"admin_users": {"trainer"}})
        spawner.volume_mounts = {f"{i}-room": one for i, one in enumerate(own)} if named else list(own)
        spawner.environment = {}
        with pytest.raises(StopIteration):
            hook(spawner).send(None)
        mounts = spawner.volume_mounts
        mounts = list(mounts.values()) if isinstance(mounts, dict) else mounts
        assert mounts == ([{"name": "room", "mountPath": "/srv/kitlib"}] if sees_all else own)


@pytest.fixture(scope="module")
def with_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text("name\nAda Lovelace\nAda Lovelace\n=Ümit: $x {{y}} # 'z'\n", encoding="utf-8")
    roster_file = str(folder / "people.csv")
    arguments = ["workshop", str(folder / "recipe"), "--kubernetes", "--no-wheel", "--roster", roster_file]
    assert cli.main(arguments) == 0
    return folder / "recipe"


def room_objects(recipe: Path) -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all((recipe / "room.yaml").read_text())}


def room_environment(recipe: Path) -> dict[str, str]:
    (container,) = room_objects(recipe)["Deployment"]["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"] if "value" in one}


def test_the_rooms_pod_is_the_service_that_the_hub_knows(recipe: Path, values: Any) -> None:
    """Source: JupyterHub services/service.py (prefix, client id); chart templates/hub/secret.yaml, netpol.yaml."""
    objects, environment = room_objects(recipe), room_environment(recipe)
    (name,) = values["hub"]["services"]
    url = urlsplit(values["hub"]["services"][name]["url"])
    service, pod = objects["Service"], objects["Deployment"]["spec"]["template"]
    (port,), (container,) = service["spec"]["ports"], pod["spec"]["containers"]
    assert (url.hostname, url.port) == (service["metadata"]["name"], port["port"])
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    listens = urlsplit(environment["JUPYTERHUB_SERVICE_URL"])
    assert listens.hostname == "0.0.0.0" and container["ports"] == [{"name": "http", "containerPort": listens.port}]
    assert port["targetPort"] == "http" and container["image"] == "reg.example:5000/learner:3"
    assert environment["JUPYTERHUB_SERVICE_NAME"] == name
    assert environment["JUPYTERHUB_SERVICE_PREFIX"] == f"/services/{name}/"
    assert environment["JUPYTERHUB_CLIENT_ID"] == f"service-{name}"
    token = next(one["valueFrom"]["secretKeyRef"] for one in container["env"] if "valueFrom" in one)
    assert token == {"name": "hub", "key": f"hub.services.{name}.apiToken"}
    assert pod["metadata"]["labels"]["hub.jupyter.org/network-access-hub"] == "true"
    assert pod["spec"]["automountServiceAccountToken"] is False


def test_the_rooms_roles_and_places_are_those_of_the_recipe_for_one_host(recipe: Path, values: Any) -> None:
    module = ast.parse((ROOT / "kitlib/workshop/files/jupyterhub_config.py").read_text())
    roles = next(
        ast.literal_eval(one.value)
        for one in ast.walk(module)
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "c.JupyterHub.load_roles"
    )
    assert [{"name": name, **role} for name, role in values["hub"]["loadRoles"].items()] == roles
    assert room_environment(recipe)["KITLIB_HUB_PLACES"] == "200"


def test_the_rooms_pod_reads_and_writes_where_learners_and_trainer_look(recipe: Path, values: Any) -> None:
    objects, environment = room_objects(recipe), room_environment(recipe)
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    claims = {one["name"]: one["persistentVolumeClaim"]["claimName"] for one in spec["volumes"] if "secret" not in one}
    mounts = {one["name"]: one["mountPath"] for one in spec["containers"][0]["volumeMounts"]}
    storage = values["singleuser"]["storage"]
    assert claims["room"] == storage["extraVolumes"][0]["persistentVolumeClaim"]["claimName"]
    subpaths = {one["mountPath"]: one["subPath"] for one in storage["extraVolumeMounts"]}
    own = subpaths[values["singleuser"]["extraEnv"]["KITLIB_PROGRESS"]].removesuffix("/{username}")
    assert environment["KITLIB_HUB_LEARNERS"] == f"{mounts['room']}/{own}"
    decisions = PurePosixPath(values["singleuser"]["extraEnv"]["KITLIB_ROOM"])
    assert environment["KITLIB_ROOM"] == f"{mounts['room']}/{subpaths[str(decisions.parent)]}/{decisions.name}"
    # no server mounts the claim with the key: neither learners' kernels nor the trainer's can sign
    assert environment["KITLIB_HUB_KEY"].startswith(f"{mounts['key']}/")
    assert claims["key"] == objects["PersistentVolumeClaim"]["metadata"]["name"]
    assert claims["key"] not in (recipe / "values.yaml").read_text()


def test_the_roster_is_read_by_login_and_room_and_without_one_any_name_comes_in(
    recipe: Path, values: Any, with_people: Path
) -> None:
    assert values["hub"]["extraEnv"]["KITLIB_HUB_ROSTER"] == ""
    assert "KITLIB_HUB_ROSTER" not in room_environment(recipe)
    people = yaml.safe_load((with_people / "values.yaml").read_text())["hub"]
    file = people["extraFiles"]["roster"]
    assert file["mountPath"] == people["extraEnv"]["KITLIB_HUB_ROSTER"]
    found = list(csv.DictReader(io.StringIO(file["stringData"])))
    assert [one["account"] for one in found] == ["ada-lovelace", "ada-lovelace-2", "umit-x-y-z"]
    assert found[2]["name"] == "=Ümit: $x {{y}} # 'z'"
    spec = room_objects(with_people)["Deployment"]["spec"]["template"]["spec"]
    secret = next(one["secret"] for one in spec["volumes"] if "secret" in one)
    mount = next(one["mountPath"] for one in spec["containers"][0]["volumeMounts"] if one["name"] == "roster")
    (item,) = secret["items"]
    assert secret["secretName"] == "hub" and item["key"] == "roster"  # the chart keeps extraFiles under their keys
    assert room_environment(with_people)["KITLIB_HUB_ROSTER"] == f"{mount}/{item['path']}"


def test_the_page_that_asks_again_is_the_one_of_the_recipe_for_one_host(values: Any) -> None:
    page = values["hub"]["extraFiles"]["again"]
    assert page["stringData"] == (ROOT / "kitlib/workshop/files/429.html").read_text()
    assert PurePosixPath(page["mountPath"]).name == "429.html"


@pytest.mark.parametrize(
    ("learners", "nodes", "machines"), [(30, 0, 1), (200, 0, 2), (1000, 0, 9), (30, 3, 2), (200, 3, 11), (1000, 3, 52)]
)
def test_the_table_of_sizes_is_computed(learners: int, nodes: int, machines: int) -> None:
    size = size_of(learners, nodes)
    assert size.machines == machines
    row = (
        f"| {learners:,} | {nodes or 'none'} | {size.memory_mb / 1000:.0f} GB | {size.node_mb / 1000:.0f} GB | "
        f"{size.cpus:g} | {machines} | {size.storage_gb:,} GB |"
    )
    assert row in (ROOT / "kitlib/docs/workshop.md").read_text(), row


@pytest.mark.parametrize("image", ["learner", "reg.example:5000/learner"])
def test_an_image_without_a_tag_is_refused(image: str) -> None:
    with pytest.raises(KitError, match="must have the form NAME:TAG"):
        KubernetesRoom(limits=Limits(), image=image, nodes=NodesNamespace(seats=True)).files()


def test_neither_a_folder_nor_a_namespace_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop"]) != 0
    assert "--namespace NAME" in capsys.readouterr().err


def test_who_may_have_real_nodes_is_said_in_the_same_table_everywhere() -> None:
    files = (
        "docs/workshop.md",
        "docs/real-nodes.md",
        "workshop/files/guide.md",
        "workshop/files/kubernetes/guide-kubernetes.md",
    )
    tables = set()
    for name in files:
        lines = (ROOT / "kitlib" / name).read_text(encoding="utf-8").splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith("| where nodes run |"))
        tables.add("\n".join(lines[at : at + 5]))
    assert len(tables) == 1
