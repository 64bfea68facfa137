"""A lexer that splits a shell script into words, operators, line ends and here-documents.

Source: POSIX.1-2017, XCU 2.2 Quoting, 2.3 Token Recognition.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kitlib.node.simulated.shell.tree import ShellSyntaxError, Word, WordPart

_OPERATORS = ("<<<", "&&", "||", ";;", ">>", "<&", ">&", "&>", ";", "&", "|", "<", ">", "(", ")")


MAX_UNCLOSED = 10
"""Maximum number of unclosed parentheses for which the rest of the text is searched, to bound the time."""


class ShellToken(NamedTuple):
    kind: Literal["word", "operator", "newline", "arithmetic"]
    text: str
    word: Word = ()
    descriptor: int = -1


class _Here(NamedTuple):
    """A here-document whose lines follow.

    Attributes:
        token: the index of its content among the tokens.
        end: the line that ends it.
        quoted: whether its text is taken literally.
        stripped: whether tabs at the beginning of a line are dropped (`<<-`).
    """

    token: int
    end: str
    quoted: bool
    stripped: bool


class Lexer:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._here: list[_Here] = []
        self._unclosed = 0

    def tokens(self) -> list[ShellToken]:
        """Return the words, operators and line ends."""
        found: list[ShellToken] = []
        text = self._text
        while self._at < len(text):
            one = text[self._at]
            if one in " \t" or text.startswith("\\\n", self._at):
                self._at += 1 if one in " \t" else 2
            elif one == "\n":
                found.append(ShellToken("newline", "\n"))
                self._at += 1
                for here in self._here:
                    found[here.token] = self._here_document(here)
                self._here.clear()
            elif one == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif text.startswith("<<", self._at) and not text.startswith("<<<", self._at):
                stripped = text.startswith("<<-", self._at)
                self._at += 3 if stripped else 2
                while text[self._at : self._at + 1] in (" ", "\t"):
                    self._at += 1
                word = self._word().word
                found += [ShellToken("operator", "<<"), ShellToken("word", "")]
                last, quoted = "".join(part.text for part in word), any(part.quoted for part in word)
                self._here.append(_Here(len(found) - 1, last, quoted, stripped))
            else:
                found.append(self._arithmetic() or self._operator() or self._word())
        for here in self._here:  # at the end of the text a shell warns and takes the existing lines
            found[here.token] = self._here_document(here)
        return found

    def _here_document(self, here: _Here) -> ShellToken:
        lines = list[str]()
        while self._at < len(self._text):
            line, newline, _ = self._text[self._at :].partition("\n")
            self._at += len(line) + len(newline)
            line = line.lstrip("\t") if here.stripped else line
            if line == here.end:
                break
            lines.append(f"{line}\n")
        body = "".join(lines)
        return ShellToken(
            "word", body, (WordPart("text", body, True),) if here.quoted else tuple(Lexer(body).expanded())
        )

    def expanded(self) -> list[WordPart]:
        """Return the text of a here-document with its variables and substitutions."""
        return self._quoted_until("")

    def _arithmetic(self) -> ShellToken | None:
        """Return `(( … ))` of bash; None where it is a subshell in a subshell."""
        if not self._text.startswith("((", self._at) or self._unclosed > MAX_UNCLOSED:
            return None
        try:
            end = self._closing(self._at + 2, "(", ")")
        except ShellSyntaxError:
            self._unclosed += 1
            return None
        if not self._text.startswith("))", end):
            return None
        inside = self._text[self._at + 2 : end]
        self._at = end + 2
        return ShellToken("arithmetic", inside)

    def _operator(self) -> ShellToken | None:
        text, at = self._text, self._at
        digits = at
        while digits < len(text) and text[digits].isdigit():
            digits += 1
        if digits > at and digits < len(text) and text[digits] in "<>":
            operator = next(one for one in _OPERATORS if text.startswith(one, digits))
            self._at = digits + len(operator)
            return ShellToken("operator", operator, descriptor=int(text[at:digits][:3]))
        for operator in _OPERATORS:
            if text.startswith(operator, at):
                self._at += len(operator)
                return ShellToken("operator", operator)
        return None

    def nested(self, *, quoted: bool) -> Word:
        """Return the whole text as the word of a `${…}`; in double quotes an apostrophe is an ordinary character."""
        return tuple(self._parts("", quoted=quoted))

    def _word(self) -> ShellToken:
        start = self._at
        parts = self._parts(" \t\n;&|<>()")
        return ShellToken("word", self._text[start : self._at], tuple(parts))

    def _parts(self, ends: str, *, quoted: bool = False) -> list[WordPart]:
        """Read the parts of a word up to one of these characters."""
        parts, text = list[WordPart](), self._text
        while self._at < len(text) and text[self._at] not in ends:
            one = text[self._at]
            if one == "'" and not quoted:
                end = self._find("'", self._at + 1)
                parts.append(WordPart("text", text[self._at + 1 : end], True))
                self._at = end + 1
            elif one == '"':
                self._at += 1
                parts += self._quoted_until('"')
            elif one == "\\":
                parts.append(WordPart("text", text[self._at + 1 : self._at + 2], True))
                self._at += 2
            elif one in "$`":
                parts.append(self._dollar(quoted=quoted))
            else:
                end = self._at + 1
                while end < len(text) and text[end] not in "'\"\\$`" + ends:
                    end += 1
                parts.append(WordPart("text", text[self._at : end], quoted))
                self._at = end
        return parts

    def _find(self, mark: str, start: int) -> int:
        end = self._text.find(mark, start)
        if end < 0:
            raise ShellSyntaxError(f"unterminated {mark}")
        return end

    def _quoted_until(self, end: str) -> list[WordPart]:
        """Read up to a quotation mark, or with "" up to the end of the text."""
        parts, plain, text = [WordPart("text", "", True)], "", self._text
        while self._at < len(text):
            one = text[self._at]
            if one == end:
                self._at += 1
                parts.append(WordPart("text", plain, True))
                return parts
            if one == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", "\\", "\n", end or "$"):
                plain += text[self._at + 1].replace("\n", "")
                self._at += 2
            elif one in "$`":
                parts.append(WordPart("text", plain, True))
                plain = ""
                parts.append(self._dollar(quoted=True))
            else:
                plain += one
                self._at += 1
        if not end:
            return [*parts, WordPart("text", plain, True)]
        raise ShellSyntaxError('unterminated "')

    def _dollar(self, *, quoted: bool) -> WordPart:
        text, at = self._text, self._at
        if text[at] == "`":
            end = self._find("`", at + 1)
            self._at = end + 1
            return WordPart("command", text[at + 1 : end], quoted)
        if text.startswith("$((", at):
            end = self._closing(at + 3, "(", ")")
            if text.startswith("))", end):
                self._at = end + 2
                return WordPart("arithmetic", text[at + 3 : end], quoted)
        if text.startswith("$(", at):
            end = self._closing(at + 2, "(", ")")
            self._at = end + 1
            return WordPart("command", text[at + 2 : end], quoted)
        if text.startswith("${", at):
            end = self._closing(at + 2, "{", "}")
            self._at = end + 1
            return WordPart("variable", text[at + 2 : end], quoted)
        end = at + 1
        if text[end : end + 1] and text[end] in "?$!#@*0123456789":
            end += 1
        else:
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
        self._at = end
        if end == at + 1:
            return WordPart("text", "$", quoted)
        return WordPart("variable", text[at + 1 : end], quoted)

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
