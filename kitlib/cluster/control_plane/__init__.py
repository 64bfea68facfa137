"""Control planes: store, admission, controllers and scheduler over nodes, in this process or in a container."""
