#!/usr/bin/env python3
"""Mutants of what orders accesses in kernels: each instruction that does is deleted or weakened, one at a time
(operators.py), in kernels of our own, of nvcc and of Triton (subjects.py). The executor must notice: wrong numbers, a race, a
deadlock, a misuse. What it does not notice must follow one of the written rules (rules.py) for why it makes no difference.

usage: run.py PTXGEN [--peers BUILD/tests/peer] [--triton] [--own] [--only PATTERN] [--jobs N] [--quick N] [--verbose]
              [--results FILE [--run-only]]

--quick: at most N mutants of each kind, of our own kernels; PTXGEN_TEST_LONG=1 takes it back, and --only.
--results: what was noticed is added to this file, and what stands there by the same executor is not run again: a run that was
cut off goes on, and rules can be written without running anything else. --run-only: no rules are asked.

Prints a table, kernel by kernel, the share that was caught of all mutants, and the survivors by rule. Ends with 1 if one of
them follows no rule, or an original is not clean."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import rules
import subjects

SEEDS = (("practice", 2), ("isa", 2))
ASKING = threading.Lock()


class Results:
    """{mutant of a subject by this executor: what was noticed}, in a file of lines."""

    def __init__(self, path):
        self.known, self.file, self.tools = {}, None, {}
        if path:
            if os.path.exists(path):
                self.known = dict(map(json.loads, pathlib.Path(path).read_text().splitlines()))
            self.file = open(path, "a", encoding="utf-8")

    def key(self, m):
        tool = m.subject.tool
        if tool not in self.tools:
            self.tools[tool] = hashlib.sha256(pathlib.Path(tool).read_bytes()).hexdigest()
        return hashlib.sha256("\n".join([self.tools[tool], m.subject.name, m.text]).encode()).hexdigest()[:32]

    def put(self, key, caught):
        self.known[key] = caught
        if self.file:
            self.file.write(json.dumps([key, caught]) + "\n")
            self.file.flush()


class Mutant:
    def __init__(self, subject, statement, operator, what, text):
        self.subject, self.at, self.operator, self.what, self.text = subject, statement, operator, what, text
        self.caught, self.rule, self.error = None, None, None

    def __str__(self):
        return f"{self.subject.name}:{self.at.line}: {self.at.text[:90]}: {self.what}"


def attempt(subject, text, folder, n, modes):
    """What was noticed, or None."""
    path = str(pathlib.Path(folder) / f"{n}.ptx")
    pathlib.Path(path).write_text(text)
    try:
        for races, seeds in modes:
            said = subject.run(path, races, seeds)
            if said is not None:
                return f"{races}: {said}"
        return None
    finally:
        os.unlink(path)


def judge(m, n, folder, modes, results, has_rules):
    key = results.key(m)
    try:
        if key not in results.known:
            results.put(key, attempt(m.subject, m.text, folder, n, [*modes, ("practice", m.subject.more_seeds)]))
        m.caught = results.known[key]
        if m.caught is None and has_rules:
            with ASKING:  # what was found out about a kernel is kept for the next question
                look = rules.Look(m, lambda text, how=modes[:1]: attempt(m.subject, text, folder, f"{n}_probe", how), modes)
                m.rule = next((r.name for r in rules.RULES if r.holds(look)), None)
    except subjects.Refused as e:
        m.error = f"refused: {e}"
    except subprocess.TimeoutExpired:
        m.error = "takes too long"
    return m


def thinned(found, most):
    """At most so many mutants of each operator and kernel, spread over it."""
    by = collections.defaultdict(list)
    for m in found:
        by[m.operator, m.what].append(m)
    return [x for ms in by.values() for x in ms[::max(1, -(-len(ms) // most))]]


def mutate(subject, options, folder, results):
    """The mutants of a subject, judged; an error in words instead if it is not clean itself."""
    modes = []
    for races, seeds in [*SEEDS, ("practice", subject.more_seeds)]:
        said = attempt(subject, subject.text, folder, "whole", [(races, seeds)])
        if said is None:
            modes += [(races, seeds)] if (races, seeds) in SEEDS else []
        elif races == "practice":
            return f"{subject.name}: the kernel itself: {said}"
    found = [Mutant(subject, *m) for m in subject.mutants()]
    found = thinned(found, options.quick) if options.quick else found
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda x: judge(x[1], x[0], folder, modes, results, not options.run_only), enumerate(found)))


def chosen(options, folder):
    cache = os.environ.get("PTXGEN_TEST_CACHE")
    makers = [subjects.own(options.ptxgen, folder, options.only)] if options.own else []
    for sub, runner in (("", "peer_run"), ("hopper", "peer_hopper_run")):
        if options.peers:
            build = pathlib.Path(options.peers) / sub
            makers.append(subjects.peers(build / runner, subjects.ROOT / "tests/peer" / sub, cache or build / "ptx"))
    if options.triton:
        makers.append(subjects.triton(options.ptxgen, cache or tempfile.gettempdir(), folder))
    for maker in makers:
        yield from (s for s in maker if re.search(options.only, s.name))


def show(subject, judged, options):
    silent = [m for m in judged if m.caught is None]
    by = collections.Counter(m.rule or ("ERROR" if m.error else "NO RULE") for m in silent)
    print(f"{subject.name:44} {len(judged):5} {len(judged) - len(silent):6}   "
          + ", ".join(f"{r} {n}" for r, n in sorted(by.items())), flush=True)
    for m in judged:
        if options.verbose or m.error or (m.caught is None and m.rule is None):
            print(f"    {m}: {m.caught or m.error or m.rule or 'SILENT, NO RULE'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptxgen")
    parser.add_argument("--peers")
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--results")
    parser.add_argument("--run-only", action="store_true")
    options = parser.parse_args()
    if os.environ.get("PTXGEN_TEST_LONG") == "1" and options.quick:
        options.quick, options.only = 0, ""
    elif options.quick:
        options.peers, options.triton = None, False
    failed, everything, results = [], [], Results(options.results)
    print(f"{'kernel':44} {'all':>5} {'caught':>6}   survivors by rule")
    with tempfile.TemporaryDirectory(prefix="ptxgen-mutants-") as folder:
        for subject in chosen(options, folder):
            judged = mutate(subject, options, folder, results)
            if isinstance(judged, str):
                failed.append(judged)
                print("FAILED " + judged, flush=True)
            elif judged:
                show(subject, judged, options)
                everything += judged
    report(everything)
    if options.json:
        rows = [{"kernel": m.subject.name, "line": m.at.line, "text": m.at.text, "operator": m.operator, "what": m.what,
                 "caught": m.caught, "rule": m.rule, "error": m.error} for m in everything]
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=0))
    failed += [str(m) for m in everything if m.caught is None and m.rule is None]
    print(f"{sum(m.caught is not None or m.rule is not None for m in everything)} passed, {len(failed)} failed")
    sys.exit(1 if failed or not everything else 0)


def report(everything):
    groups = collections.defaultdict(list)
    for m in everything:
        groups[m.subject.group].append(m)
    groups["all"] = everything
    for name, ms in groups.items():
        caught = sum(m.caught is not None for m in ms)
        print(f"{name}: {len(ms)} mutants of {len({m.subject.name for m in ms})} kernels, {caught} caught, "
              f"{100 * caught / max(1, len(ms)):.1f} %")
    for rule in rules.RULES:
        n = sum(m.rule == rule.name for m in everything)
        if n:
            print(f"  {n:5}  {rule.name}: {rule.what}")


if __name__ == "__main__":
    main()
