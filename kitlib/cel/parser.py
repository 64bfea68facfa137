"""A parser of CEL expressions: tokens, precedence, syntax trees. Macros stay ordinary calls.

Source: cel-spec langdef.md (grammar); kubernetes.io/docs/reference/using-api/cel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.errors import KitError
from kitlib.cel.library import unsigned_in_range

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
      | (?P<int>0x[0-9a-fA-F]+|\d+)
      | (?P<text>(?:[rR]|[bB][rR]?|[rR][bB])?
          (?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark>\.\?|\[\?|==|!=|<=|>=|&&|\|\||[-+*/%!<>.,:?()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
_RESERVED = {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"}
_RESERVED |= {"namespace", "return", "var", "void", "while"}
_CONSTANTS = {"true": True, "false": False, "null": None}


class CompileError(KitError):
    """An expression that is not valid CEL, or that uses a part of the language that the kit does not implement."""


@dataclass(frozen=True)
class ExpressionNode:
    """A node of the syntax tree.

    Attributes:
        kind: literal, name, select, optional_select, index, optional_index, call, method, list, map, message, field,
            optional (an entry marked with `?` in a list, map or message), choice, binary, unary.
        value: the literal, name or operator; the type name of a message.
        parts: the child nodes: a method's receiver first, a map's keys and values in turn.
        at: the offset in the text in characters, from 0.
    """

    kind: str
    value: Any = None
    parts: tuple[ExpressionNode, ...] = field(default=())
    at: int = 0


def parse(text: str) -> ExpressionNode:
    """Parse an expression.

    Raises:
        CompileError: with the position of the error.
    """
    return _Parser(text).whole()


_OPERAND = (
    " expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
"""The tokens that can start an operand, as cel-go's parser lists them."""


def wrong(text: str, at: int, problem: str) -> CompileError:
    """Return a compile error in cel-go's format: line, column, and a mark below the source line."""
    line = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    shown = text[start:].split("\n")[0]
    place = f"<input>:{line}:{at - start + 1}"
    return CompileError(f"compilation failed: ERROR: {place}: {problem}\n | {shown}\n | {'.' * (at - start)}^")


class _Parser:
    """A recursive-descent parser of one expression."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise wrong(text, at, f"Syntax error: token recognition error at: {text[at]!r}")
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found[0], at))
            at = found.end()
        self.tokens.append(("end", "<EOF>", len(text)))

    def whole(self) -> ExpressionNode:
        made = self.expression()
        if self.tokens[self.place][0] != "end":
            raise self.unexpected()
        return made

    def unexpected(self, expecting: str = "") -> CompileError:
        _, shown, at = self.tokens[self.place]
        return wrong(self.text, at, f"Syntax error: mismatched input '{shown}'{expecting}")

    def take(self, *marks: str) -> str:
        """Consume the next token and return it if it is one of these; otherwise return ""."""
        kind, shown, _ = self.tokens[self.place]
        if shown in marks and kind in ("mark", "name"):
            self.place += 1
            return shown
        return ""

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.unexpected()

    def expression(self) -> ExpressionNode:
        made, at = self.level(0), self.tokens[self.place][2]
        if not self.take("?"):
            return made
        yes = self.level(0)
        self.need(":")
        return ExpressionNode("choice", "?:", (made, yes, self.expression()), at)

    def level(self, number: int) -> ExpressionNode:
        if number == len(_LEVELS):
            return self.unary()
        made = self.level(number + 1)
        while True:
            at = self.tokens[self.place][2]
            operator = self.take(*_LEVELS[number])
            if not operator:
                return made
            made = ExpressionNode("binary", operator, (made, self.level(number + 1)), at)

    def unary(self) -> ExpressionNode:
        at = self.tokens[self.place][2]
        operator = self.take("!", "-")
        return ExpressionNode("unary", operator, (self.unary(),), at) if operator else self.member()

    def member(self) -> ExpressionNode:
        made = self.primary()
        while True:
            at = self.tokens[self.place][2]
            mark = self.take(".", ".?", "[", "[?")
            if not mark:
                return made
            if mark in ("[", "[?"):
                made = ExpressionNode("optional_index" if "?" in mark else "index", None, (made, self.expression()), at)
                self.need("]")
                continue
            kind, name, _ = self.tokens[self.place]
            if kind != "name":
                raise self.unexpected()
            self.place += 1
            if mark == "." and self.take("("):
                made = ExpressionNode("method", name, (made, *self.listed(")")), at)
            else:
                made = ExpressionNode("optional_select" if "?" in mark else "select", name, (made,), at)

    def listed(self, end: str) -> list[ExpressionNode]:
        found: list[ExpressionNode] = []
        while not self.take(end):
            found.append(self.expression())
            if not self.take(","):
                self.need(end)
                break
        return found

    def elements(self, optional: bool) -> list[ExpressionNode]:
        """Parse the elements of a list; `optional` is whether the first one's `?` is already consumed."""
        found: list[ExpressionNode] = []
        while optional or not self.take("]"):
            optional = optional or bool(self.take("?"))
            at = self.tokens[self.place][2]
            made = self.expression()
            found.append(ExpressionNode("optional", None, (made,), at) if optional else made)
            optional = False
            if not self.take(","):
                self.need("]")
                break
        return found

    def primary(self) -> ExpressionNode:
        kind, shown, at = self.tokens[self.place]
        if kind == "mark":
            if self.take("("):
                made = self.expression()
                self.need(")")
                return made
            opening = self.take("[", "[?")
            if opening:
                return ExpressionNode("list", None, tuple(self.elements("?" in opening)), at)
            if self.take("{"):
                return self.mapping(at)
            raise self.unexpected(_OPERAND)
        if kind == "end":
            raise self.unexpected(_OPERAND)
        self.place += 1
        if kind == "int":
            return ExpressionNode("literal", int(shown, 0) if "x" in shown else int(shown), at=at)
        if kind == "uint":
            return ExpressionNode("literal", unsigned_in_range(int(shown[:-1], 0 if "x" in shown else 10)), at=at)
        if kind == "float":
            return ExpressionNode("literal", float(shown), at=at)
        if kind == "text":
            return ExpressionNode("literal", _text(shown), at=at)
        if kind == "name" and shown in _CONSTANTS:
            return ExpressionNode("literal", _CONSTANTS[shown], at=at)
        if kind == "name" and shown not in _RESERVED:
            type_name = self.message_type(shown)
            if type_name:
                return self.message(type_name)
            return (
                ExpressionNode("call", shown, tuple(self.listed(")")), at)
                if self.take("(")
                else ExpressionNode("name", shown, at=at)
            )
        self.place -= 1
        raise self.unexpected()

    def message_type(self, first: str) -> str:
        """Consume and return the type name before a message's brace, e.g. `Object.spec`; "" if there is none."""
        # Names and dots are a selection unless a brace follows, so the position changes only after it is found.
        names, place = [first], self.place
        while self.tokens[place][1] == "." and self.tokens[place + 1][0] == "name":
            names.append(self.tokens[place + 1][1])
            place += 2
        if self.tokens[place][:2] != ("mark", "{"):
            return ""
        self.place = place
        return ".".join(names)

    def message(self, type_name: str) -> ExpressionNode:
        """Parse `Type{field: value, ?field: optional}`.

        The message's position is that of the brace, a field's that of the colon, as in cel-go.
        """
        at = self.tokens[self.place][2]
        self.need("{")
        parts: list[ExpressionNode] = []
        while not self.take("}"):
            optional = self.take("?")
            kind, name, _ = self.tokens[self.place]
            if kind != "name" or name in (*_CONSTANTS, "in"):
                raise self.unexpected()
            self.place += 1
            colon = self.tokens[self.place][2]
            self.need(":")
            value = self.expression()
            parts.append(
                ExpressionNode(
                    "field", name, (ExpressionNode("optional", None, (value,), colon) if optional else value,), colon
                )
            )
            if not self.take(","):
                self.need("}")
                break
        return ExpressionNode("message", type_name, tuple(parts), at)

    def mapping(self, at: int) -> ExpressionNode:
        parts: list[ExpressionNode] = []
        while not self.take("}"):
            optional, key_at = self.take("?"), self.tokens[self.place][2]
            key = self.expression()
            parts.append(ExpressionNode("optional", None, (key,), key_at) if optional else key)
            self.need(":")
            parts.append(self.expression())
            if not self.take(","):
                self.need("}")
                break
        return ExpressionNode("map", None, tuple(parts), at)


def _text(shown: str) -> str | bytes:
    r"""Decode a string or bytes literal; in bytes, `\x` and octal escapes are bytes and not code points."""
    start = re.match("[rRbB]*", shown)
    assert start is not None
    marks = start[0].lower()
    raw, as_bytes = "r" in marks, "b" in marks
    body = shown[start.end() :]
    edge = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[edge:-edge]
    if raw:
        return body.encode() if as_bytes else body

    def meant(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(int(code, 16))
        return chr(int(found[4], 8)) if found[4] else _PLAIN.get(found[5], found[5])

    if not as_bytes:
        return _ESCAPE.sub(meant, body)
    made, at = b"", 0
    for found in _ESCAPE.finditer(body):
        made += body[at : found.start()].encode()
        of_byte = found[1] or found[4]
        made += meant(found).encode("latin-1" if of_byte else "utf-8")
        at = found.end()
    return made + body[at:].encode()
