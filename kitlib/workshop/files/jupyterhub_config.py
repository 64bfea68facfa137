"""JupyterHub for a workshop: every learner gets a notebook server of their own, with limits, on one host.

KITLIB_HUB_SPAWNER chooses how learners' servers run:

docker    a container each, from the image `kitlib-learner` (see Dockerfile). Limits: memory, CPU, processes.
systemd   a systemd unit each, with a user that exists only while it runs. Limits: memory, CPU, processes.
process   a plain process each, all of them as the hub's own user. For a trial: memory only, and no isolation.

    export KITLIB_HUB_PASSWORD='the word on the whiteboard'    # at least 8 characters
    export KITLIB_HUB_SPAWNER=docker
    jupyterhub -f jupyterhub_config.py

room_login.py decides who may log in. KITLIB_HUB_NETWORK=host is for an engine without a bridge: learners' containers
then share this host's network, a port each, and can reach all services on this host. Learners' files are kept in
LEARNERS_FOLDER/NAME (systemd: /var/lib/private/NAME). The trainer's page is /services/room/ (kitlib.workshop.service).
"""

import os
import resource
import shutil
import sys
from pathlib import Path

LEARNERS = 30
MEMORY_MB = 600
CPUS = 1.0
PROCESSES = 200
LEARNERS_FOLDER = Path(os.environ.get("KITLIB_HUB_FOLDER", "/srv/kitlib/learners"))
ROOM_FOLDER = Path(os.environ.get("KITLIB_HUB_ROOM", LEARNERS_FOLDER.with_name("room")))
"""The folder of the trainer's settings, room.json: `kitlib room LEARNERS_FOLDER` writes it, learners only read it."""
ROSTER = Path(__file__).with_name("roster.csv")
"""Accounts and names: `kitlib workshop recipe --roster FILE` writes it; without it any name can log in."""
IMAGE = os.environ.get("KITLIB_HUB_IMAGE", "kitlib-learner")
PORT = int(os.environ.get("KITLIB_HUB_PORT", "8000"))
HUB_PORT = int(os.environ.get("KITLIB_HUB_API_PORT", "8081"))
NETWORK = os.environ.get("KITLIB_HUB_NETWORK", "bridge")
HOME = "/home/learner"
ROOM_IN_CONTAINER = "/srv/kitlib/room"
USER_ID = 1000
"""ID of the user `learner` in the image."""

c = get_config()  # type: ignore[name-defined]  # noqa: F821
spawner = os.environ.get("KITLIB_HUB_SPAWNER", "docker")
if spawner not in ("docker", "systemd", "process"):
    raise SystemExit(f"KITLIB_HUB_SPAWNER={spawner}: docker, systemd or process is expected")
bridged = spawner == "docker" and NETWORK != "host"

if ROSTER.exists():
    os.environ.setdefault("KITLIB_HUB_ROSTER", str(ROSTER))
here = Path(__file__).resolve().parent
if not (here / "room_login.py").exists():  # load_subconfig ignores a missing file, so everyone could log in
    raise SystemExit(f"{here / 'room_login.py'}: missing; kitlib workshop writes it beside this file")
load_subconfig("room_login.py", str(here))  # type: ignore[name-defined]  # noqa: F821

# The hub itself.
database = Path("jupyterhub.sqlite")  # the hub's default, in its folder, which learners' systemd units can see
database.touch()
database.chmod(0o600)
c.JupyterHub.bind_url = f"http://:{PORT}"
c.JupyterHub.hub_bind_url = f"http://{'0.0.0.0' if bridged else '127.0.0.1'}:{HUB_PORT}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{HUB_PORT + 1}"
c.JupyterHub.active_server_limit = LEARNERS + 2
c.JupyterHub.concurrent_spawn_limit = 100  # the hub's default: thirty people log in within a few seconds
c.JupyterHub.cleanup_servers = True
c.JupyterHub.shutdown_on_logout = True  # a stopped server makes room for another one
c.JupyterHub.template_paths = [str(here)]  # 429.html reloads itself

# Every learner's server.
c.Spawner.default_url = "/lab/tree/course/notebooks"
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 90
c.Spawner.mem_limit = MEMORY_MB * 1000 * 1000
c.Spawner.cpu_limit = CPUS
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=3600",
    "--MappingKernelManager.cull_interval=300",
    "--MappingKernelManager.cull_connected=True",
    # Kernels talk to their server over Unix sockets. With TCP, two of thirty kernels that start at once on one host may
    # choose the same port, and the server of one waits a minute for a kernel that answers another server.
    "--KernelManager.transport=ipc",
    "--LabApp.news_url=",
    "--ServerApp.terminals_enabled=False",
]
c.Spawner.environment = {"KITLIB_NODES": "simulated"}  # a learner's server has no container engine


ROOM_FOLDER.mkdir(parents=True, exist_ok=True)
c.Spawner.environment |= {"KITLIB_ROOM": str(ROOM_FOLDER / "room.json")}

# The room: the trainer's page, help, votes, servers started before people come, what is collected.
c.JupyterHub.services = [
    {
        "name": "room",
        "url": f"http://127.0.0.1:{HUB_PORT + 2}",
        "command": [sys.executable, "-m", "kitlib.workshop.service"],
        "oauth_no_confirm": True,
        "environment": {
            "KITLIB_ROOM": str(ROOM_FOLDER / "room.json"),
            "KITLIB_HUB_ROSTER": os.environ.get("KITLIB_HUB_ROSTER", ""),
            "KITLIB_HUB_LEARNERS": "/var/lib/private" if spawner == "systemd" else str(LEARNERS_FOLDER),
            "KITLIB_HUB_COLLECTED": str(LEARNERS_FOLDER.with_name("collected")),
            "KITLIB_HUB_KEY": os.environ.get("KITLIB_HUB_KEY", str(Path("room-key.pem").absolute())),
            # with plain processes a kernel can read the key and all files
            "KITLIB_HUB_GOOD_FAITH": "1" if spawner == "process" else "",
            "KITLIB_HUB_START": os.environ.get("KITLIB_HUB_START", "1"),
            "KITLIB_HUB_PLACES": str(LEARNERS),
        },
    }
]
c.JupyterHub.load_roles = [
    {"name": "room", "services": ["room"], "scopes": ["admin:users", "admin:servers"]},
    {"name": "user", "scopes": ["self", "access:services!service=room"]},
]


def own_folder(user: str) -> Path:
    """Return the learner's folder on this host, created if missing, with course, notes and progress."""
    folder = LEARNERS_FOLDER / user
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if spawner == "docker":
    c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
    c.DockerSpawner.image = IMAGE
    c.DockerSpawner.remove = True
    c.DockerSpawner.volumes = {str(LEARNERS_FOLDER / "{username}"): HOME}
    c.DockerSpawner.read_only_volumes = {str(ROOM_FOLDER): ROOM_IN_CONTAINER}
    c.DockerSpawner.notebook_dir = HOME
    c.DockerSpawner.cmd = ["start-learner"]
    c.DockerSpawner.extra_host_config = {
        "pids_limit": PROCESSES,
        "memswap_limit": MEMORY_MB * 1000 * 1000,  # no swap: above its limit a server is killed, not slowed down
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
    }
    c.Spawner.environment |= {"KITLIB_PROGRESS": HOME, "HOME": HOME, "KITLIB_ROOM": f"{ROOM_IN_CONTAINER}/room.json"}

    def give_folder(spawner) -> None:
        """Make the learner's folder writable for the image's user."""
        os.chown(own_folder(spawner.user.name), USER_ID, USER_ID)

    c.Spawner.pre_spawn_hook = give_folder
    if bridged:
        c.DockerSpawner.extra_host_config["extra_hosts"] = {"hub": "host-gateway"}
        c.Spawner.hub_connect_url = f"http://hub:{HUB_PORT}"
        c.DockerSpawner.network_name = NETWORK
    else:
        from dockerspawner import DockerSpawner
        from jupyterhub.utils import random_port

        class OnThisHost(DockerSpawner):
            """A container on the host's network, where each server needs its own port."""

            async def start(self):
                self.ip, self.port = "127.0.0.1", random_port()
                return await super().start()

            async def get_ip_and_port(self):
                return self.ip, self.port

        c.JupyterHub.spawner_class = OnThisHost
        c.DockerSpawner.network_name = "host"
        c.DockerSpawner.use_internal_ip = True  # no port is mapped

elif spawner == "systemd":
    c.JupyterHub.spawner_class = "systemdspawner.SystemdSpawner"
    c.SystemdSpawner.dynamic_users = True
    c.SystemdSpawner.unit_name_template = "kitlib-{USERNAME}"
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.extra_paths = [str(Path(sys.executable).parent)]  # a unit does not inherit the hub's PATH
    c.SystemdSpawner.disable_user_sudo = True
    c.SystemdSpawner.unit_extra_properties = {
        "TasksMax": str(PROCESSES),
        "MemorySwapMax": "0",
        "BindReadOnlyPaths": str(ROOM_FOLDER),
    }
    c.Spawner.cmd = [shutil.which("start-learner") or str(Path(__file__).with_name("start-learner"))]
    # a dynamic user's home is its state directory, /var/lib/private/NAME, kept from one start to the next
    c.Spawner.environment |= {"KITLIB_PROGRESS_IN_HOME": "1"}

else:
    c.JupyterHub.spawner_class = "simple"
    c.SimpleLocalProcessSpawner.home_dir_template = str(LEARNERS_FOLDER / "{username}")
    c.Spawner.cmd = [shutil.which("start-learner") or str(Path(__file__).with_name("start-learner"))]
    c.Spawner.environment |= {"KITLIB_PROGRESS_IN_HOME": "1"}

    def limit_memory() -> None:
        """Limit the memory that a process may allocate, the only limit that plain processes can have here."""
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB * 1000 * 1000,) * 2)

    c.LocalProcessSpawner.popen_kwargs = {"preexec_fn": limit_memory}
    c.Spawner.pre_spawn_hook = lambda spawner: own_folder(spawner.user.name)
