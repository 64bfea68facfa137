"""Which application, how many replicas, how many of them a zone may hold, and the maxSkew that does it."""


def variant(choose):
    replicas, bound, skew = choose((15, 6, 2), (16, 6, 2), (17, 7, 3))
    return {
        "app": choose("web", "quote", "feed", "match", "geo", "tiles", "score"),
        "replicas": replicas,
        "fewer": replicas - 3,
        "bound": bound,
        "skew": skew,
        "loose": skew + 2,
        "close": bound - 1,
        "nights": 20,
        "enough": 18,
    }
