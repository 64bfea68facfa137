"""Whose pods, which zone is broken, and what the operators wrote on its node."""


def variant(choose):
    one, two, bad = choose(("a", "b", "c"), ("a", "c", "b"), ("b", "c", "a"), ("east", "west", "north"))
    return {
        "app": choose("shop", "blog", "forum", "tickets"),
        "one": one,
        "two": two,
        "bad": bad,
        "taint": choose("zone=broken", "storage=down", "repair=ongoing"),
    } | {"replicas": 4}
