"""The mutants of one C++ source, each a single token changed.

A tokenizer and clang-format's blanks suffice, without a parser: comparisons, shifts and binary signs are always
between blanks; the brackets of a template and unary signs never are.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"""
    (?P<skip>     //[^\n]* | /\*.*?\*/
                | (?:(?<=\n)|\A)[ \t]*\#(?:\\\n|[^\n])*            # a preprocessor line
                | \b(?:u8|[uUL])?R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"
                | (?:\b(?:u8|[uUL]))?(?:"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+') )
  | (?P<float>    0[xX][\da-fA-F']*\.?[\da-fA-F']*[pP][+-]?\d+[fFlL]?
                | \d[\d']*\.[\d']*(?:[eE][+-]?\d+)?[fFlL]? | \.\d[\d']*(?:[eE][+-]?\d+)?[fFlL]?
                | \d[\d']*[eE][+-]?\d+[fFlL]? )
  | (?P<integer>  (?:0[xX][\da-fA-F']+ | 0[bB][01']+ | \d[\d']*)[uUlLzZ]* )
  | (?P<word>     [A-Za-z_]\w* )
  | (?P<operator> <=> | <<= | >>= | \.\.\. | ->\*? | :: | \+\+ | -- | << | >>
                | [-+*/%&|^<>=!]= | && | \|\| | [^\w\s] )
""", re.VERBOSE | re.DOTALL)

# Between blanks: boundaries and negations of comparisons, signs, shifts, connectives.
BETWEEN_BLANKS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "<<": [">>"], ">>": ["<<"],
    "+": ["-"], "-": ["+"], "+=": ["-="], "-=": ["+="], "<<=": [">>="], ">>=": ["<<="],
}
ANYWHERE = {"++": ["--"], "--": ["++"], "true": ["false"], "false": ["true"]}


@dataclass(frozen=True)
class Mutant:
    file: str
    line: str         # the source line, without the blanks at its ends and without the comment after it
    mutated: str
    occurrence: int   # 1 for the first line of this text in the file, 2 for the second ...
    number: int       # from 1 in its file; the mutants of one token follow each other
    change: "Change"

    @property
    def key(self):
        return (self.file, self.occurrence, self.line, self.mutated)

    def apply(self, source):
        return source[:self.change.start] + self.change.replacement + source[self.change.end:]

    def __str__(self):
        which = f" ({self.occurrence})" if self.occurrence > 1 else ""
        return f"{self.file}{which}\n- {self.line}\n+ {self.mutated}"


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Change:
    start: int
    end: int
    replacement: str
    switched: str  # how switch.h spells token and replacement in one; "" if it cannot


def tokenize(source):
    return [Token(m.lastgroup if m.lastgroup != "mark" else "skip", m.group(), m.start(), m.end())
            for m in TOKEN.finditer(source)]


def increment(token):
    """Returns the literal plus one, in its own base and with its own suffix."""
    if token.kind == "float":
        digits = re.fullmatch(r"(\d+)(\.0*)", token.text.replace("'", ""))
        return f"{int(digits[1]) + 1}{digits[2]}" if digits else None
    body = token.text.rstrip("uUlLzZ")
    suffix = token.text[len(body):]
    base = {"0x": 16, "0b": 2}.get(body[:2].lower(), 8 if len(body) > 1 and body[0] == "0" else 10)
    value = int(body.replace("'", ""), base) + 1
    return {16: hex, 2: bin, 8: lambda n: f"0{n:o}", 10: str}[base](value) + suffix


def changes(source):
    """Yields the Change of every mutant."""
    tokens = [token for token in tokenize(source) if token.kind != "skip"]
    brackets = 0         # how many template lists are open
    parentheses = 0      # of a static_assert
    previous = None
    for token in tokens:
        text = token.text
        before = source[token.start - 1:token.start].isspace()
        after = source[token.end:token.end + 1].isspace()
        named_operator = previous is not None and previous.text == "operator"
        opens_list = text == "<" and not after and not named_operator
        closes_list = text in (">", ">>") and not before and not named_operator and brackets > 0
        in_assert = parentheses > 0 or (previous is not None and previous.text == "static_assert")
        if in_assert:
            parentheses += {"(": 1, ")": -1}.get(text, 0)
        elif opens_list:
            brackets += 1
        elif closes_list:
            brackets -= len(text)
        elif brackets == 0 and not named_operator:
            spelling = switch_spelling(token, before and after, after_operand(source, token))
            for replacement in replacements(token, before, after):
                yield Change(token.start, token.end, replacement, spelling)
        previous = token


def replacements(token, before, after):
    if token.kind in ("integer", "float"):
        incremented = increment(token)
        return [incremented] if incremented else []
    if token.text in ANYWHERE:
        return ANYWHERE[token.text]
    if before and after:
        return BETWEEN_BLANKS.get(token.text, [])
    return [""] if token.text == "-" else []  # a unary minus is dropped


def after_operand(source, token):
    """True for the sign of i++."""
    return re.match(r"[\w)\]]", source[token.start - 1:token.start]) is not None


def switch_spelling(token, between_blanks, postfix):
    """Returns what stands for all mutants of a token, chosen when the program runs: see switch.h. A percent sign stands
    for the number of the first."""
    if token.kind in ("integer", "float"):
        return f"(coppice_mutant == % ? {{}} : {token.text})"
    if between_blanks and token.text in SWITCHES:
        return f"{token.text} coppice_mutation::{SWITCHES[token.text]}<%>() {token.text}"
    if not postfix and token.text in PREFIX_SWITCHES:
        return f"coppice_mutation::{PREFIX_SWITCHES[token.text]}<%>() ->* "
    return ""


SWITCHES = {
    "<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual", "==": "Equal",
    "!=": "NotEqual", "+": "Plus", "-": "Minus", "<<": "Left", ">>": "Right",
    "+=": "Add", "-=": "Subtract", "<<=": "ShiftLeft", ">>=": "ShiftRight",
}
PREFIX_SWITCHES = {"++": "Increment", "--": "Decrement", "-": "Negate"}


def switched_source(source, mutants):
    """Returns the source with all these mutants in it, each chosen by its number when the program runs."""
    first_of = {}
    for mutant in mutants:
        first_of.setdefault(mutant.change.start, mutant)
    for mutant in sorted(first_of.values(), key=lambda m: -m.change.start):
        change = mutant.change
        spelled = change.switched.replace("%", str(mutant.number)).format(change.replacement)
        source = source[:change.start] + spelled + source[change.end:]
    return source


def comments_in(source):
    """Returns where the last comment of a line begins, by the start of the line."""
    return {source.rfind("\n", 0, token.start) + 1: token.start
            for token in tokenize(source) if token.text.startswith("//")}


def mutants_of(file, source):
    occurrences = {}  # start of a line -> how many lines of its text there are up to it
    seen = {}
    comments = comments_in(source)
    start = 0
    for line in source.splitlines(keepends=True):
        text = source[start:comments.get(start, start + len(line))].strip()
        seen[text] = occurrences[start] = seen.get(text, 0) + 1
        start += len(line)
    mutants = []
    for number, change in enumerate(changes(source), start=1):
        line_start = source.rfind("\n", 0, change.start) + 1
        line_end = source.find("\n", change.end)
        line_end = len(source) if line_end < 0 else line_end
        line_end = comments.get(source.rfind("\n", 0, line_end) + 1, line_end)
        mutated = source[line_start:change.start] + change.replacement + source[change.end:line_end]
        mutants.append(Mutant(file, source[line_start:line_end].strip(), mutated.strip(),
                              occurrences[line_start], number, change))
    return mutants


# A sample and the mutated lines that it must give, all of them and no others.
SAMPLE = r'''
#include <array>
#define LIMIT 7
// a comment: 1 < 2
/* a longer one: 1 == 1,
   on two lines: 2 */
constexpr uint64_t kMany = 1'000'000u, kMask = 0xfful;
static_assert(sizeof(int) == 4 && (kMany > 3), "4 is what we count on");
template <typename T, int N = 3>
std::array<T, 1 << 4> Table(const T& a, T&& b, const char* c) {
  const std::vector<std::vector<int>> nested;
  if (a <= b && *c == '1') return Text("at 5 \" < 6", R"x(7 > 8)")x");
  x->y += static_cast<uint16_t>(-a + b) << 2;
  for (; i-- > 0;) ++j;  // 3 < 4: the comment is no part of the line
  auto operator<=>(const T&) const = default;
  bool operator==(const T&, const T&) { return true; }
  z >>= 010; w = 2.0 - 1e-9 - x0;
}
'''
EXPECTED = r'''
constexpr uint64_t kMany = 1000001u, kMask = 0xfful;
constexpr uint64_t kMany = 1'000'000u, kMask = 0x100ul;
if (a < b && *c == '1') return Text("at 5 \" < 6", R"x(7 > 8)")x");
if (a > b && *c == '1') return Text("at 5 \" < 6", R"x(7 > 8)")x");
if (a <= b || *c == '1') return Text("at 5 \" < 6", R"x(7 > 8)")x");
if (a <= b && *c != '1') return Text("at 5 \" < 6", R"x(7 > 8)")x");
x->y -= static_cast<uint16_t>(-a + b) << 2;
x->y += static_cast<uint16_t>(a + b) << 2;
x->y += static_cast<uint16_t>(-a - b) << 2;
x->y += static_cast<uint16_t>(-a + b) >> 2;
x->y += static_cast<uint16_t>(-a + b) << 3;
for (; i++ > 0;) ++j;
for (; i-- >= 0;) ++j;
for (; i-- <= 0;) ++j;
for (; i-- > 1;) ++j;
for (; i-- > 0;) --j;
bool operator==(const T&, const T&) { return false; }
z <<= 010; w = 2.0 - 1e-9 - x0;
z >>= 011; w = 2.0 - 1e-9 - x0;
z >>= 010; w = 3.0 - 1e-9 - x0;
z >>= 010; w = 2.0 + 1e-9 - x0;
z >>= 010; w = 2.0 - 1e-9 + x0;
'''


def self_test():
    """Returns the lines of the sample that differ from the expected ones; none if all is well."""
    found = [mutant.mutated for mutant in mutants_of("sample", SAMPLE)]
    expected = EXPECTED.strip().split("\n")
    return ([f"missing: {line}" for line in expected if line not in found] +
            [f"not expected: {line}" for line in found if line not in expected] +
            ([] if len(found) == len(expected) else [f"{len(found)} mutants, not {len(expected)}"]))
