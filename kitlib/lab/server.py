"""The parts that `kitlib lab` adds to its Jupyter server: a line with the address, the first notebook, encryption.

Only `kitlib lab` and Binder configure Jupyter to load it, so other servers in the same environment are not affected.
Extensions for JupyterLite alone are removed from the page: JupyterLab cannot load the modules that they share.
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
"""Page option with the name of a notebook that the extension runs when it is opened."""


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Apply the settings; Jupyter Server calls this at its start."""
    settings = serverapp.web_app.settings
    settings["page_config_hook"] = page_config
    settings[CONNECTIONS] = without_delay(settings[CONNECTIONS])
    encrypt(serverapp.kernel_manager)
    serverapp.log.addFilter(_says_something)


def encrypt(kernels: Any) -> None:
    """Encrypt the messages between kernels and server, unless the user has chosen otherwise.

    Without it, each kernel of ipykernel 7.4 writes a warning into the terminal: other users of the machine could read
    code and output. Versions of jupyter_client without encryption are not changed.

    Args:
        kernels: the server's MultiKernelManager; kernels that it starts from now on are encrypted.

    Source: jupyter_client KernelManager.transport_encryption.
    """
    import zmq
    from jupyter_client.manager import KernelManager
    from traitlets.config import Config

    if zmq.has("curve") and ENCRYPTION in KernelManager.class_trait_names():
        wanted = Config({"KernelManager": {ENCRYPTION: "auto"}})
        # In this order, so that the user's own setting replaces the kit's.
        wanted.merge(kernels.config)
        kernels.config = wanted


async def _start_jupyter_server_extension(serverapp: Any) -> None:
    """Print the address; Jupyter Server calls this when it answers requests."""
    print(f"kitlib: open {serverapp.local_url} (Ctrl-C ends it)", flush=True)


def page_config(_handler: Any, config: dict[str, Any]) -> dict[str, Any]:
    """Return the page's options, without extensions for JupyterLite alone."""
    extensions = config.get("federated_extensions", [])
    kept = [extension for extension in extensions if not str(extension.get("name", "")).startswith(FOR_LITE_ONLY)]
    return {**config, "federated_extensions": kept, START_OPTION: START}


def _says_something(record: logging.LogRecord) -> bool:
    """Return whether a log record is to be shown; the kit prints one line instead of Jupyter's banner of addresses."""
    return "To access the server" not in str(record.msg)
