"""Admission policies in CEL: which requests they are about, and what they decide.

Imported by admission alone, once a policy is there. Face: `validating`, `mutating`.

Source: k8s.io/apiserver/pkg/admission/plugin/policy.
"""
