"""kitlib: how Kubernetes enforces resources and how its scheduler decides, on a real or a simulated kernel."""

__version__ = "1.0.0.dev0"
