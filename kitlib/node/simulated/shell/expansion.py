"""Expansion of words: variables, command substitution, arithmetic, braces, fields.

Source: POSIX.1-2017, XCU 2.6 Word Expansions; braces as bash and busybox have them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, MutableMapping

from kitlib.node.simulated.shell.machine import KEPT_TEXT, Data, NotFollowed
from kitlib.node.simulated.shell.tree import ShellSyntaxError, Word, WordPart

MAX_FIELDS = 10_000
"""Maximum number of words that one word expands to."""
_BRACES = re.compile(r"^(.*?)\{([^{}]*)\}(.*)$", re.DOTALL)
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_NAME = re.compile(r"(?P<length>#?)(?P<name>\w+|[?$!#@*])(?P<rest>.*)", re.DOTALL)
_STEP = re.compile(r"(?P<post>[A-Za-z_]\w*)(?:\+\+|--)|(?:\+\+|--)(?P<pre>[A-Za-z_]\w*)")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?P<sign>[-+*/%]?)=(?!=)(?P<value>.*)", re.DOTALL)
_OPERATIONS: dict[type[ast.AST], Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: int(a / b),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: operator.rshift,
    ast.Pow: lambda a, b: a ** min(b, 64),
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Expansion:
    """The expansion of words in a shell.

    Args:
        variables: values by name; arithmetic assigns to them.
        special: returns the value of `$?` and other special parameters; None = not a special parameter.
        substitute: function that runs a script and returns its output.
    """

    def __init__(
        self,
        variables: MutableMapping[str, Data],
        special: Callable[[str], str | None],
        substitute: Callable[[str], Data],
    ) -> None:
        self._variables, self._special, self._substitute = variables, special, substitute

    def value(self, word: Word) -> Data:
        """Return a word as one value, for assignments, redirections and patterns."""
        found = Data()
        for part in word:
            found = found.plus(self._part(part))
        return found

    def fields(self, words: tuple[Word, ...]) -> tuple[list[str], float]:
        """Return the fields of all words, and the number of bytes with unknown content in them."""
        found, more = list[str](), 0.0
        for word in words:
            for text, unseen in self._fields(word):
                found.append(text)
                more += unseen
                if len(found) > MAX_FIELDS:
                    raise NotFollowed(f"more than {MAX_FIELDS} words")
        return found, more

    def _fields(self, word: Word) -> Iterator[tuple[str, float]]:
        if all(part.kind == "text" for part in word):
            plain = "".join(part.text for part in word)
            if not any(part.quoted for part in word):
                yield from ((text, 0.0) for text in braces(plain))
                return
            yield plain, 0.0
            return
        current, unseen, begun = "", 0.0, False
        for part in word:
            value = self._part(part)
            unseen += value.more
            if part.quoted or part.kind == "text":
                current, begun = current + value.text, True
                continue
            pieces = value.text.split()
            if not pieces:
                continue
            if value.text[:1].isspace() and begun:
                yield current, 0.0
                current = ""
            *whole, current_tail = [current + pieces[0], *pieces[1:]]
            yield from ((text, 0.0) for text in whole)
            current, begun = current_tail, True
            if value.text[-1:].isspace():
                yield current, 0.0
                current, begun = "", False
        if begun:
            yield current, unseen

    def _part(self, part: WordPart) -> Data:
        if part.kind == "text":
            return Data(part.text)
        if part.kind == "command":
            return self._substitute(part.text)
        if part.kind == "arithmetic":
            return Data(str(self.arithmetic(part.text)))
        return self._variable(part.text)

    def _variable(self, text: str) -> Data:
        found = _NAME.fullmatch(text)
        if found is None:
            raise ShellSyntaxError(f"bad substitution: ${{{text[:40]}}}")
        name, rest = found["name"], found["rest"]
        special = self._special(name)
        value = Data(special) if special is not None else self._variables.get(name)
        if found["length"]:
            return Data(str(int((value or Data()).size)))
        if rest[:2] in (":-", ":=", ":+") or rest[:1] in ("-", "=", "+"):
            mark, word = (rest[1], rest[2:]) if rest[0] == ":" else (rest[0], rest[1:])
            missing = value is None or (rest[0] == ":" and not value.size)
            if mark == "+":
                return Data() if missing else Data(word)
            return Data(word) if missing or value is None else value
        return value or Data()

    def arithmetic(self, text: str) -> int:
        """Return the value of an arithmetic expression, assignments and `i++` included.

        Raises:
            ShellSyntaxError: a division by zero.
            NotFollowed: the form of the expression is not supported.
        """
        value = 0
        for one in text.split(","):
            value = self._assigned(one.strip())
        return value

    def _assigned(self, text: str) -> int:
        step = _STEP.fullmatch(text)
        if step is not None:
            name = step["pre"] or step["post"]
            old = self._plain(name)
            new = _bounded(old + (1 if "++" in text else -1))
            self._variables[name] = Data(str(new))
            return new if step["pre"] else old
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment is None:
            return self._plain(text)
        name, sign, rest = assignment["name"], assignment["sign"], assignment["value"]
        value = self._plain(f"{name} {sign} ({rest})") if sign else self._assigned(rest.strip())
        self._variables[name] = Data(str(value))
        return value

    def _plain(self, text: str) -> int:
        names = re.sub(r"\$\{?(\w+)\}?", r"\1", text.strip()) or "0"
        names = re.sub(r"!(?!=)", " not ", names.replace("&&", " and ").replace("||", " or "))
        try:
            return self._evaluate(ast.parse(re.sub(r"\b0+(\d)", r"\1", names).strip(), mode="eval").body)
        except ZeroDivisionError:
            raise ShellSyntaxError(f"division by 0: {text[:40]}") from None
        except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
            raise NotFollowed(f"arithmetic {text[:40]!r}") from None

    def _evaluate(self, node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            value = self._special(node.id)
            text = value if value is not None else self._variables.get(node.id, Data("0")).text
            return int(text.strip() or 0)
        if isinstance(node, ast.BinOp):
            return _bounded(_OPERATIONS[type(node.op)](self._evaluate(node.left), self._evaluate(node.right)))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return int(_OPERATIONS[type(node.ops[0])](self._evaluate(node.left), self._evaluate(node.comparators[0])))
        if isinstance(node, ast.UnaryOp):
            value_of = self._evaluate(node.operand)
            if isinstance(node.op, ast.Not):
                return int(not value_of)
            return -value_of if isinstance(node.op, ast.USub) else value_of
        if isinstance(node, ast.BoolOp):
            values = [self._evaluate(one) for one in node.values]
            return int(all(values) if isinstance(node.op, ast.And) else any(values))
        if isinstance(node, ast.IfExp):
            return self._evaluate(node.body if self._evaluate(node.test) else node.orelse)
        raise ValueError(type(node).__name__)


def _bounded(number: int) -> int:
    """Return a number wrapped to 64 bits, as in a shell."""
    return (number + 2**63) % 2**64 - 2**63


def braces(text: str) -> list[str]:
    """Return the words that `a{1..3}` or `a{x,y}` expands to."""
    found = _BRACES.match(text)
    if found is None:
        return [text]
    before, inside, after = found.groups()
    numbers = _RANGE.fullmatch(inside)
    if numbers is not None:
        first, last = int(numbers[1]), int(numbers[2])
        if abs(last - first) >= MAX_FIELDS:
            raise NotFollowed(f"more than {MAX_FIELDS} words")
        middle = (
            [str(n) for n in range(first, last + 1)] if first <= last else [str(n) for n in range(first, last - 1, -1)]
        )
    elif "," in inside:
        middle = inside.split(",")
    else:
        return [text]
    tails = braces(after)
    if len(middle) * len(tails) > MAX_FIELDS:
        raise NotFollowed(f"more than {MAX_FIELDS} words")
    return [before + one + tail for one in middle for tail in tails]


def shown(value: Data) -> str:
    """Return a value as a text of the environment."""
    return value.text[:KEPT_TEXT]
