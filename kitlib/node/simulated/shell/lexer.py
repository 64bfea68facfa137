"""Splits a shell script into words, operators and line ends.

Source: POSIX.1-2017, XCU 2.2 Quoting, 2.3 Token Recognition.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kitlib.node.simulated.shell.tree import Part, ShellSyntaxError, Word

_OPERATORS = ("&&", "||", ";;", ">>", "<&", ">&", "&>", ";", "&", "|", "<", ">", "(", ")")


class Token(NamedTuple):
    kind: Literal["word", "operator", "newline"]
    text: str
    word: Word = ()
    descriptor: int = -1


class Lexer:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def tokens(self) -> list[Token]:
        """Return the words, operators and line ends."""
        found: list[Token] = []
        text = self._text
        while self._at < len(text):
            one = text[self._at]
            if one in " \t" or text.startswith("\\\n", self._at):
                self._at += 1 if one in " \t" else 2
            elif one == "\n":
                found.append(Token("newline", "\n"))
                self._at += 1
            elif one == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                found.append(self._operator() or self._word())
        return found

    def _operator(self) -> Token | None:
        text, at = self._text, self._at
        digits = at
        while digits < len(text) and text[digits].isdigit():
            digits += 1
        if digits > at and digits < len(text) and text[digits] in "<>":
            operator = next(one for one in _OPERATORS if text.startswith(one, digits))
            self._at = digits + len(operator)
            return Token("operator", operator, descriptor=int(text[at:digits][:3]))
        if text.startswith("<<", at):
            raise ShellSyntaxError("here-documents are not read")
        for operator in _OPERATORS:
            if text.startswith(operator, at):
                self._at += len(operator)
                return Token("operator", operator)
        return None

    def _word(self) -> Token:
        start, parts = self._at, list[Part]()
        text = self._text
        while self._at < len(text) and text[self._at] not in " \t\n;&|<>()":
            one = text[self._at]
            if one == "'":
                end = self._find("'", self._at + 1)
                parts.append(Part("text", text[self._at + 1 : end], True))
                self._at = end + 1
            elif one == '"':
                self._at += 1
                parts += self._double_quoted()
            elif one == "\\":
                parts.append(Part("text", text[self._at + 1 : self._at + 2], True))
                self._at += 2
            elif one in "$`":
                parts.append(self._dollar(quoted=False))
            else:
                end = self._at
                while end < len(text) and text[end] not in " \t\n;&|<>()'\"\\$`":
                    end += 1
                parts.append(Part("text", text[self._at : end]))
                self._at = end
        return Token("word", text[start : self._at], tuple(parts))

    def _find(self, mark: str, start: int) -> int:
        end = self._text.find(mark, start)
        if end < 0:
            raise ShellSyntaxError(f"unterminated {mark}")
        return end

    def _double_quoted(self) -> list[Part]:
        parts, plain, text = [Part("text", "", True)], "", self._text
        while self._at < len(text):
            one = text[self._at]
            if one == '"':
                self._at += 1
                parts.append(Part("text", plain, True))
                return parts
            if one == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                plain += text[self._at + 1].replace("\n", "")
                self._at += 2
            elif one in "$`":
                parts.append(Part("text", plain, True))
                plain = ""
                parts.append(self._dollar(quoted=True))
            else:
                plain += one
                self._at += 1
        raise ShellSyntaxError('unterminated "')

    def _dollar(self, *, quoted: bool) -> Part:
        text, at = self._text, self._at
        if text[at] == "`":
            end = self._find("`", at + 1)
            self._at = end + 1
            return Part("command", text[at + 1 : end], quoted)
        if text.startswith("$((", at):
            end = self._closing(at + 3, "(", ")")
            if text.startswith("))", end):
                self._at = end + 2
                return Part("arithmetic", text[at + 3 : end], quoted)
        if text.startswith("$(", at):
            end = self._closing(at + 2, "(", ")")
            self._at = end + 1
            return Part("command", text[at + 2 : end], quoted)
        if text.startswith("${", at):
            end = self._closing(at + 2, "{", "}")
            self._at = end + 1
            return Part("variable", text[at + 2 : end], quoted)
        end = at + 1
        if text[end : end + 1] and text[end] in "?$!#@*0123456789":
            end += 1
        else:
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
        self._at = end
        if end == at + 1:
            return Part("text", "$", quoted)
        return Part("variable", text[at + 1 : end], quoted)

    def _closing(self, start: int, opening: str, closing: str) -> int:
        depth, quote = 1, ""
        for at in range(start, len(self._text)):
            one = self._text[at]
            if quote:
                quote = "" if one == quote else quote
            elif one in "'\"":
                quote = one
            elif one == opening:
                depth += 1
            elif one == closing:
                depth -= 1
                if not depth:
                    return at
        raise ShellSyntaxError(f"unterminated {opening}")
