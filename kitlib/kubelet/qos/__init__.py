"""QoS classes and the OOM scores that follow from them."""
