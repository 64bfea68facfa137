"""kitlib: how Kubernetes enforces resources and how its scheduler decides, on a real or a simulated kernel.

Imported by every program that uses the kit; it imports nothing itself. Face: `kitlib.cluster.Cluster`, and the command
`kitlib`; `.github/ARCHITECTURE.md` lists the packages.
"""

__version__ = "1.0.0"
