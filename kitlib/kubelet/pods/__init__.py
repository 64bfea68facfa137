"""What a pod's containers find: environment variables and the files of ConfigMaps, Secrets and the downward API.

Imported by the kubelet's loop and runtimes. Face: `environment`, `volume_files.mounted`.
"""
