"""A CEL expression made ready: compiled once against the names that it may use, evaluated as often as asked.

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
    """What was compiled.

    Attributes:
        kind: type of the answer, `dyn` where it is not known before.
    """

    kind: str
    _run: Run

    def evaluate(self, names: Mapping[str, Any], budget: Budget | int) -> Any:
        """The answer for these values of the names.

        Args:
            names: every name that the expression was compiled against.
            budget: the maximum cost: elements that are gone through or compared, and tens of characters that are
                made. Evaluations that are given the same `Budget` share it.

        Raises:
            EvaluationError: as cel-go words it: `no such key: model`.
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
    """An expression, checked against the names that it may use.

    Args:
        text: the expression.
        names: name -> its type.
        objects: type of an object -> its fields and their types.
        max_length: characters.
        messages: the types that it may make values of.

    Raises:
        CompileError: the text is no expression, or names something that there is not.
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
