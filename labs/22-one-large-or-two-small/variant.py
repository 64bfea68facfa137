"""What serves, how large the devices are, and which node has which."""


def variant(choose):
    small, need, large = choose((16, 32, 40), (24, 48, 80), (12, 24, 32))
    nodes = choose(("node-1", "node-2"), ("node-2", "node-1"))
    return {
        "serve": choose("serve", "chat", "translate", "vision"),
        "want": choose("accelerator", "gpus", "inference"),
        "small": small,
        "need": need,
        "large": large,
        "pairs": nodes[0],
        "single": nodes[1],
        "fault": choose("overheated", "ecc-errors", "loose"),
    }
