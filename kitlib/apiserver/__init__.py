"""kube-apiserver: the store, admission, the validation of each kind, and the API over HTTP.

Imported by controllers, study, cluster and the packages above them, not by node and scheduler.
Face: `admission.apiserver.APIServer` for writes, `store.store.Store` for reads, `http.serve` for HTTP.
"""
