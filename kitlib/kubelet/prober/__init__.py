"""Probes of containers: when one is due, and from how many answers on it counts."""
