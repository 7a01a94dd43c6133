#!/usr/bin/env python3
"""The command line itself: commands, options, messages, exit statuses, files."""
import json
import os
import pathlib
import pty
import re
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOOD = "ptir 1\nmodule sm_80\nkernel @k() {\n  return\n}\n"
BAD = "ptir 1\nmodule sm_80\nkernel @k() {\n  %x = foo 1\n  %y = bar 2\n  return\n}\n"


def no_arguments_show_usage(c):
    r = c.run(want=2)
    assert "ptxgen compile" in r.err and r.out == ""


def version(c):
    assert re.fullmatch(r"ptxgen \d+\.\d+\.\d+\n", c.run("--version", want=0).out)


def help_of_every_command(c):
    text = c.run("help", want=0).out
    names = re.findall(r"^  ptxgen (\w+) ", text, re.M)
    assert {"compile", "kernel", "opt", "check", "run", "exec", "layout", "help"} <= set(names), names
    for name in names:
        a = c.run("help", name, want=0).out
        assert a == c.run(name, "--help", want=0).out and name in a
    assert "inout:IN.npy" in c.run("help", "exec", want=0).out
    # Long lists of words stand whole, each option's meaning in one column; and passes have names.
    assert "sync|registers|all\n" in c.run("help", "compile", want=0).out
    assert "instructions|loop\n" in c.run("help", "sass", want=0).out
    c.run("help", "passes", want=2)
    for each in ("all", "changed"):
        assert each in re.search(r"--print-after=(\S+)", c.run("help", "compile", want=0).out).group(1)
        c.run("compile", "-", f"--print-after={each}", stdin=GOOD.encode(), want=0)
    assert c.run("--help", want=0).out == text


def help_names_what_must_be_named(c):
    """Where an option takes the name of a pass or a target, the names stand in the same help, and
    all of them are taken; the default passes are a list that --passes takes."""
    rows = (ROOT / "sched/passes.def").read_text(encoding="utf-8")
    passes = re.findall(r'^PASS\(\w+, +"(\w+)"', rows, re.M)
    assert len(passes) > 3, passes
    for name in re.findall(r"^  ptxgen (\w+) ", c.run("help", want=0).out, re.M):
        text = c.run("help", name, want=0).out
        assert ("PASS" in text) == ("\nPasses:\n" in text), text
        assert ("--arch" in text) == ("\nTargets: " in text), text
        if "PASS" in text:
            section = text.split("\nPasses:\n")[1].split("\n\n")[0]
            assert re.findall(r"^  (\w+) ", section, re.M) == passes, section
    text = c.run("help", "opt", want=0).out
    for name in passes:
        c.run("compile", "-", f"--print-after={name}", stdin=GOOD.encode(), want=0)
    for target in re.search(r"^Targets: (.*)", text, re.M).group(1).split():
        c.run("compile", "-", f"--arch={target}", stdin=GOOD.encode(), want=0)
    default = re.search(r"^Without --passes, from sm_80 on: (\S+)$", text, re.M).group(1)
    told = c.run("opt", "-", "--time", stdin=GOOD.encode(), want=2).err
    assert "6108" in told, told  # opt asks for a list; help has one to copy
    a = c.run("kernel", "softmax", "--emit=ir", f"--passes={default}", want=0).out
    assert a == c.run("kernel", "softmax", "--emit=ir", want=0).out
    r = c.run("compile", "-", "--passes=layout", stdin=GOOD.encode())
    assert all(name in r.err for name in passes) and "did you mean `layouts`" in r.err, r.err


def wrong_usage_is_2(c):
    x = c.write("good.ptir", GOOD)
    for args, number in [
        (["frobnicate"], "6101"), (["help", "frobnicate"], "6101"),
        (["graph", x], "6107"), (["sass", "stat"], "6106"), (["sass", "show", x], "6106"),
        (["compile", x, "--from=ttir"], "6107"),
        (["compile", x, "--nope"], "6102"), (["compile", x, "-z"], "6102"),
        (["check", x, "--time"], "6102"), (["exec", x, "--set=a=1"], "6102"),
        (["compile", x, "--arch"], "6103"), (["compile", x, "-o"], "6103"),
        (["compile", x, "--emit=exe"], "6104"), (["compile", x, "--explain=layouts,foo"], "6104"),
        (["compile", x, "--pass-limit=x"], "6104"), (["compile", x, "--shuffle=-1"], "6104"),
        (["compile", x, "--set=a"], "6104"), (["compile", x, "--set==1"], "6104"),
        (["compile", x, "--arch=sm_1"], "6104"), (["compile", x, "--check=twice,thrice"], "6104"),
        (["compile", x, "--verify=maybe"], "6104"), (["exec", x, "--grid=0", "--block=1"], "6104"),
        (["exec", x, "--grid=1,1,1,1", "--block=1"], "6104"),
        (["exec", x, "--races=some", "--grid=1", "--block=1"], "6104"),
        (["compile", x, "--time=3"], "6105"), (["kernel", "--list=yes"], "6105"),
        (["compile"], "6106"), (["compile", x, x], "6106"), (["help", "a", "b"], "6106"),
        (["run"], "6106"),
        (["compile", x, "--emit=cubin"], "6108"), (["opt", x], "6108"), (["kernel"], "6108"),
        (["kernel", "gelu", "--json"], "6108"), (["exec", x, "--grid=1"], "6108"),
        (["exec", x, "--block=1"], "6108"), (["kernel", "gelu", "--emit=cubin"], "6108"),
        (["run", "gelu", "--seeds=0"], "6104"), (["run", "gelu", "--seeds=18446744073709551616"], "6104"),
        (["run", "gelu", "--seeds=-1"], "6104"), (["run", "gelu", "--seed="], "6104"), (["run", "gelu", "--races="], "6104"),
        (["run", "gelu", "--races", "isa"], "6106"), (["run", "gelu", "--in=x="], "6104"), (["run", "gelu", "--out=y="], "6104"),
        (["compile", x, "-o", ""], "6104"), (["opt", x, "--passes="], "6104"), (["compile", x, "--stop-after="], "6104"),
        (["exec", x, "--grid=1,0", "--block=1"], "6104"), (["exec", x, "--grid=2147483648", "--block=1"], "6104"),
        (["exec", x, "--grid=1,,1", "--block=1"], "6104"), (["exec", x, "--grid=1", "--block=1", "--trace="], "6104"),
        (["exec", x, "--grid=1", "--block=1", "--seeds=0"], "6104"),
        (["compile", x, "--stop-after=simplify", "--emit=manifest"], "6109"),
        (["compile", x, "--pass-limit=0", "--emit=cubin", "-o", "y"], "6109"),
        (["run", "gelu", "--seed=1", "--seeds=2"], "6109"), (["kernel", "x", "--list"], "6109"),
        (["run", "gelu", "--arg=n=1", "--arg=n=1"], "6116"),
        (["run", "gelu", "--in=x=a", "--in", "x=b"], "6116"),
        (["run", "gelu", "--out=x=a", "--out=x=b"], "6116"),
        (["run", "gelu", "--out=x=a", "--out=y=a"], "6116"),
        (["kernel", "gelu", "--set=block=32", "--set=block=64"], "6116"),
        (["kernel", "gelu", "--set", "nope=1"], "6123"),
        (["kernel", "gelu", "--set=dtype=f99"], "6156"),
    ]:
        r = c.run(*args, want=2)
        assert number in r.numbers(), (args, r.err)
        assert r.out == "", args


def misspelled_words_find_the_right_one(c):
    x = c.write("good.ptir", GOOD)
    for args, word in [
        (["complie", x], "compile"), (["help", "rnu"], "run"), (["chek", x], "check"),
        (["compile", x, "--emti=ir"], "--emit"), (["compile", x, "-emit=ir"], "--emit"),
        (["compile", x, "--stop-aftr", "layouts"], "--stop-after"),
        (["compile", x, "--arch=sm90"], "sm_90"), (["compile", x, "--emit=ptxx"], "ptx"), (["run", "gelu", "--races=practise"], "practice"),
        (["kernel", "gleu"], "gelu"), (["run", "sofmax"], "softmax"),
        (["kernel", "gelu", "--set=dtpe=f32"], "dtype"),
        (["run", "softmax", "--arg=row=3", "--arg=cols=3"], "rows"),
        (["run", "add", "--in=aa=x.npy", "--arg=n=4"], "a"),
        (["run", "add", "--out=cc=x.npy", "--arg=n=4"], "c"),
        # Nothing is near: a letter is no misspelling of another, --trace belongs to exec.
        (["frobnicate"], None), (["compile", x, "-z"], None), (["compile", x, "--trac=x"], None),
        (["run", "gelu", "--arg=m=5"], None), (["kernel", "q" * 300], None),
    ]:
        r = c.run(*args)
        assert r.status in (1, 2), (args, r.err)
        found = re.findall(r"; did you mean `(.*)`\?$", r.err, re.M)
        assert found == ([] if word is None else [word]), (args, r.err)


def messages_name_what_was_given(c):
    x = c.write("good.ptir", GOOD)
    for args, text in [
        (["compile", x, "--nope"], "\nhelp: `ptxgen help compile` lists "),
        (["run", "gelu", "--device=tpu"], "\nhelp: `ptxgen help run` says "),
        (["exec"], "\nhelp: `ptxgen help exec` shows "),
        (["kernel", "gelu", "--set=dtype=f99"], "PG6156 dtype=f99 is not possible: dtype is f16, "),
        (["kernel", "gemm", "--set=dtype=f16", "--set=stages=99"], "PG6156 stages=99 is not "),
        (["run", "gelu", "--races", "isa"], "takes NAME|FILE.ptir|-: 'isa' is one too many\n"),
        (["sass", "diff", "a", "b", "c"], ": 'c' is one too many\n"),
        (["exec", x, "--grid=1,0", "--block=1"], "'1,0' is no value for --grid: it takes one to three numbers from 1 to "),
        (["run", "gelu", "--seeds=x"], "it takes a whole number\n"),
        (["run", "gelu", "--arg=n=99999999999999999999"], "'99999999999999999999' is no i64, which argument 'n' is\n"),
    ]:
        r = c.run(*args, want=2)
        assert text in r.err, (args, r.err)


def value_may_be_the_next_argument(c):
    c.write("good.ptir", GOOD)
    a = c.run("compile", "good.ptir", "--emit", "ir", want=0).out
    assert a == c.run("compile", "--emit=ir", "good.ptir", want=0).out
    c.run("compile", "good.ptir", "--emit=ir", "-oout.ptir", want=0)
    assert c.read("out.ptir").decode() == a
    c.run("compile", "--emit=ir", "-o", "out2.ptir", "--", "good.ptir", want=0)
    assert c.read("out2.ptir").decode() == a


def missing_input_is_1(c):
    for args in (["compile", "no.ptir"], ["check", "./no"], ["opt", "no.x", "--passes=simplify"],
                 ["run", "no.ptir"], ["exec", "no.ptx", "--grid=1", "--block=1"], ["check", "."],
                 ["run", "nosuchkernel"], ["kernel", "nosuchkernel"]):
        r = c.run(*args, want=1)
        assert set(r.numbers()) & {"6110", "6120"}, r.err


def wrong_input_is_1_with_places(c):
    c.write("bad.ptir", BAD)
    for args in (["check", "bad.ptir"], ["compile", "bad.ptir"], ["run", "bad.ptir"],
                 ["opt", "bad.ptir", "--passes=simplify"]):
        r = c.run(*args, want=1)
        places = re.findall(r"^bad\.ptir:(\d+):(\d+): error: PG\d{4} .+\nhelp: .+", r.err, re.M)
        assert [int(line) for line, _ in places] == [4, 5], r.err  # all errors, in order
        assert r.out == ""
    r = c.run("check", "-", stdin=BAD.encode(), want=1)
    assert r.err.startswith("<stdin>:4:"), r.err


def ptx_is_no_ir(c):
    c.write("good.ptir", GOOD)
    ptx = c.run("compile", "good.ptir", want=0).out
    c.write("good.ptx", ptx)
    for args in (["run", "good.ptx"], ["compile", "good.ptx"], ["opt", "good.ptx", "--passes=none"],
                 ["compile", "-"]):
        r = c.run(*args, stdin=ptx.encode(), want=1)
        assert re.match(r"(good\.ptx|<stdin>):1:1: error: PG6117 ", r.err), (args, r.err)
    c.write("late.ptx", "\n/* a\n b */ // c\n .version 7.0\n")
    assert c.run("run", "late.ptx", want=1).err.startswith("late.ptx:4:1: error: PG6117 ")
    c.write("late.ptir", "// a kernel\n" + GOOD)
    r = c.run("exec", "late.ptir", "--grid=1", "--block=32", want=1)
    assert r.err.startswith("late.ptir:2:1: error: PG6118 ") and r.numbers() == ["6118"], r.err


def check_is_silent_when_right(c):
    r = c.run("check", "-", stdin=GOOD.encode(), want=0)
    assert r.out == "" and r.err == ""


def ir_comes_back_canonical(c):
    r = c.run("opt", "-", "--passes=simplify", stdin=GOOD.encode(), want=0)
    again = c.run("opt", "-", "--passes=simplify", stdin=r.out.encode(), want=0)
    assert r.out == again.out and r.out.startswith("ptir 1\n")


def output_files_are_whole_or_untouched(c):
    c.write("good.ptir", GOOD)
    c.write("bad.ptir", BAD)
    c.write("out.ptir", "old")
    c.run("compile", "bad.ptir", "--emit=ir", "-o", "out.ptir", want=1)
    assert c.read("out.ptir") == b"old"
    c.run("compile", "good.ptir", "--emit=ir", "-o", "out.ptir", want=0)
    assert c.read("out.ptir").startswith(b"ptir 1")
    r = c.run("compile", "good.ptir", "--emit=ir", "-o", "no/such/folder.ptir", want=3)
    assert "6111" in r.numbers()
    os.symlink("target.ptir", c.path("link.ptir"))
    c.write("target.ptir", "old")
    c.run("compile", "good.ptir", "--emit=ir", "-o", "link.ptir", want=0)
    assert os.path.islink(c.path("link.ptir")) and c.read("target.ptir").startswith(b"ptir 1")
    c.run("compile", "good.ptir", "--emit=ir", "-o", "/dev/null", want=0)
    left = [f for f in os.listdir(c.dir) if ".tmp" in f]
    assert not left, left


def closed_output_is_3(c):
    full = "/dev/full"
    if not os.path.exists(full):
        raise harness.Skip("no /dev/full")
    c.write("good.ptir", GOOD)
    with open(full, "wb") as out:
        for args in (["compile", "good.ptir", "--emit=ir"], ["help"], ["kernel", "--list"], ["--version"],
                     ["--help"], ["-h"]):
            done = subprocess.run([c.program, *args], stdout=out, stderr=subprocess.PIPE,
                                  cwd=c.dir, check=False)
            assert done.returncode == 3, (args, done)
            assert b"PG6111" in done.stderr


def closed_streams_are_nobodys_files(c):
    """A file that is opened never stands for a stream that the caller had closed: no message lands in it."""
    c.write("good.ptir", GOOD)
    c.write("bad.ptir", BAD)
    want = c.run("compile", "good.ptir", "--explain=layouts", "--time", want=0).out
    for closed in ((0,), (1,), (2,), (1, 2), (0, 1, 2)):
        def close():
            for fd in closed:
                os.close(fd)
        for args, status in ((["good.ptir"], 0), (["bad.ptir"], 1), (["-"], 1 if 0 in closed else None)):
            c.write("out.ptx", "old")
            done = subprocess.run([c.program, "compile", *args, "-o", "out.ptx", "--explain=layouts", "--time"], check=False,
                                  cwd=c.dir, preexec_fn=close, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            assert status is None or done.returncode == status, (closed, args, done)
            assert c.read("out.ptx").decode() == (want if status == 0 else "old"), (closed, args)
        done = subprocess.run([c.program, "compile", "good.ptir"], check=False, cwd=c.dir, preexec_fn=close, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert done.returncode == (3 if 1 in closed else 0), (closed, done)
    assert c.read("good.ptir").decode() == GOOD and c.read("bad.ptir").decode() == BAD


def run_on_terminal(c, env):
    main, other = pty.openpty()
    done = subprocess.Popen([c.program, "check", "bad.ptir"], stdout=subprocess.DEVNULL,
                            stderr=other, cwd=c.dir, env=env)
    os.close(other)
    data = b""
    while True:
        try:
            block = os.read(main, 65536)
        except OSError:
            break
        if not block:
            break
        data += block
    assert done.wait() == 1
    return data


def color_only_on_a_terminal(c):
    c.write("bad.ptir", BAD)
    env = dict(c.env, TERM="xterm")
    assert b"\x1b[1;31m" in run_on_terminal(c, env)
    assert b"\x1b" not in run_on_terminal(c, dict(env, NO_COLOR="1"))
    assert b"\x1b" not in run_on_terminal(c, dict(env, TERM="dumb"))
    assert "\x1b" not in c.run("check", "bad.ptir", want=1).err


def hostile_names_do_not_reach_the_terminal(c):
    c.write("x\x1b[2J.ptir", BAD.replace("foo", "f\x1b[31mo"))
    assert "\x1b" not in c.run("check", "x\x1b[2J.ptir", want=1).err


def explanations_and_times_go_to_stderr(c):
    c.write("good.ptir", GOOD)
    plain = c.run("compile", "good.ptir", "--emit=ir", want=0)
    noisy = c.run("compile", "good.ptir", "--emit=ir", "--time", "--print-after=all",
                  "--explain=all", want=0)
    assert noisy.out == plain.out and plain.err == ""
    assert "kernel @k" in noisy.err and "parse" in noisy.err


def statistics_are_json(c):
    c.write("good.ptir", GOOD)
    r = c.run("compile", "good.ptir", "--emit=ir", "--stats=json", want=0)
    assert json.loads(r.err)["schema"] == 1 and r.out.startswith("ptir 1")
    r = c.run("compile", "good.ptir", "--emit=ir", "--stats=json", "-o", "out.ptir", want=0)
    assert json.loads(r.out)["n_ops"] >= 1 and r.err == ""


def kernel_list(c):
    text = c.run("kernel", "--list", want=0).out
    kernels = json.loads(c.run("kernel", "--list", "--json", want=0).out)["kernels"]
    names = [k["name"] for k in kernels]
    assert names == sorted(names) and {"add", "gelu", "silu_mul"} <= set(names)
    for k in kernels:
        assert k["name"] in text and k["doc"] in text
        ir = c.run("kernel", k["name"], "--emit=ir", want=0).out
        assert ir.startswith("ptir 1\n") and f"kernel @{k['name']}" in ir


def settings_of_a_file_are_refused(c):
    c.write("good.ptir", GOOD)
    assert "6003" in c.run("compile", "good.ptir", "--set", "x=1", want=1).numbers()


def no_gpu_yet_is_3(c):
    assert "6140" in c.run("run", "gelu", "--arg", "n=4", "--device=cuda", want=3).numbers()


def passes_by_name(c):
    c.write("good.ptir", GOOD)
    r = c.run("opt", "good.ptir", "--passes=nope")
    assert r.status in (1, 2) and "nope" in r.err, r.err
    for checks in ("roundtrip", "clone", "twice", "roundtrip,clone,twice"):
        c.run("opt", "good.ptir", "--passes=simplify,layouts", f"--check={checks}",
              "--verify=each", want=0)
    limited = c.run("compile", "good.ptir", "--pass-limit=0", want=0).out
    assert limited.startswith("ptir 1")
    assert c.run("compile", "good.ptir", "--stop-after=simplify", want=0).out.startswith("ptir 1")


if __name__ == "__main__":
    harness.main([
        no_arguments_show_usage, version, help_of_every_command, help_names_what_must_be_named, wrong_usage_is_2,
        misspelled_words_find_the_right_one, messages_name_what_was_given,
        value_may_be_the_next_argument, missing_input_is_1, wrong_input_is_1_with_places,
        ptx_is_no_ir, check_is_silent_when_right, ir_comes_back_canonical, output_files_are_whole_or_untouched,
        closed_output_is_3, closed_streams_are_nobodys_files, color_only_on_a_terminal, hostile_names_do_not_reach_the_terminal,
        explanations_and_times_go_to_stderr, statistics_are_json, kernel_list,
        settings_of_a_file_are_refused, no_gpu_yet_is_3, passes_by_name,
    ])
