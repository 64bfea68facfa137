"""Admission policies in CEL: which requests they are about, and what they decide.

Source: k8s.io/apiserver/pkg/admission/plugin/policy.
"""
