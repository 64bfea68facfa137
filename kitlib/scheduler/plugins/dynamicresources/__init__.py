"""DynamicResources: which devices a pod's claims get on which node."""
