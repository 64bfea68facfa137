"""Pod Security admission by the labels of namespaces. Source: k8s.io/pod-security-admission.

Imported by the table of admission plugins alone. Face: `admission`.
"""
