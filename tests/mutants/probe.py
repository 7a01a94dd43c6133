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


def without_at(look, statements, name, offset):
    """A text in which these arrivals do nothing where they are about the mbarrier at this place; those at other CTAs', at all."""
    text = look.text
    for s in sorted(statements, key=lambda x: -x.start):
        end = text.index(";", s.start) + 1
        place = next((m for m in map(PLACE.fullmatch, s.args) if m), None)
        if "shared::cluster" in s.op or place is None:
            text = text[:s.start] + text[end:]
            continue
        also = f", {s.guard[1:]}" if s.guard else ""
        test = (f"{{ .reg .pred mutants_p; .reg .u32 mutants_a, mutants_b; mov.u32 mutants_a, {place.group(1)}; add.u32 mutants_a, mutants_a, "
                f"{place.group(2) or 0}; mov.u32 mutants_b, {name or 0}; add.u32 mutants_b, mutants_b, {offset}; "
                f"setp.ne{'.and' if also else ''}.u32 mutants_p, mutants_a, mutants_b{also}; @mutants_p ")
        body = text[s.start:end]
        text = text[:s.start] + test + (body[body.index(s.op):] if s.guard else body) + " }" + text[end:]
    return text


def is_silent(look, text):
    return look.run(text) is None


def n_threads(look):
    """How many threads there are at most along an axis: a power of two."""
    begin = look.flow.at[0].start
    for n in (32, 64, 128, 256, 512):
        traps = " ".join(f"mov.u32 mutants_tid, %tid.{axis}; setp.ge.u32 mutants_trap, mutants_tid, {n}; @mutants_trap trap;" for axis in "xyz")
        if is_silent(look, put(look.text, [(begin, f"{{ .reg .pred mutants_trap; .reg .u32 mutants_tid; {traps} }} ")])):
            return n
    return 1024


# Two tags for each of 64 Ki words of the shared memory of 64 CTAs: the threads with the largest and the least number.
TAGS = ".global .align 8 .b8 mutants_tags[33554432];\n"
TAG = """{{ .reg .pred mutants_on, mutants_bad; .reg .u32 mutants_<5>; .reg .u64 mutants_at, mutants_of;
setp.eq.u32 mutants_on, 0, 0; {off} mov.u32 mutants_0, {name}; add.u32 mutants_0, mutants_0, {add};
mov.u32 mutants_1, %ctaid.z; mov.u32 mutants_2, %nctaid.y; mov.u32 mutants_3, %ctaid.y; mad.lo.u32 mutants_1, mutants_1, mutants_2, mutants_3;
mov.u32 mutants_2, %nctaid.x; mov.u32 mutants_3, %ctaid.x; mad.lo.u32 mutants_1, mutants_1, mutants_2, mutants_3;
mov.u32 mutants_2, %tid.y; mov.u32 mutants_3, %tid.z; or.b32 mutants_2, mutants_2, mutants_3;
setp.ne.u32 mutants_bad, mutants_2, 0; @mutants_bad trap; setp.ge.u32 mutants_bad, mutants_1, 64; @mutants_bad trap;
shr.u32 mutants_0, mutants_0, 2; mad.lo.u32 mutants_0, mutants_1, 65536, mutants_0; mul.wide.u32 mutants_at, mutants_0, 8;
mov.u64 mutants_of, mutants_tags; add.u64 mutants_at, mutants_at, mutants_of;
mov.u32 mutants_1, %tid.x; add.u32 mutants_1, mutants_1, 1; sub.u32 mutants_2, 2048, mutants_1;
{words} }} """
WORD_OF = ("@mutants_on red.relaxed.cta.global.max.u32 [mutants_at+{0}], mutants_1; "
        "@mutants_on red.relaxed.cta.global.max.u32 [mutants_at+{1}], mutants_2;\n") + "".join(
               f"mov.u32 mutants_3, mutants_{k}; @mutants_on ld.relaxed.cta.global.u32 mutants_3, [mutants_at+{{{k - 1}}}]; "
               f"setp.ne.u32 mutants_bad, mutants_3, mutants_{k}; @mutants_bad trap;\n" for k in (1, 2))
PLACE = re.compile(r"\[\s*(%r\d+|%(?!rd)\w+|[A-Za-z_$][\w$]*)\s*(?:\+\s*(-?\d+))?\s*\]")


def each_its_own(look, statements):
    """A text that traps when a thread touches by one of these a word of shared memory that another one has touched by one of them;
    None: it cannot be made. A list of (statement, bytes)."""
    puts = [(look.text.index("\n", look.text.index(".address_size")), "\n" + TAGS)]
    for s, n_bytes in {s.number: (s, n) for s, n in statements}.values():
        place = next((m for m in map(PLACE.fullmatch, s.args) if m), None)
        if not re.match(r"(ld|st)\S*\.shared", s.op) or place is None:
            return None
        guard = s.guard[2:] if s.guard.startswith("@!") else "!" + s.guard[1:]
        off = f"@{guard} setp.ne.u32 mutants_on, 0, 0;" if s.guard else ""
        words = "".join(WORD_OF.format(8 * k, 8 * k + 4) for k in range(-(-n_bytes // 4)))
        puts.append((s.start, TAG.format(off=off, name=place.group(1), add=place.group(2) or 0, words=words)))
    return put(look.text, puts)


def numbers_apart(look, own, others):
    """A text that traps when a barrier has a number above 7, or a number of one of `own` is one of `others`, too."""
    puts = [(look.text.index("\n", look.text.index(".address_size")), "\n.global .align 8 .b8 mutants_numbers[8];\n")]
    for mine, statements in ((0, own), (4, others)):
        for s in statements:
            puts.append((s.start, f"{{ .reg .pred mutants_p; .reg .u64 mutants_at; .reg .b32 mutants_n, mutants_m; mov.u32 mutants_n, {s.args[0]}; "
                                  "setp.ge.u32 mutants_p, mutants_n, 8; @mutants_p trap; mov.b32 mutants_m, 1; shl.b32 mutants_m, mutants_m, mutants_n; "
                                  "mov.u64 mutants_at, mutants_numbers; "
                                  f"red.relaxed.gpu.global.or.b32 [mutants_at+{mine}], mutants_m; "
                                  f"atom.relaxed.gpu.global.or.b32 mutants_n, [mutants_at+{4 - mine}], 0; and.b32 mutants_n, mutants_n, mutants_m; "
                                  "setp.ne.u32 mutants_p, mutants_n, 0; @mutants_p trap; } "))
    return put(look.text, puts)


# How often threads have waited when they meet for the nth time: the most, and the least, for 64 CTAs and 4096 times.
TIMES = ".global .align 8 .b8 mutants_times[2097152];\n"
MEET = """{ .reg .pred mutants_p; .reg .u32 mutants_<4>; .reg .u64 mutants_at, mutants_of;
mov.u32 mutants_1, %ctaid.z; mov.u32 mutants_2, %nctaid.y; mov.u32 mutants_3, %ctaid.y; mad.lo.u32 mutants_1, mutants_1, mutants_2, mutants_3;
mov.u32 mutants_2, %nctaid.x; mov.u32 mutants_3, %ctaid.x; mad.lo.u32 mutants_1, mutants_1, mutants_2, mutants_3;
setp.ge.u32 mutants_p, mutants_1, 64; @mutants_p trap; setp.ge.u32 mutants_p, mutants_nth, 4096; @mutants_p trap;
mad.lo.u32 mutants_1, mutants_1, 4096, mutants_nth; mul.wide.u32 mutants_at, mutants_1, 8; mov.u64 mutants_of, mutants_times;
add.u64 mutants_at, mutants_at, mutants_of; add.u32 mutants_nth, mutants_nth, 1;
add.u32 mutants_1, mutants_n, 1; sub.u32 mutants_2, 1048576, mutants_1;
red.relaxed.cta.global.max.u32 [mutants_at], mutants_1; red.relaxed.cta.global.max.u32 [mutants_at+4], mutants_2;
{here}
ld.relaxed.cta.global.u32 mutants_3, [mutants_at]; setp.ne.u32 mutants_p, mutants_3, mutants_1; @mutants_p trap;
ld.relaxed.cta.global.u32 mutants_3, [mutants_at+4]; setp.ne.u32 mutants_p, mutants_3, mutants_2; @mutants_p trap; } """


def as_often(look, wait, here):
    """A text that traps when threads meet at the barrier `here` of which one has waited at `wait` more often than another."""
    guard = f"@{wait.args[0].split('|')[0]} " if wait.op.startswith("mbarrier") else ""
    before, behind = MEET.split("{here}")
    return put(look.text, [
        (look.text.index("\n", look.text.index(".address_size")), "\n" + TIMES),
        (look.flow.at[0].start, " .reg .u32 mutants_n, mutants_nth; mov.u32 mutants_n, 0; mov.u32 mutants_nth, 0; "),
        (look.text.index(";", wait.start) + 1, f" {guard}add.u32 mutants_n, mutants_n, 1;"),
        (here.start, before), (look.text.index(";", here.start) + 1, behind)])


def only_first(look, statements, n):
    """A text that traps when a thread executes one of these and is none of the first n."""
    puts = []
    for s in {s.number: s for s in statements}.values():
        also = f", {s.guard[1:]}" if s.guard else ""
        puts.append((s.start, f"{{ .reg .pred mutants_trap; .reg .u32 mutants_tid; mov.u32 mutants_tid, %tid.x; setp.ge{'.and' if also else ''}"
                              f".u32 mutants_trap, mutants_tid, {n}{also}; @mutants_trap trap; }} "))
    return put(look.text, puts)
