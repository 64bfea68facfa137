"""kube-apiserver: the store, admission, the rules of each kind, and the API over HTTP above them.

Imported by controllers, study, cluster and what is above them; node and scheduler do not know it.
Face: `admission.apiserver.APIServer` writes, `store.store.Store` reads, `http.serve` serves.
"""
