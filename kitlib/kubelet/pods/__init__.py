"""What a pod's containers find: environment variables and the files of ConfigMaps, Secrets and the downward API."""
