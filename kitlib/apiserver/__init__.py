"""kube-apiserver: the store, admission, the rules of each kind, and the API over HTTP above them."""
