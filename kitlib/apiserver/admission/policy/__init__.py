"""Admission policies in CEL: the writes that they match, and their decisions.

Imported by admission alone, once a policy exists. Face: `validating`, `mutating`.

Source: k8s.io/apiserver/pkg/admission/plugin/policy.
"""
