"""A compiled CEL expression: compiled once against declared names, evaluated any number of times.

Source: k8s.io/apiserver/pkg/cel (environment, CompileCELExpression); cel-spec langdef.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kitlib.api.errors import KitError
from kitlib.cel.compiler import NO_OBJECTS, Compiler
from kitlib.cel.library import Budget, EvaluationError, running
from kitlib.cel.messages import Resolver, no_messages
from kitlib.cel.operators import Run
from kitlib.cel.parser import CompileError, parse


@dataclass(frozen=True)
class Expression:
    """A compiled expression.

    Attributes:
        kind: the type of the result, `dyn` if unknown.
    """

    kind: str
    _run: Run

    def evaluate(self, names: Mapping[str, Any], budget: Budget | int) -> Any:
        """Evaluate the expression.

        Args:
            names: declared name -> value, for every name that the expression was compiled with.
            budget: the maximum cost: one unit for each visited or compared element and for every ten characters of a
                new string. Evaluations that receive the same `Budget` share it.

        Raises:
            EvaluationError: with cel-go's message, e.g. `no such key: model`.
        """
        outer = running.set(Budget(budget) if isinstance(budget, int) else budget)
        try:
            return self._run(dict(names))
        except RecursionError:
            raise EvaluationError("expression recursion limit exceeded") from None
        except (OverflowError, MemoryError, ValueError) as error:
            if isinstance(error, KitError):
                raise
            raise EvaluationError(f"{type(error).__name__}: {str(error)[:200]}") from None
        finally:
            running.reset(outer)


def compile_expression(
    text: str,
    names: Mapping[str, str],
    objects: Mapping[str, Mapping[str, str]] = NO_OBJECTS,
    *,
    max_length: int,
    messages: Resolver = no_messages,
) -> Expression:
    """Compile an expression and check it against the declared names.

    Args:
        text: the expression.
        names: declared name -> type.
        objects: object type -> field -> type.
        max_length: the maximum length of the text in characters.
        messages: resolves the message types that the expression may construct.

    Raises:
        CompileError: the text is not valid CEL or has an undeclared reference.
    """
    if len(text) > max_length:
        raise CompileError(f"expression of {len(text)} characters: at most {max_length} are read")
    try:
        kind, run = Compiler(text, objects, messages).compiled(parse(text), names)
    except RecursionError:
        raise CompileError("expression recursion limit exceeded") from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, KitError):
            raise
        raise CompileError(f"invalid literal: {str(error)[:200]}") from None
    return Expression(kind, run)
