"""Compile errors of expressions in policies and webhooks, with the API server's messages.

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
    """Return the compile error of an expression.

    Args:
        environment: the declared names.
        text: the expression.
        field: the path of the expression.
        kinds: the accepted result types; none = any type.
        variables: whether `variables` is declared.
        authorizer: whether `authorizer` is declared.
    """
    try:
        environment.compile(text, *kinds, variables=variables, authorizer=authorizer)
    except CompileError as error:
        return [invalid(field, text, str(error))]
    return []
