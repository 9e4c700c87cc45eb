# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of C source: each changes one line of a function, by one of seven operators.

A tokenizer reads the source, not a parser: it relies on kernel style, where the braces of a function are
in column 0. So a mutant may fail to compile.
"""
import collections
import random
import re

Site = collections.namedtuple("Site", "file line operator old new")
Token = collections.namedtuple("Token", "kind text at line column")

# How often each operator is taken while it has lines left.
WEIGHTS = {"negate": 22, "drop": 26, "off by one": 18, "swap": 14, "leak": 9, "double": 5, "barrier": 6}

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>'(?:\\.|[^'\\\n])*')
  | (?P<number>\d(?:[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)
""", re.S | re.M | re.X)

BARRIER = re.compile(r"dap_(wmb|rmb|mb)_|dap_wc_flush$|m5_compiler_barrier$|m5_bf_flush$|atomic_thread_fence$")
LEAK = re.compile(r"(^|_)(free|unref|put|release|close|munmap|unmap|destroy|dealloc|drop)(_|$)")
# Names with "put" that store a value in a message.
STORE = re.compile(r"^put(_|\d)|_put_(aeth|piggyback|back)$|cqe")
DOUBLE = re.compile(r"(^|_)(complete(_\w+)?|deliver(_public)?|(evd|async|eq)_post|cqe_(write|put)|put_cqe|efa_push)$|"
                    r"^(dap_conn_|dap_conn_end_|notify_|sn_(\w+_)?|send_completion_)?event$")
# A change of a log line or of an assertion is no change of behaviour that a test should judge.
NOISE = re.compile(r"(^|_)(log|assert|invariant|debug|trace|perror|fprintf)(_|$)|^_Static_assert$|_log$")
TYPE = {"struct", "union", "enum", "const", "static", "volatile", "unsigned", "signed", "int", "char", "long",
        "short", "void", "bool", "size_t", "typedef", "extern", "register", "float", "double", "_Thread_local"}
JUMP = {"return", "break", "continue", "goto"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
INVERSE = {"==": "!=", "!=": "==", "&&": "||", "||": "&&"}


def tokens(text):
    """Returns the tokens without comments and directives."""
    found, line, last = [], 1, 0
    for m in TOKEN.finditer(text):
        line += text.count("\n", last, m.start())
        last = m.start()
        if m.lastgroup not in ("comment", "directive"):
            found.append(Token(m.lastgroup, m[0], m.start(), line, m.start() - text.rfind("\n", 0, m.start()) - 1))
    return found


def functions(found):
    """Yields the tokens of each function body, with its braces."""
    start = None
    for i, t in enumerate(found):
        if t.column == 0 and t.text == "{":
            start = i
        elif t.column == 0 and t.text == "}" and start is not None:
            yield found[start:i + 1]
            start = None


def closing(line, i):
    """Returns the index of the parenthesis that closes line[i], or None if it is on another line."""
    depth = 0
    for j in range(i, len(line)):
        depth += {"(": 1, ")": -1}.get(line[j].text, 0)
        if not depth:
            return j
    return None


def fields(text, known):
    """Adds the types of the fields of structs: {name: {type}}."""
    for body in re.findall(r"\b(?:struct|union)\s*\w*\s*\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        for declaration in body.split(";"):
            m = re.match(r"\s*((?:(?:const|volatile|struct|enum|union|unsigned|signed|long)\s+)*\w+)\s*([^()]*)$",
                         declaration, re.S)
            for name in m[2].split(",") if m else ():
                d = re.match(r"\s*(\**)\s*(\w+)\s*(\[.*\]|:.*)?\s*$", name, re.S)
                if d and not (d[3] or "").startswith("["):
                    known[d[2]].add(m[1].replace("const ", "") + d[1])


class Line:
    """One line of a function: its text and tokens, and the token ahead of it."""

    def __init__(self, text, found, before):
        self.text, self.tokens, self.before = text, found, before
        self.start = found[0].at - found[0].column
        self.words = [t.text for t in found]
        self.noise = any(t.kind == "name" and NOISE.search(t.text) for t in found)
        self.is_declaration = self.declares()
        self.call = self.statement = None
        if self.is_statement():
            self.statement = self.words[0] in JUMP or any(w in ASSIGN for w in self.words) or self.called()
            self.call = self.called()

    def declares(self):
        w, kinds = self.words, [t.kind for t in self.tokens]
        return w[0] in TYPE or w[0].endswith("_t") or \
            kinds[:2] == ["name"] * 2 and w[0] not in JUMP | {"else", "case", "sizeof"} or \
            len(w) > 3 and kinds[0] == "name" and w[1] == "*" and kinds[2] == "name" and w[3] in ("=", ";", ",", "[")

    def is_statement(self):
        w = self.words
        return self.before.text in (";", "{", "}", ")", "else", ":") and w.count(";") == 1 and w[-1] == ";" and \
            not self.is_declaration and w.count("(") == w.count(")") and \
            (self.tokens[0].kind == "name" or w[0] in ("*", "++", "--")) and \
            w[0] not in ("if", "while", "for", "else", "case", "default", "do")

    def called(self):
        """Returns the name of the function if the whole statement is one call."""
        if "(" not in self.words or self.words[0] in JUMP:
            return None
        i = self.words.index("(")
        if i == 0 or self.tokens[i - 1].kind != "name" or closing(self.tokens, i) != len(self.words) - 2:
            return None
        if not all(t.kind == "name" or t.text in ("->", ".") for t in self.tokens[:i]):
            return None
        return self.words[i - 1]

    def put(self, first, last, new):
        """Returns the text of the line with tokens first to last replaced."""
        a, b = self.tokens[first], self.tokens[last]
        return self.text[:a.at - self.start] + new + self.text[b.at + len(b.text) - self.start:]

    def source(self, first, last):
        a, b = self.tokens[first], self.tokens[last]
        return self.text[a.at - self.start:b.at + len(b.text) - self.start]


def negate(line, _):
    for i, t in enumerate(line.tokens):
        if t.text in ("if", "while") and i + 1 < len(line.tokens) and line.words[i + 1] == "(":
            end = closing(line.tokens, i + 1)
            if end:
                yield line.put(i + 1, end, "(!%s)" % line.source(i + 1, end))
        elif t.text in INVERSE:
            yield line.put(i, i, INVERSE[t.text])
        elif t.text == "!" and i + 1 < len(line.tokens) and line.tokens[i + 1].kind == "name":
            yield line.put(i, i, "")


def drop(line, _):
    if line.statement and not (line.call and (BARRIER.search(line.call) or is_leak(line.call))):
        yield line.put(0, len(line.tokens) - 1, ";")


def off_by_one(line, _):
    if line.is_declaration and "=" not in line.words:
        return
    for i, t in enumerate(line.tokens):
        if t.text in COMPARE:
            yield line.put(i, i, COMPARE[t.text])
        m = re.fullmatch(r"(0[xX])?([0-9a-fA-F]+?)([uUlL]*)", t.text) if t.kind == "number" else None
        if not m or line.words[i - 1:i + 2] == ["{", "0", "}"]:
            continue
        value = int(m[2], 16 if m[1] else 8 if m[2][0] == "0" else 10)
        for v in (value + 1, value - 1):
            if v >= 0:
                yield line.put(i, i, (("0x%x" if m[1] else "%d") % v) + m[3])


def swap(line, function):
    """Swaps a field for another of the same type that the function uses of the same object, or two arguments."""
    for i in range(len(line.tokens) - 2):
        base, arrow, name = line.tokens[i:i + 3]
        if base.kind != "name" or arrow.text not in ("->", ".") or i and line.words[i - 1] in ("->", "."):
            continue
        for other in sorted(function.used[base.text] - {name.text}):
            if function.types[other] & function.types[name.text]:
                yield line.put(i + 2, i + 2, other)
    for i, t in enumerate(line.tokens[:-1]):
        if t.kind == "name" and line.words[i + 1] == "(" and t.text not in ("if", "while", "for", "switch", "return"):
            yield from swap_arguments(line, i + 1)


def swap_arguments(line, opening):
    end = closing(line.tokens, opening)
    if not end or line.is_declaration and "=" not in line.words[:opening]:
        return
    starts, depth = [opening + 1], 0
    for i in range(opening + 1, end):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(line.words[i], 0)
        if line.words[i] == "," and not depth:
            starts.append(i + 1)
    parts = [(a, b - 2) for a, b in zip(starts, starts[1:] + [end + 1])]
    for (a, b), (c, d) in zip(parts, parts[1:]):
        one, two = line.source(a, b), line.source(c, d)
        if one != two:
            yield line.put(a, d, two + line.text[line.tokens[b].at + len(line.words[b]) - line.start:
                                                 line.tokens[c].at - line.start] + one)


def barrier(line, _):
    if line.call and BARRIER.search(line.call):
        yield line.put(0, len(line.tokens) - 1, ";")


def is_leak(name):
    return LEAK.search(name) and not STORE.search(name)


def leak(line, _):
    if line.call and is_leak(line.call):
        yield line.put(0, len(line.tokens) - 1, ";")


def double(line, _):
    if line.call and DOUBLE.search(line.call):
        statement = line.source(0, len(line.tokens) - 1)
        yield line.put(0, len(line.tokens) - 1, "{ %s %s }" % (statement, statement))


OPERATORS = {"negate": negate, "drop": drop, "off by one": off_by_one, "swap": swap, "leak": leak,
             "double": double, "barrier": barrier}


class Function:
    """What the operators know of a function: the fields used of each object, and the types of all fields."""

    def __init__(self, found, types):
        self.types = types
        self.used = collections.defaultdict(set)
        for a, b, c in zip(found, found[1:], found[2:]):
            if a.kind == c.kind == "name" and b.text in ("->", "."):
                self.used[a.text].add(c.text)


def sites(path, text, types):
    """Yields each mutant of a file."""
    source = text.split("\n")
    for body in functions(tokens(text)):
        function = Function(body, types)
        lines = collections.defaultdict(list)
        for i, t in enumerate(body[1:-1], 1):
            lines[t.line].append(i)
        for number, at in lines.items():
            # A string may span lines only by a backslash, which this style does not use.
            line = Line(source[number - 1], body[at[0]:at[-1] + 1], body[at[0] - 1])
            if line.noise:
                continue
            for name, operator in OPERATORS.items():
                for new in operator(line, function):
                    yield Site(path, number, name, line.text, new)


def sequence(files, seed):
    """Returns the mutants of these files ({path: text}) in the order of a seed. Each line has at most one of
    each operator."""
    types = collections.defaultdict(set)
    for text in files.values():
        fields(text, types)
    pools = {name: {} for name in WEIGHTS}
    for path in sorted(files):
        for s in sites(path, files[path], types):
            pools[s.operator].setdefault((s.file, s.line), []).append(s)
    rng = random.Random(seed)
    chosen = {}
    for name, pool in pools.items():
        chosen[name] = [rng.choice(pool[at]) for at in sorted(pool)]
        rng.shuffle(chosen[name])
    order = []
    while any(chosen.values()):
        names = [n for n in WEIGHTS if chosen[n]]
        order.append(chosen[rng.choices(names, [WEIGHTS[n] for n in names])[0]].pop())
    return order
