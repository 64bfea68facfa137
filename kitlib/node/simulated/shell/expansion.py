"""Expansion of words: variables, command substitution, arithmetic, braces, fields.

Source: POSIX.1-2017, XCU 2.6 Word Expansions; braces as bash and busybox have them.
"""

from __future__ import annotations

import ast
import fnmatch
import operator
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from kitlib.node.simulated.shell.lexer import Lexer
from kitlib.node.simulated.shell.machine import KEPT_TEXT, Data, FatalError, NotFollowed
from kitlib.node.simulated.shell.tree import ShellSyntaxError, Word, WordPart

MAX_FIELDS = 10_000
"""Maximum number of words that one word expands to."""
_BRACES = re.compile(r"^(.*?)\{([^{}]*)\}(.*)$", re.DOTALL)
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
MAX_MATCHED = 4096
"""Maximum number of characters of a value whose beginnings or ends are matched with a pattern."""
BLANKS = " \t\n"
_NAME = re.compile(r"(?P<length>#(?=\w|[@*]))?(?P<name>\w+|[?$!#@*])(?P<rest>.*)", re.DOTALL)
_DEFAULT = re.compile(r"(?P<colon>:?)(?P<mark>[-=+?])(?P<word>.*)", re.DOTALL)
_EXPANDED = re.compile(r"[$`](?!\w|\{\w+\})")
"""The parts of an arithmetic expression that are expanded first; the expression itself evaluates plain names."""
_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda text: text[:1].upper() + text[1:],
    ",": lambda text: text[:1].lower() + text[1:],
}
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


class Parameters(Protocol):
    """The parameters of a shell; see `interpreter.Shell`."""

    variables: dict[str, Data]
    arguments: list[str]
    options: set[str]
    kind: str

    def special(self, name: str) -> str | None:
        """Return the value of `$?` and other special parameters; None = not a special parameter, or not set."""
        ...

    def substitute(self, text: str) -> Data:
        """Run a script and return its output."""
        ...


class Piece(NamedTuple):
    """A part of a word after its expansion.

    Attributes:
        data: the value.
        splits: whether it is split into fields.
        begins: whether a new field begins before it, as before each argument in `$@` but the first.
    """

    data: Data
    splits: bool = False
    begins: bool = False


class Expansion:
    """The expansion of words in a shell.

    Args:
        shell: the parameters of the shell; an assignment changes them.
    """

    def __init__(self, shell: Parameters) -> None:
        self._shell, self._variables = shell, shell.variables

    def value(self, word: Word) -> Data:
        """Return a word as one value, for assignments and redirections."""
        found = Data()
        for part in word:
            found = found.plus(self._part(part))
        return found

    def pattern(self, word: Word) -> str:
        """Return a word as a pattern of `fnmatch`, in which quoted characters are literal."""
        found = ""
        for part in word:
            text = self._part(part).text
            found += re.sub(r"([*?[])", r"[\1]", text) if part.quoted else text
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
        # Without arguments "$@" is no field, not an empty one; the lexer has an empty text on both sides of it.
        none = not self._shell.arguments and any(part.quoted and _is_list(part, "@") for part in word)
        current, unseen, begun = "", 0.0, False
        for piece in self._pieces(word):
            if piece.begins and begun:
                yield current, 0.0
                current, begun = "", False
            unseen += piece.data.more
            if not piece.splits:
                current, begun = current + piece.data.text, begun or bool(piece.data.text) or not none
                continue
            *before, last = self._split(piece.data.text)
            for text, ends in before:
                current, begun = current + text, begun or bool(text)
                if begun or ends:
                    yield current, 0.0
                    current, begun = "", False
            current, begun = current + last[0], begun or bool(last[0])
        if begun:
            yield current, unseen

    def _split(self, text: str) -> list[tuple[str, bool]]:
        """Split a value at the characters of IFS (XCU 2.6.5).

        Returns:
            The texts between the separators, each with whether its separator ends also an empty field; blanks do not.
        """
        marks = self._separators()
        if not marks:
            return [(text, False)]
        parts = re.split(f"({separator(marks)})", text)
        return [(field, bool(mark.strip(BLANKS))) for field, mark in zip(parts[::2], [*parts[1::2], ""], strict=True)]

    def _separators(self) -> str:
        return self._variables.get("IFS", Data(BLANKS)).text

    def _pieces(self, word: Word, *, splits: bool = True) -> Iterator[Piece]:
        """Yield the expanded parts of a word; a text that is the word of a `${…}` is split too if it is not quoted."""
        for part in word:
            if part.kind == "text":
                yield Piece(Data(part.text))
            elif _is_list(part, "@") or (_is_list(part, "*") and not part.quoted):
                for number, argument in enumerate(self._shell.arguments):
                    yield Piece(Data(argument), splits and not part.quoted, number > 0)
            elif part.kind == "variable" and (inner := self._chosen(part)) is not None:
                yield from self._pieces(inner, splits=splits and not part.quoted)
            else:
                yield Piece(self._part(part), splits and not part.quoted)

    def _chosen(self, part: WordPart) -> Word | None:
        """Return the word that a variable is replaced by, as in `${x:-word}`; None = its own value."""
        found = _NAME.fullmatch(part.text)
        operator = _DEFAULT.fullmatch(found["rest"]) if found and not found["length"] else None
        if found is None or operator is None:
            return None
        value = self._get(found["name"])
        missing = value is None or (bool(operator["colon"]) and not value.size)
        if operator["mark"] == "+":
            return () if missing else self._nested(operator["word"], part)
        if not missing:
            return None
        word = self._nested(operator["word"], part)
        if operator["mark"] == "=":
            self._variables[found["name"]] = self.value(word)
        elif operator["mark"] == "?":
            text = self.value(word).text or "parameter not set or null"
            raise FatalError(f"{found['name']}: {text}")
        return word

    def _nested(self, text: str, part: WordPart) -> Word:
        """Return the word inside a `${…}`; its plain text is split like the value of a variable."""
        word = Lexer(text).nested(quoted=part.quoted)
        if part.quoted:
            return tuple(part._replace(quoted=True) for part in word)
        return tuple(WordPart("value", *part[1:]) if part.kind == "text" and not part.quoted else part for part in word)

    def _part(self, part: WordPart) -> Data:
        if part.kind in ("text", "value"):
            return Data(part.text)
        if part.kind == "command":
            return self._shell.substitute(part.text)
        if part.kind == "arithmetic":
            return Data(str(self.arithmetic(part.text)))
        if _is_list(part, "*") and "IFS" in self._variables:
            return Data(self._separators()[:1].join(self._shell.arguments))
        word = self._chosen(part)
        return self._variable(part.text) if word is None else self.value(word)

    def _get(self, name: str) -> Data | None:
        """Return the value of a parameter; None = it is not set."""
        special = self._shell.special(name)
        return Data(special) if special is not None else self._variables.get(name)

    def _variable(self, text: str) -> Data:
        found = _NAME.fullmatch(text)
        if found is None:
            raise ShellSyntaxError(f"bad substitution: ${{{text[:40]}}}")
        name, rest = found["name"], found["rest"]
        if rest.startswith("["):
            raise NotFollowed("an array")
        if found["length"] and name in "@*" and self._shell.kind == "bash":
            return Data(str(len(self._shell.arguments)))
        value = self._get(name)
        if value is None and not _DEFAULT.fullmatch(rest):
            value = self._unset(name)
        if found["length"]:
            return Data(str(int((value or Data()).size)))
        if not rest or value is None or _DEFAULT.fullmatch(rest):
            return value or Data()
        return Data(self._changed(value, rest))

    def _unset(self, name: str) -> Data:
        """Return the value of a parameter that is not set; with nounset that is an error."""
        if "nounset" in self._shell.options:
            text = "unbound variable" if self._shell.kind == "bash" else "parameter not set"
            raise FatalError(f"{name}: {text}")
        return Data()

    def _changed(self, value: Data, rest: str) -> str:
        """Return a value without a part (`%`, `#`), and as in bash and busybox with another part, or a part of it."""
        if value.size > MAX_MATCHED:
            raise NotFollowed(f"${{…{rest[:20]}}} of a value with more than {MAX_MATCHED} characters")
        text = value.text
        if rest[0] in "%#":
            mark, longest = rest[0], rest[1:2] == rest[0]
            pattern = self.pattern(Lexer(rest[1 + longest :]).nested(quoted=False))
            return without(text, mark, pattern, longest=longest)
        if self._shell.kind == "dash":
            raise ShellSyntaxError("bad substitution")
        if rest[0] == "/":
            return self._replaced(text, rest[1:])
        if rest[0] == ":":
            first, colon, length = rest[1:].partition(":")
            begin = self.arithmetic(first)
            end = self.arithmetic(length) if colon else len(text)
            tail = text[begin:] if begin >= 0 else text[len(text) + begin :]
            return tail[:end]
        if rest in _CASES and self._shell.kind == "bash":
            return _CASES[rest](text)
        raise NotFollowed(f"${{…{rest[:40]}}}")

    def _replaced(self, text: str, rest: str) -> str:
        """Return a text after bash's `${x/pattern/text}`; a second `/`, or `#` or `%`, is the first of the pattern."""
        every, edge = rest[:1] == "/", rest[:1] if rest[:1] in ("#", "%") else ""
        wanted, _, new = rest[1 if every or edge else 0 :].partition("/")
        pattern = fnmatch.translate(self.pattern(Lexer(wanted).nested(quoted=False)))
        pattern = pattern.removesuffix(r"\Z").removesuffix(r"\z")  # the end of the text: \z from Python 3.14 on
        other = self.value(Lexer(new).nested(quoted=False)).text
        compiled = re.compile({"": pattern, "#": rf"\A{pattern}", "%": rf"{pattern}\Z"}[edge])
        return compiled.sub(lambda found: other, text, count=0 if every else 1) if wanted else text

    def arithmetic(self, text: str) -> int:
        """Return the value of an arithmetic expression, assignments and `i++` included.

        Raises:
            ShellSyntaxError: a division by zero.
            NotFollowed: the form of the expression is not supported.
        """
        if _EXPANDED.search(text):
            text = self.value(tuple(Lexer(text).expanded())).text
        value = 0
        for alternative in text.split(","):
            value = self._assigned(alternative.strip())
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
            value = self._get(node.id)
            if value is None and self._shell.kind == "bash":  # with nounset an error, which it is not in dash
                value = self._unset(node.id)
            return int((value or Data()).text.strip() or 0)
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
            values = [self._evaluate(value) for value in node.values]
            return int(all(values) if isinstance(node.op, ast.And) else any(values))
        if isinstance(node, ast.IfExp):
            return self._evaluate(node.body if self._evaluate(node.test) else node.orelse)
        raise ValueError(type(node).__name__)


def _bounded(number: int) -> int:
    """Return a number wrapped to 64 bits, as in a shell."""
    return (number + 2**63) % 2**64 - 2**63


def _is_list(part: WordPart, name: str) -> bool:
    """Return whether a part is `$@` or `$*`."""
    return part.kind == "variable" and part.text == name


def separator(marks: str) -> str:
    """Return a regular expression of one separator between fields: a mark with the blanks around it, or blanks.

    Args:
        marks: the value of IFS, not empty.
    """
    white, others = ("".join(mark for mark in marks if (mark in BLANKS) is blank) for blank in (True, False))
    blank = f"[{re.escape(white)}]" if white else "(?!)"
    return f"{blank}*[{re.escape(others)}]{blank}*|{blank}+" if others else f"{blank}+"


def without(text: str, mark: str, pattern: str, *, longest: bool) -> str:
    """Return a text without its shortest or longest end (`%`) or beginning (`#`) that matches a pattern (XCU 2.6.2)."""
    matches = re.compile(fnmatch.translate(pattern)).match
    places = range(len(text) + 1)
    for place in places if longest == (mark == "%") else reversed(places):
        if matches(text[place:] if mark == "%" else text[:place]):
            return text[:place] if mark == "%" else text[place:]
    return text


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
    return [before + part + tail for part in middle for tail in tails]


def shown(value: Data) -> str:
    """Return a value as a text of the environment."""
    return value.text[:KEPT_TEXT]
