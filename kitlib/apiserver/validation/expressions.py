"""Expressions of policies and webhooks: what does not compile is refused in the words of the API server.

Source: pkg/apis/admissionregistration/validation validateCELCondition, convertCELErrorToValidationError.
"""

from __future__ import annotations

from kitlib.api.field_errors import Errors, invalid
from kitlib.cel.admission_expressions import PolicyEnvironment
from kitlib.cel.parser import CompileError


def validate_expression(
    environment: PolicyEnvironment,
    text: str,
    field: str,
    *kinds: str,
    variables: bool = True,
    authorizer: bool = True,
) -> Errors:
    """What is wrong with an expression.

    Args:
        environment: what it may name.
        text: the expression.
        field: where it stands.
        kinds: types that its answer may have; none = any.
        variables, authorizer: whether it may use the policy's variables, and ask who may do what.
    """
    try:
        environment.compile(text, *kinds, variables=variables, authorizer=authorizer)
    except CompileError as error:
        return [invalid(field, text, str(error))]
    return []
