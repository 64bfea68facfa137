"""A real node in a container: agent, cgroup files, runtime, images, engine.

Imported by nodes and control planes of real clusters, and by commands about engines; `simulated` does not know it.
Face: `agent`, `engine`, `image`, `link.Conversation`.
"""
