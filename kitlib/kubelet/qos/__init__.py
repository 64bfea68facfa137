"""QoS classes and the OOM scores that follow from them.

Imported by `cm`, admission, lessons and widgets. Face: `qos_class.get_pod_qos`,
`policy.get_container_oom_score_adjust`.
"""
