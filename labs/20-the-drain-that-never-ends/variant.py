"""What runs there, which node has to go, and how many replicas the first one has."""


def variant(choose):
    replicas = choose(3, 4, 5)
    return {
        "web": choose("web", "shop", "portal", "search"),
        "worker": choose("worker", "mailer", "indexer", "importer"),
        "node": choose("node-1", "node-2", "node-3"),
        "replicas": replicas,
        "fewer": replicas - 1,
        "more": replicas + 1,
        "kernel": choose("6.12", "6.6", "6.18"),
    }
