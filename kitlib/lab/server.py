"""What `kitlib lab` adds to its Jupyter server: one line with the address, and which notebook starts by itself.

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
START_OPTION = "kitlibStart"
"""Page option: the extension runs the notebook of this name when it is opened."""


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Called by Jupyter Server at its start."""
    settings = serverapp.web_app.settings
    settings["page_config_hook"] = page_config
    settings[CONNECTIONS] = without_delay(settings[CONNECTIONS])
    serverapp.log.addFilter(_says_something)


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
