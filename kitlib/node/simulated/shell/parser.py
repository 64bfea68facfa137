"""A parser of shell scripts, whose result is a tree of commands.

It supports the part of the POSIX shell language that manifests use: words with quotes, variables, arithmetic and
command substitution; redirections; pipelines; `;`, `&`, `&&`, `||`; `if`, `while`, `until`, `for`, `case`, groups,
subshells and functions; of bash also `(( … ))`, `for (( … ))` and `[[ … ]]`. Globs, arrays and `<( … )` are not
supported.

Source: POSIX.1-2017, XCU 2.10 Shell Grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kitlib.node.simulated.shell.lexer import Lexer, ShellToken
from kitlib.node.simulated.shell.machine import NotFollowed
from kitlib.node.simulated.shell.tree import (
    AndOr,
    Case,
    Command,
    Compound,
    If,
    Loop,
    Pipeline,
    Redirection,
    Script,
    ShellSyntaxError,
    Simple,
    Word,
    WordPart,
)

MAX_LENGTH, MAX_DEPTH = 20_000, 60
"""Maximum number of characters of a script, and of nested commands."""
_REDIRECTIONS = ("<<<", "<<", ">>", "<&", ">&", "&>", "<", ">")
_RESERVED = frozenset(
    ("if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case", "esac", "{", "}", "!", "in")
)
_ENDS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


@lru_cache(maxsize=512)
def parse(text: str) -> Script:
    """Parse a script.

    Raises:
        ShellSyntaxError: the text is invalid; the message names the word at which parsing failed.
        NotFollowed: a part of the script is valid but not supported.
    """
    if len(text) > MAX_LENGTH:
        raise NotFollowed(f"longer than {MAX_LENGTH} characters")
    parser = _Parser(Lexer(text).tokens())
    script = parser.script()
    parser.expect_end()
    return script


class _Parser:
    def __init__(self, tokens: Sequence[ShellToken]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def _peek(self) -> ShellToken | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.kind != "newline" and token.text in texts and self._plain(token)

    @staticmethod
    def _plain(token: ShellToken) -> bool:
        return token.kind == "operator" or all(part.kind == "text" and not part.quoted for part in token.word)

    def _expect(self, text: str) -> None:
        self._newlines()
        if not self._is(text):
            token = self._peek()
            raise ShellSyntaxError(f'unexpected "{token.text if token is not None else "end of file"}"')
        self._at += 1

    def _newlines(self) -> None:
        while self._at < len(self._tokens) and self._tokens[self._at].kind == "newline":
            self._at += 1

    def expect_end(self) -> None:
        """Raise ShellSyntaxError if a token is left."""
        token = self._peek()
        if token is not None:
            raise ShellSyntaxError(f'unexpected "{token.text}"')

    def script(self) -> Script:
        """Parse a list of commands up to a closing word."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotFollowed("nested too deeply")
        found: list[AndOr] = []
        while True:
            self._newlines()
            token = self._peek()
            if token is None or self._is(*_ENDS, ")", ";;"):
                self._depth -= 1
                return tuple(found)
            one = self._and_or()
            if self._is("&"):
                one = one._replace(background=True)
                self._at += 1
            elif self._is(";"):
                self._at += 1
            found.append(one)

    def _and_or(self) -> AndOr:
        steps, operator = list[tuple[str, Pipeline]](), ""
        while True:
            steps.append((operator, self._pipeline()))
            if not self._is("&&", "||"):
                return AndOr(tuple(steps))
            operator = self._tokens[self._at].text
            self._at += 1
            self._newlines()

    def _pipeline(self) -> Pipeline:
        inverted = self._is("!")
        self._at += inverted
        commands = [self._command()]
        while self._is("|"):
            self._at += 1
            self._newlines()
            commands.append(self._command())
        return Pipeline(tuple(commands), inverted)

    def _command(self) -> Command:
        token = self._peek()
        if token is None:
            raise ShellSyntaxError('unexpected "end of file"')
        if self._is("(") or self._is("{"):
            closing = ")" if token.text == "(" else "}"
            self._at += 1
            body = self.script()
            self._expect(closing)
            return Compound(body, subshell=closing == ")", redirections=self._redirections())
        if self._is("while", "until"):
            self._at += 1
            condition = self.script()
            return Loop(condition, self._body(), token.text == "until", redirections=self._redirections())
        if self._is("for"):
            return self._for()
        if self._is("if"):
            return self._if()
        if self._is("case"):
            return self._case()
        if self._is("[["):
            return self._test()
        if token.kind == "arithmetic":
            self._at += 1
            return _calculation(token.text)
        following = self._tokens[self._at + 1 : self._at + 3]
        if token.kind == "word" and [one.text for one in following] == ["(", ")"]:
            self._at += 3
            self._newlines()
            return Compound((AndOr((("", Pipeline((self._command(),))),)),), function=token.text)
        return self._simple()

    def _body(self) -> Script:
        self._expect("do")
        body = self.script()
        self._expect("done")
        return body

    def _counting(self, head: ShellToken) -> Compound:
        """Parse the rest of bash's `for ((first; condition; step)); do …; done`."""
        self._at += 1
        pieces = head.text.split(";")
        if len(pieces) != 3:
            raise ShellSyntaxError(f'unexpected "(({head.text}))"')
        first, condition, step = (_let(piece) if piece.strip() else () for piece in pieces)
        if self._is(";"):
            self._at += 1
        loop = Loop(condition or parse("true"), (*self._body(), *step))
        once = AndOr((("", Pipeline((loop,))),))
        return Compound((*first, once), redirections=self._redirections())

    def _for(self) -> Loop | Compound:
        self._at += 1
        if (head := self._peek()) is not None and head.kind == "arithmetic":
            return self._counting(head)
        name = self._tokens[self._at].text if self._peek() is not None else ""
        self._at += 1
        self._newlines()
        words: list[Word] | None = None
        if self._is("in"):
            self._at += 1
            words = []
            while (token := self._peek()) is not None and token.kind == "word":
                words.append(token.word)
                self._at += 1
        if self._is(";"):
            self._at += 1
        body = self._body()
        return Loop(
            (), body, name=name, words=None if words is None else tuple(words), redirections=self._redirections()
        )

    def _if(self) -> If:
        branches = list[tuple[Script, Script]]()
        while True:
            self._at += 1
            condition = self.script()
            self._expect("then")
            branches.append((condition, self.script()))
            if self._is("elif"):
                continue
            if self._is("else"):
                self._at += 1
                branches.append(((), self.script()))
            self._expect("fi")
            return If(tuple(branches), self._redirections())

    def _case(self) -> Case:
        self._at += 1
        token = self._peek()
        if token is None or token.kind != "word":
            raise ShellSyntaxError("case: a word is missing")
        self._at += 1
        self._expect("in")
        branches = list[tuple[tuple[Word, ...], Script]]()
        self._newlines()
        while not self._is("esac"):
            if self._is("("):
                self._at += 1
            patterns: list[Word] = []
            while (pattern := self._peek()) is not None and not self._is(")"):
                if pattern.kind == "word":
                    patterns.append(pattern.word)
                self._at += 1
            self._expect(")")
            branches.append((tuple(patterns), self.script()))
            if self._is(";;"):
                self._at += 1
            self._newlines()
        self._expect("esac")
        return Case(token.word, tuple(branches), self._redirections())

    def _test(self) -> Simple:
        """Parse `[[ … ]]`, in which operators are words."""
        words = list[Word]()
        while (token := self._peek()) is not None:
            self._at += 1
            words.append(token.word or (WordPart("text", token.text, True),))
            if token.kind == "word" and token.text == "]]":
                return Simple((), tuple(words), self._redirections())
        raise ShellSyntaxError('unexpected "end of file"')

    def _redirections(self) -> tuple[Redirection, ...]:
        found = []
        while (one := self._redirection()) is not None:
            found.append(one)
        return tuple(found)

    def _redirection(self) -> Redirection | None:
        token = self._peek()
        if token is None or token.kind != "operator" or token.text not in _REDIRECTIONS:
            return None
        self._at += 1
        target = self._peek()
        if target is not None and target.text == "(":
            raise NotFollowed("process substitution")
        if target is None or target.kind != "word":
            raise ShellSyntaxError(f'"{token.text}" needs a file')
        self._at += 1
        descriptor = token.descriptor if token.descriptor >= 0 else 0 if token.text.startswith("<") else 1
        return Redirection(descriptor, token.text, target.word)

    def _simple(self) -> Simple:
        assignments, words, redirections = list[tuple[str, Word]](), list[Word](), list[Redirection]()
        while (token := self._peek()) is not None:
            redirection = self._redirection()
            if redirection is not None:
                redirections.append(redirection)
                continue
            if token.kind != "word":
                break
            if not words and self._is(*_RESERVED):
                raise ShellSyntaxError(f'unexpected "{token.text}"')
            assignment = self._assignment(token) if not words else None
            if assignment is not None:
                assignments.append(assignment)
            else:
                words.append(token.word)
            self._at += 1
        if not (assignments or words or redirections):
            rest = self._peek()
            raise ShellSyntaxError(f'unexpected "{rest.text if rest is not None else "end of file"}"')
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    @staticmethod
    def _assignment(token: ShellToken) -> tuple[str, Word] | None:
        first = token.word[0] if token.word else WordPart("text", "")
        name, equals, rest = first.text.partition("=")
        if first.kind != "text" or first.quoted or not equals or not name.isidentifier():
            return None
        return name, (WordPart("text", rest), *token.word[1:])


def _calculation(text: str) -> Simple:
    return Simple((), ((WordPart("text", "let"),), (WordPart("text", text, True),)), ())


def _let(text: str) -> Script:
    return (AndOr((("", Pipeline((_calculation(text),))),)),)
