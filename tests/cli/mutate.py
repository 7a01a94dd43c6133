#!/usr/bin/env python3
"""Hostile input through the command: mutated IR and PTX must end in 0 or in a message with a place.

    mutate.py PTXGEN TESTS [--count=N] [--seed=S] [--jobs=J] [--keep=FOLDER] [--only=I]

Input i is a function of seed, i and the corpus (.ptir and .ptx below TESTS, and what PTXGEN itself
prints), so that `--only=I` does it again.  Each goes through `check` and `compile`: no crash, no
sanitizer report, the end within the limit, exit 0 or 1, and with 1 at least one
`file:line:col: error: PGnnnn`.  With PTXGEN_TEST_LONG=1 there are 10 000 inputs.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LIMIT = 5.0  # seconds for one run, times PTXGEN_TEST_SLOW where a machine is slow
PLACE = re.compile(rb"^[^\n]*:\d+:\d+: error: PG\d{4} ", re.M)
REPORT = re.compile(rb"runtime error:|AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer")
TOKEN = re.compile(rb"[%@#$.]?[A-Za-z_][\w.]*|-?\d[\w.]*|\s+|.", re.S)
NUMBER = re.compile(rb"-?\b\d+\b")
EXTREMES = [b"0", b"1", b"-1", b"-0", b"3", b"31", b"32", b"33", b"63", b"64", b"127", b"255", b"256",
            b"1024", b"65535", b"1048576", b"1048577", b"2147483647", b"2147483648", b"-2147483648",
            b"-2147483649", b"4294967295", b"4294967296", b"9223372036854775807",
            b"9223372036854775808", b"-9223372036854775808", b"18446744073709551615",
            b"18446744073709551616", b"9" * 40, b"0x" + b"F" * 30, b"1e999", b"0.5", b"inf", b"nan",
            b"0f7FC00000", b"0d7FF8000000000000", b"poison"]
# One of each pair fits the language of the other file: it is wrong there, which is fine.
NESTS = [(b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b"if %c {\n", b"}\n"),
         (b"for %i in 0 to 4 step 1 {\n", b"}\n"), (b"[a=(", b")]"), (b"((0, 1), ", b")")]
BYTES = [b"\0", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r",
         b"\t", b"\x1b[31m", b"\\", b'"', b"//", b"/*", b"*/", b"\n"]


def flip_bytes(r, data, _):
    out = bytearray(data)
    for _ in range(r.randint(1, 8)):
        if out:
            out[r.randrange(len(out))] ^= 1 << r.randrange(8)
    return bytes(out)


def on_tokens(change):
    def mutate(r, data, corpus):
        tokens = TOKEN.findall(data)
        for _ in range(r.randint(1, 4)):
            words = [i for i, t in enumerate(tokens) if not t.isspace()]
            if words:
                change(r, tokens, words, corpus)
        return b"".join(tokens)
    return mutate


def swap_tokens(r, tokens, words, _):
    i, j = r.choice(words), r.choice(words)
    tokens[i], tokens[j] = tokens[j], tokens[i]


def drop_token(r, tokens, words, _):
    del tokens[r.choice(words)]


def double_token(r, tokens, words, _):
    i = r.choice(words)
    tokens.insert(i, tokens[i] + b" " * r.randint(0, 1))


def foreign_token(r, tokens, words, corpus):
    tokens[r.choice(words)] = r.choice(TOKEN.findall(r.choice(corpus)[1][:4000]) or [b"x"])


def same_kind_token(r, tokens, words, _):
    """A name for another name, an element type for another: what the verifier must find."""
    i = r.choice(words)
    like = [tokens[j] for j in words if tokens[j][:1] == tokens[i][:1]]
    tokens[i] = r.choice(like)


def change_lines(r, data, corpus):
    lines = data.split(b"\n")
    for _ in range(r.randint(1, 4)):
        i, j = r.randrange(len(lines)), r.randrange(len(lines))
        kind = r.randrange(5)
        if kind == 0:
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 1:
            lines.insert(i, lines[j])
        elif kind == 2 and len(lines) > 1:
            del lines[i]
        elif kind == 3:
            block = lines[min(i, j):max(i, j)]
            r.shuffle(block)
            lines[min(i, j):max(i, j)] = block
        else:
            lines.insert(i, r.choice(r.choice(corpus)[1].split(b"\n")))
    return b"\n".join(lines)


def extreme_numbers(r, data, _):
    found = list(NUMBER.finditer(data))
    for m in sorted(r.sample(found, min(len(found), r.randint(1, 3))), key=lambda m: -m.start()):
        data = data[:m.start()] + r.choice(EXTREMES) + data[m.end():]
    return data


def truncate(r, data, _):
    return data[:r.randrange(len(data) + 1)]


def nest(r, data, _):
    left, right = r.choice(NESTS)
    n = r.choice([2, 50, 199, 201, 1000, 20000])
    at = r.randrange(len(data) + 1)
    if r.randrange(2):  # on a line of its own, where an operation may stand
        at = data.find(b"\n", at) + 1
    return data[:at] + left * n + (right * n if r.randrange(3) else b"") + data[at:]


def long_line(r, data, _):
    n = r.choice([1000, 70000, 300000])
    what = r.choice([b" ", b"a", b"%x, ", b"0", b"//", b"1x", b"(", b"\t", b"-", b".", b"x;"])
    at = r.randrange(len(data) + 1)
    return data[:at] + what * (n // len(what)) + data[at:]


def strange_bytes(r, data, _):
    for _ in range(r.randint(1, 5)):
        at = r.randrange(len(data) + 1)
        data = data[:at] + r.choice(BYTES) + data[at:]
    return data


def line_ends(r, data, _):
    return data.replace(b"\n", r.choice([b"\r\n", b"\r", b"\n\n", b"\n\r"]))


def splice(r, data, corpus):
    other = r.choice(corpus)[1]
    return data[:r.randrange(len(data) + 1)] + other[r.randrange(len(other) + 1):]


MUTATIONS = [flip_bytes, on_tokens(swap_tokens), on_tokens(drop_token), on_tokens(double_token),
             on_tokens(foreign_token), on_tokens(same_kind_token), on_tokens(same_kind_token),
             change_lines, change_lines, extreme_numbers, extreme_numbers, truncate, nest, long_line,
             strange_bytes, line_ends, splice]


def mutated(seed, index, corpus):
    """(suffix, bytes) of input `index`."""
    r = random.Random(f"{seed} {index}")
    suffix, data = r.choice(corpus)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        data = r.choice(MUTATIONS)(r, data, corpus)
    return suffix, data


def read_corpus(program, tests):
    """Files below the folder, and what the command prints for the library and for these files."""
    files = sorted(p for p in tests.rglob("*") if p.suffix in (".ptir", ".ptx"))
    corpus = [(p.suffix, p.read_bytes()) for p in files]
    made = [["kernel", name, f"--emit={emit}"] for name in ("add", "gelu", "silu_mul")
            for emit in ("ir", "ptx")]
    made += [["compile", str(p)] for p in files if p.suffix == ".ptir" and p.parent.name != "parse"]
    for args in made:
        done = subprocess.run([program, *args], capture_output=True, check=False)
        if done.returncode == 0 and done.stdout:
            corpus.append((".ptir" if done.stdout.startswith(b"ptir") else ".ptx", done.stdout))
    return [(suffix, data) for suffix, data in corpus if data]


def complaint(args, env, limit):
    """What is wrong with how this run ended; None if nothing."""
    try:
        done = subprocess.run(args, capture_output=True, env=env, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"runs longer than {limit:g} s"
    if REPORT.search(done.stderr):
        return "a sanitizer reports\n" + done.stderr[-3000:].decode("utf-8", "replace")
    if done.returncode not in (0, 1):
        return f"exit {done.returncode}\n" + done.stderr[-1500:].decode("utf-8", "replace")
    if done.returncode == 1 and not PLACE.search(done.stderr):
        return "exit 1 without a message at a line\n" + done.stderr[-1500:].decode("utf-8", "replace")
    return None


class Tester:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.corpus = read_corpus(options.program, options.tests)
        self.limit = LIMIT * float(os.environ.get("PTXGEN_TEST_SLOW", "1"))
        self.env = dict(os.environ)
        self.env["ASAN_OPTIONS"] = "exitcode=99:" + os.environ.get("ASAN_OPTIONS", "")
        self.env["UBSAN_OPTIONS"] = "exitcode=99:halt_on_error=1:" + os.environ.get("UBSAN_OPTIONS", "")

    def one(self, index):
        suffix, data = mutated(self.options.seed, index, self.corpus)
        path = self.folder / f"{index}{suffix}"
        path.write_bytes(data)
        bad = []
        for command in ("check", "compile"):
            why = complaint([self.options.program, command, str(path)], self.env, self.limit)
            if why:
                bad.append(f"FAILED {command} of input {index} ({suffix}): {why}")
        if bad and self.options.keep:
            (pathlib.Path(self.options.keep) / path.name).write_bytes(data)
        path.unlink()
        return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tests", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    if os.environ.get("PTXGEN_TEST_LONG") == "1":
        options.count = max(options.count, 10000)
    indices = range(options.count) if options.only is None else [options.only]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ptxgen-mutate-") as folder:
        tester = Tester(options, pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for bad in pool.map(tester.one, indices):
                failed += 1 if bad else 0
                for text in bad:
                    print(text, flush=True)
    print(f"{len(indices) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
