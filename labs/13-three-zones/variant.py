"""Whose pods, in which zones, and which one has no node yet."""


def variant(choose):
    one, two, third = choose(
        ("zone1", "zone2", "zone3"), ("east", "west", "north"), ("blue", "green", "red"), ("p", "q", "r")
    )
    return {
        "app": choose("store", "vault", "journal", "quorum"),
        "one": one,
        "two": two,
        "third": third,
        "after": choose(30, 20, 45),
    }
