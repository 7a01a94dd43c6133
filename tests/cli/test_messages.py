#!/usr/bin/env python3
"""One mistake is one message, at its place, with the nearest right word: what a newcomer's typing errors lead to."""
import re

import harness

GOOD = """ptir 1
module sm_80
enc #rows = blocked [order=(0), regs=(1), lanes=(32), warps=(4)]
kernel @sum(%x: ptr<f32> [in, shape=(%n)], %y: ptr<f32> [out, shape=(%n)], %n: i32) [warps=4] {
  launch {
    %programs = icdiv %n, 128 : i32
    grid %programs
  }
  %lane = iota : tile<128xi32, #rows>
  %limit = splat %n : tile<128xi32, #rows>
  %mask = icmp %lane, %limit [is=lt] : tile<128xi1, #rows>
  %from = addptr %x, %lane : tile<128xptr<f32>, #rows>
  %zero = const 0.0 : tile<128xf32, #rows>
  %total = for %i in 0 to %n step 1 carry (%acc = %zero) : tile<128xf32, #rows> {
    %part = load %from, %mask, 0.0 : tile<128xf32, #rows>
    %next = fadd %acc, %part : tile<128xf32, #rows>
    yield %next
  }
  %first = icmp %n, 5 [is=gt] : i1
  %best = if %first : tile<128xf32, #rows> {
    yield %total
  } else {
    yield %zero
  }
  %to = addptr %y, %lane : tile<128xptr<f32>, #rows>
  store %to, %best, %mask
  return
}
kernel @other() {
  return
}
"""

# (what stands in GOOD, what is typed instead, line, number, what the message says)
MISTAKES = [
    # A line that does not end where it should, whatever it lacks for that.
    ("fadd %acc, %part", "fadd %acc %part", 16, 1005, "expected `,` or the end of the line, found '%part'"),
    ("icmp %n, 5 [is", "icmp %n, 5 is", 19, 1005, "expected the end of the line, found 'is'"),
    ("store %to, ", "store , %to, ", 26, 1005, "expected the end of the line, found ','"),
    ("%part : tile", "%part tile", 16, 1005, "expected the end of the line, found 'tile'"),
    (": tile<128xf32, #rows> {\n    %part", ": tile<128xf32, #rows>\n    %part", 14, 1034, "the line ends where `{` is expected"),
    ("(%acc = %zero) :", "(%acc = %zero)", 14, 1005, "expected `{`, found 'tile'"),
    ("[warps=4] {", "[warps=4]", 4, 1034, "the line ends where `{` is expected"),
    # A name that is not there, and its uses.
    ("%lane = iota", "%lain = iota", 11, 1014, "%lane is not defined here; did you mean `%lain`?"),
    ("%lane = iota", "= iota", 9, 1005, "expected an operation, found '='"),
    ("%lane = iota", "lane = iota", 9, 1005, "expected a result, as %x, found 'lane'"),
    ("%mask = icmp %lane", "%limit = icmp %lane", 11, 1015, "%limit is already defined in line 10"),
    ("%next = fadd", "%next = fad", 16, 1008, "there is no operation 'fad'; did you mean `fadd`?"),
    ("enc #rows", "#rows", 3, 1005, "expected `enc` or `kernel`, found '#rows'"),
    ("enc #rows", "enc #row", 9, 1013, "encoding #rows is not defined; did you mean `#row`?"),
    ("blocked [", "bloked [", 3, 1030, "there is no kind of encoding 'bloked'; did you mean `blocked`?"),
    ("lanes=(32)", "lane=(32)", 3, 1031, "this kind of encoding takes no 'lane'"),
    # Words with values.
    ("[is=lt]", "[is=let]", 11, 1017, "; did you mean `lt`?"),
    ("[is=lt]", "[si=lt]", 11, 1010, "there is no attribute 'si'; did you mean `is`?"),
    ("[warps=4]", "[wraps=4]", 4, 1010, "there is no attribute 'wraps'; did you mean `warps`?"),
    ("[warps=4]", "[warps=4x]", 4, 1019, "'4x' is no integer of 64 bits"),
    ("%n: i32)", "%n: i23)", 4, 1011, "there is no type 'i23'; did you mean `i32`?"),
    ("[in, shape=(%n)]", "[in, shape=(%n)", 4, 1005, "expected an attribute, found '%y'"),
    ("module sm_80", "module sm_08", 2, 1012, "unknown target 'sm_08'; did you mean `sm_80`?"),
    # Braces.
    ("    yield %next\n  }", "    yield %next", 28, 1005, "expected `}`, found 'kernel'"),
    ("{\n  launch", "{ {\n  launch", 4, 1005, "expected an operation, found '{'"),
    ("launch {", "{", 5, 1005, "expected an operation, found '{'"),
    ("} else {", "} esle {", 22, 1005, "expected the end of the line, found 'esle'"),
    ("  %lane = iota", "  %k = const 1 : i32\n  launch {\n  }\n  %lane = iota", 10, 1208, "launch cannot stand here: a kernel has one"),
    ("kernel @sum", "kernl @sum", 4, 1007, "'kernl' begins no part of a module; did you mean `kernel`?"),
    # Types: what is wrong about an operation is not said again of its users; one encoding, one message.
    ("%from = addptr %x, %lane : tile<128xptr<f32>", "%from = addptr %x, %lane : tile<128xptr<i32>", 12, 1112, "addptr from ptr<f32>"),
    ("warps=(4)]", "warps=(2)]", 9, 1302, "tile<128xi32, #rows> over 4 warps: "),
    ("fadd %acc, %part", "fadd %n, %n", 16, 1102, "operand 1 of fadd is i32, expected tile<128xf32, #rows>"),
    # Numbers of things.
    ("yield %next", "yield %next, %acc", 17, 1205, "yield hands over 2 values, the for around it has 1 result\n"),
    ("yield %next", "yield", 17, 1205, "yield hands over 0 values, the for around it has 1 result\n"),
    ("%total = for", "%total, %more = for", 14, 1022, "the operation names 2 results and gives 1 type\n"),
    ("step 1 carry (%acc = %zero) :", "step 1 carry (%acc = %zero, %b = 0) :", 14, 1023, "the loop carries 2 values and has 1 result\n"),
    ("  %first = icmp", "  %odd = for %j in 0 to %n step 1 carry (%b = 0) {\n  }\n  %first = icmp", 19, 1022, "the operation names 1 result and gives 0 types\n"),
]


def one_mistake_is_one_message(c):
    c.run("check", c.write("good.ptir", GOOD), want=0)
    for old, new, line, number, text in MISTAKES:
        assert GOOD.count(old) >= 1, old
        c.write("m.ptir", GOOD.replace(old, new, 1))
        r = c.run("check", "m.ptir", want=1)
        assert re.match(rf"m\.ptir:{line}:\d+: error: PG{number} ", r.err), (new, r.err)
        assert len(r.numbers()) == 1 and text in r.err, (new, r.err)


def two_mistakes_are_two_messages(c):
    """What does not follow from the first is said in the same run."""
    text = GOOD.replace("fadd %acc, %part", "fadd %acc %part").replace("[is=gt]", "[is=gtt]").replace("store", "stroe")
    assert c.run("check", c.write("m.ptir", text), want=1).numbers() == ["1005", "1017", "1008"]
    text = GOOD.replace("[warps=4]", "[wraps=4]").replace("load %from", "lod %from")
    assert c.run("check", c.write("m.ptir", text), want=1).numbers() == ["1010", "1008"]


def a_wrong_text_is_never_right(c):
    """What is taken back for another message is taken back for one that comes: texts with several mistakes at once."""
    head, rest = GOOD.split("kernel @other")
    for text in (
        "ptir 1\nmodule sm_80\nkernel @k(%n: i32) {\n  %a = iadd %undefined, 1 : i32\n  launch {\n    grid 1\n  }\n",
        "ptir 1\nmodule sm_80\nkernel @k(%n: i32) {\n  %a = iadd %undefined, 1 : i32\n",
        "ptir 1\nmodule sm_80\nkernel @k(%n: i32) {\n  %a = iadd %undefined, 1 : i32 $\n  )\n",
        "ptir 1\nmodule sm_80\nkernel @k(%n: i32) {\n  %a = iadd %n, 1 : i32\n  %a = iadd %n, 1 : i32 ! %u\nkernel @l() {\n  return\n}\n",
        head.rstrip().rstrip("}"), head.replace("%lane = iota", "= iota").rstrip().rstrip("}"), GOOD.replace("}", ""), GOOD.replace("{", ""),
    ):
        for cut in (text, text.rstrip(), text.replace("\n", "\r\n")):
            c.write("m.ptir", cut)
            r = c.run("check", "m.ptir", want=1)
            assert r.numbers(), (cut, r.err)


def names_of_passes_and_kernels(c):
    c.write("good.ptir", GOOD)
    for option in ("--print-after=layout", "--stop-after=layout", "--passes=simplify,layout"):
        r = c.run("compile", "good.ptir", option, want=2)
        assert r.numbers() == ["2000"] and "no pass `layout`; did you mean `layouts`?" in r.err, r.err
    r = c.run("run", "good.ptir", "--entry=othr", "--device=cpu", want=1)
    assert r.numbers() == ["6129"] and "no kernel 'othr' in it; did you mean `other`?" in r.err, r.err
    r = c.run("run", "good.ptir", "--device=cpu", want=1)
    assert r.numbers() == ["6136"] and "it has 2 kernels: sum, other\n" in r.err, r.err
    c.write("empty.ptir", "ptir 1\nmodule sm_80\n")
    assert c.run("run", "empty.ptir", "--device=cpu", want=1).numbers() == ["6137"]
    c.run("compile", "good.ptir", "-o", "good.ptx", want=0)
    launch = ["--grid=1", "--block=128"]
    r = c.run("exec", "good.ptx", "--entry=sun", *launch, want=1)
    assert r.numbers() == ["6129"] and "; did you mean `sum`?" in r.err, r.err
    assert c.run("exec", "good.ptx", *launch, want=1).numbers() == ["6136"]
    r = c.run("exec", "good.ptx", "--entry=other", "--arg=null", *launch, want=1)
    assert "kernel 'other' has 0 parameters, and the command gives 1 --arg\n" in r.err, r.err
    r = c.run("compile", "good.ptir", "--arch=sm_90b", want=2)
    assert r.numbers() == ["6104"], r.err


def places_are_the_authors_after_checks(c):
    """`--check=roundtrip` reads the module from its own text; messages stay at the lines of the file."""
    text = "\n\n\n" + GOOD.replace(", #rows", "").replace("kernel @sum", "// a comment that the printer does not keep\n\nkernel @sum")
    c.write("m.ptir", text)
    plain = c.run("compile", "m.ptir", "--explain=layouts", want=0).err
    checked = c.run("compile", "m.ptir", "--explain=layouts", "--check=roundtrip,clone", want=0).err
    places = [re.findall(r"line \d+", err) for err in (plain, checked)]
    assert places[0] and places[0] == places[1], places


if __name__ == "__main__":
    harness.main([one_mistake_is_one_message, two_mistakes_are_two_messages, a_wrong_text_is_never_right, names_of_passes_and_kernels,
                  places_are_the_authors_after_checks])
