"""The environment of a pod's containers: variables, and the files of ConfigMaps, Secrets and the downward API.

Imported by the kubelet's loop and runtimes. Face: `environment`, `volume_files.mounted`.
"""
