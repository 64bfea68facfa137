"""Control planes: store, admission, controllers and scheduler over nodes, in this process or in a container.

Imported by `cluster` alone, whose constructors choose one. Face: `simulated.SimulatedCluster`,
`docker.DockerCluster`.
"""
