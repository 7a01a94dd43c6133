"""Facts about a kernel's run that do not hang on when things happen: texts that trap where the fact does not hold. Where no
address, guard or branch depends on data, each thread executes the same statements in every execution."""
import re

FLAG = "mutants_flag"


def follows(look, marks, traps, ends=()):
    """A text that traps when a thread executes one of `traps` after one of `marks` (statements of flow.py), and none of `ends`
    between the two."""
    text, puts = look.text, []
    for s in marks:
        puts.append((text.index(";", s.start) + 1, f" {s.guard} mov.u32 {FLAG}, 1;"))
    for s in ends:
        puts.append((text.index(";", s.start) + 1, f" {s.guard} mov.u32 {FLAG}, 0;"))
    for s in traps:
        also = f", {s.guard[1:]}" if s.guard else ""
        puts.append((s.start, f"{{ .reg .pred mutants_trap; setp.ne{'.and' if also else ''}.u32 mutants_trap, {FLAG}, 0{also}; "
                              "@mutants_trap trap; } "))
    puts.append((look.flow.at[0].start, f" .reg .u32 {FLAG}; mov.u32 {FLAG}, 0;"))
    return put(text, puts)


def put(text, puts):
    for at, what in sorted(puts, key=lambda x: -x[0]):
        text = text[:at] + what + text[at:]
    return text


def without(look, statements):
    """A text without these statements."""
    text = look.text
    for s in sorted(statements, key=lambda x: -x.start):
        text = text[:s.start] + text[text.index(";", s.start) + 1:]
    return text


def is_silent(look, text):
    return look.run(text) is None


def only_first(look, statements, n):
    """A text that traps when a thread executes one of these and is none of the first n."""
    puts = []
    for s in {s.number: s for s in statements}.values():
        also = f", {s.guard[1:]}" if s.guard else ""
        puts.append((s.start, f"{{ .reg .pred mutants_trap; .reg .u32 mutants_tid; mov.u32 mutants_tid, %tid.x; setp.ge{'.and' if also else ''}"
                              f".u32 mutants_trap, mutants_tid, {n}{also}; @mutants_trap trap; }} "))
    return put(look.text, puts)
