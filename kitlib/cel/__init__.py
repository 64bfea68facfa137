"""The Common Expression Language (CEL) as Kubernetes uses it. Source: cel-go, apiserver/pkg/cel.

Imported by the packages of the API server, the scheduler and the packages above them.
Face: `expression.compile_expression`, `device_selectors`, `admission_expressions`.
"""
