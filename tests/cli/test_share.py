#!/usr/bin/env python3
"""Manual pages, completions and editor files: test_share.py PTXGEN FOLDER-OF-THEM

They are made from the tables, so what is tested is that the programs that read them understand
them: groff, bash, zsh, fish, vim, and the grammar on every .ptir text of the tests. A program that
is not there is a skip that says so.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARE = pathlib.Path(sys.argv.pop(2)).resolve()


def call(*words, stdin="", cwd=None):
    done = subprocess.run([str(w) for w in words], input=stdin, cwd=cwd, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout, done.stderr


def need(program):
    if shutil.which(program) is None:
        raise harness.Skip(f"no {program} here")


def commands(c):
    return re.findall(r"^  ptxgen (\w+) ", c.run("help", want=0).out, re.M)


def options(c, command):
    return re.findall(r"^  (-[-\w]+)", c.run("help", command, want=0).out, re.M)


def pages_are_right_and_say_all(c):
    need("groff")
    for command in [None] + commands(c):
        page = SHARE / (f"ptxgen-{command}.1" if command else "ptxgen.1")
        out, warnings = call("groff", "-ww", "-man", "-Tascii", "-P-cbou", page)
        assert warnings == "", warnings
        text = re.sub(r"\s+", " ", out)
        assert "NAME ptxgen" in text and "EXIT STATUS 0 done" in text, out[:500]
        if command:
            for option in options(c, command):
                assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), (command, option)
            for title, line in re.findall(r"^(Targets: |  |Without --passes, )(\w.*)$",
                                          c.run("help", command, want=0).out, re.M):
                words = re.sub(r"\s+", " ", line)
                assert words in text, (command, title, words)
        else:
            assert all(f"ptxgen-{name}(1)" in text for name in commands(c)), text
    exec_page = call("groff", "-man", "-Tascii", "-P-cbou", SHARE / "ptxgen-exec.1")[0]
    assert "inout:IN.npy:OUT.npy[:DTYPE]" in exec_page


def bash(words, cwd):
    """What bash offers for the last word; `=` breaks words, as in an interactive shell."""
    split = [part for w in words for part in (re.split("(=)", w) if w.startswith("--") else [w])]
    if split[-1] == "" and split[-2:-1] == ["="]:
        split.pop()
    script = (f"source {SHARE}/ptxgen; compopt() {{ :; }}; COMP_WORDS=({' '.join(map(repr, split))});"
              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ptxgen; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return [w.strip() for w in call("bash", "-c", script, cwd=cwd)[0].split("\n") if w]


def fish(words, cwd):
    out = call("fish", "--no-config", "-c",
               f"source {SHARE}/ptxgen.fish; complete -C {' '.join(words)!r}", cwd=cwd)[0]
    last = words[-1]
    head = last[:last.index("=") + 1] if "=" in last else ""
    return [line.split("\t")[0].removeprefix(head) for line in out.splitlines()]


ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=(%s \$fpath); autoload -U compinit; compinit -u -D"
zpty -w z 'bindkey "^I" list-choices; print REA""DY'
zpty -r z out '*READY*'
zpty -n -w z $'%s\t'
sleep 1
while zpty -r -t z out; do print -r -- "$out"; done
"""


def zsh(words, cwd):
    out = call("zsh", "-f", "-c", ZSH % (SHARE, " ".join(words)), cwd=cwd)[0]
    out = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07|\r", " ", out)
    return re.findall(r"[-\w.=,]+", out.split(words[-1], 1)[-1])


def shells_offer(offer, c):
    """The same questions to each shell."""
    folder = c.dir / "complete"
    folder.mkdir(exist_ok=True)
    (folder / "kernel.ptir").write_text("")
    for words, some, never in [
        (["ptxgen", "co"], ["compile"], ["run"]),
        (["ptxgen", "compile", "--emi"], ["--emit"], ["--grid"]),
        (["ptxgen", "exec", "--gri"], ["--grid"], ["--emit"]),
        (["ptxgen", "compile", "--emit="], ["ptx", "ir", "cubin", "manifest"], ["isa"]),
        (["ptxgen", "compile", "--arch=sm_9"], ["sm_90", "sm_90a"], ["sm_80"]),
        (["ptxgen", "compile", "--stop-after=l"], ["layouts"], ["simplify"]),
        (["ptxgen", "run", "--print-after="], ["layouts", "order", "all", "changed"], ["none"]),
        (["ptxgen", "opt", "--passes="], ["simplify", "none"], ["all"]),
        (["ptxgen", "run", "--races="], ["isa", "practice"], ["ptx"]),
        (["ptxgen", "kernel", "gem"], ["gemm"], ["gelu"]),
        (["ptxgen", "help", "o"], ["opt"], ["run"]),
    ]:
        have = [w.rstrip("=") for w in offer(words, folder)]
        missing = [w for w in some if w not in have]
        assert not missing and not set(never) & set(have), (words, have)


def bash_completes(c):
    need("bash")
    shells_offer(bash, c)
    assert bash(["ptxgen", "compile", "--check=clone,tw"], c.dir) == ["clone,twice"]
    assert bash(["ptxgen", "compile", "-o", "x"], c.dir) == []  # a file: bash's own


def fish_completes(c):
    need("fish")
    shells_offer(fish, c)
    assert "kernel.ptir" in fish(["ptxgen", "compile", "ker"], c.dir / "complete")


def zsh_completes(c):
    need("zsh")
    call("zsh", "-n", SHARE / "_ptxgen")
    shells_offer(zsh, c)


def texts():
    return sorted(p for p in ROOT.glob("tests/**/*.ptir")
                  if "parse" not in p.parts)  # those are wrong on purpose


def textmate_knows_every_word(c):
    grammar = json.loads((SHARE / "ptir.tmLanguage.json").read_text())
    package = json.loads((SHARE / "package.json").read_text())
    json.loads((SHARE / "language-configuration.json").read_text())
    assert package["contributes"]["grammars"][0]["path"] == "./ptir.tmLanguage.json"
    store = grammar["repository"]
    rules = []
    for rule in grammar["patterns"]:
        if "begin" in rule:
            continue
        for r in store[rule["include"][1:]].get("patterns", [store[rule["include"][1:]]]) \
                if "include" in rule else [rule]:
            rules.append((r.get("name", "shape"), re.compile(r["match"])))
    inside = re.compile(store["attributes"]["match"])
    known, unknown = {}, set()
    for path in texts():
        for line in path.read_text(encoding="utf-8").splitlines():
            line = re.sub(r"//.*", "", line)
            attributes = "".join(re.findall(r"\[[^\]]*\]", line))
            for word in re.findall(r"(?<![\w.%@#])[a-z][\w.]*", attributes):
                if not inside.fullmatch(word):
                    unknown.add(f"{word} in brackets")
            line = re.sub(r"\[[^\]]*\]", "", line)
            line = re.sub(r"(?:[\d?]+x)+(?=[a-z])", "", line)
            for m in re.finditer(r"(?<![\w.%@#])[a-z][\w.]*", line):
                names = [n for n, r in rules if (k := r.match(line, m.start())) and
                         k.end() == m.end()]
                known.setdefault(m.group(), names[0] if names else None)
    ours = {w for w, n in known.items() if n is None and not w.startswith("sm_")}
    assert not ours and not unknown, (sorted(ours), sorted(unknown))
    assert known["mma.async"] == known["mma"] == "support.function.ptir", known
    assert known["for"] == "keyword.control.ptir" and known["token"] == "storage.type.ptir"


def vim_knows_the_groups(c):
    need("vim")
    c.write("k.ptir", "ptir 1\nmodule sm_80\nenc #e = smem [order=(1, 0)]\n"
            "kernel @k(%x: ptr<f32> [in]) {\n"
            "  %t = mma.async %a, %b [transb] : tile<128x64xf16, #e> // for\n}\n")
    ask = [(1, 1), (3, 5), (3, 10), (3, 16), (4, 8), (4, 11), (4, 15), (5, 3), (5, 8), (5, 26),
           (5, 36), (5, 41), (5, 48), (5, 58)]
    want = ["Control", "Encoding", "Type", "Attribute", "Symbol", "Value", "Type", "Value",
            "Operation", "Attribute", "Type", "Shape", "Element", "Comment"]
    script = "\n".join(
        ["set nocompatible", f"source {SHARE}/ptir-detect.vim", "syntax on", "edit k.ptir",
         f"source {SHARE}/ptir.vim", "redir! > groups"]
        + [f"echo synIDattr(synID({y}, {x}, 1), 'name')" for y, x in ask]
        + ["echo &filetype", "redir END", "qall!"])
    c.write("script.vim", script + "\n")
    call("vim", "-u", "NONE", "-es", "-S", "script.vim", cwd=c.dir)
    have = c.read("groups").decode().split()
    assert have == ["ptir" + w for w in want] + ["ptir"], list(zip(ask, want, have))


if __name__ == "__main__":
    harness.main([pages_are_right_and_say_all, bash_completes, fish_completes, zsh_completes,
                  textmate_knows_every_word, vim_knows_the_groups])
