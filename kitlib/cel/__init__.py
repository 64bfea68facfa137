"""The Common Expression Language, as Kubernetes uses it. Source: cel-go, apiserver/pkg/cel."""
