"""The text of `kubectl describe`, by kind, and the parts that kinds share.

Imported by the HTTP server's printers, commands and labs. Face: `node`, `pod`, `workloads`, `objects`.
"""
