"""Node-pressure eviction: thresholds and the order in which pods are evicted."""
