"""The parts that `kitlib lab` adds to its Jupyter server: a line with the address, the first notebook, encryption.

It is loaded through a configuration file that only `kitlib lab` (and Binder) point Jupyter to, so that other servers in
the same environment stay as they are. Extensions made for JupyterLite alone are left out of the page: JupyterLab cannot
load the modules that they share.
"""

from __future__ import annotations

import logging
from typing import Any

from kitlib.lab.launch import START
from kitlib.lab.websocket import without_delay

CONNECTIONS = "kernel_websocket_connection_class"
FOR_LITE_ONLY = "@jupyterlite/"
ENCRYPTION = "transport_encryption"
START_OPTION = "kitlibStart"
"""Page option: the extension runs the notebook of this name when it is opened."""


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Called by Jupyter Server at its start."""
    settings = serverapp.web_app.settings
    settings["page_config_hook"] = page_config
    settings[CONNECTIONS] = without_delay(settings[CONNECTIONS])
    encrypt(serverapp.kernel_manager)
    serverapp.log.addFilter(_says_something)


def encrypt(kernels: Any) -> None:
    """Encrypt what kernels and the server say to each other, unless the user has chosen otherwise.

    Without it, each kernel of ipykernel 7.4 writes a warning into the terminal: other users of the machine could read
    code and output. Versions of jupyter_client that know no encryption are left as they are.

    Args:
        kernels: the server's MultiKernelManager; kernels that it starts from now on are concerned.

    Source: jupyter_client KernelManager.transport_encryption.
    """
    import zmq
    from jupyter_client.manager import KernelManager
    from traitlets.config import Config

    if zmq.has("curve") and ENCRYPTION in KernelManager.class_trait_names():
        wanted = Config({"KernelManager": {ENCRYPTION: "auto"}})
        wanted.merge(kernels.config)
        kernels.config = wanted


async def _start_jupyter_server_extension(serverapp: Any) -> None:
    """Called when the server answers."""
    print(f"kitlib: open {serverapp.local_url} (Ctrl-C ends it)", flush=True)


def page_config(_handler: Any, config: dict[str, Any]) -> dict[str, Any]:
    """The page's options, without extensions made for JupyterLite alone."""
    extensions = config.get("federated_extensions", [])
    kept = [one for one in extensions if not str(one.get("name", "")).startswith(FOR_LITE_ONLY)]
    return {**config, "federated_extensions": kept, START_OPTION: START}


def _says_something(record: logging.LogRecord) -> bool:
    """Jupyter's own banner of addresses is said in one line instead."""
    return "To access the server" not in str(record.msg)
