"""Pod Security admission: what the labels of a namespace allow its pods. Source: k8s.io/pod-security-admission.

Imported by the table of admission plugins alone. Face: `admission`.
"""
