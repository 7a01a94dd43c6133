#!/usr/bin/env python3
"""Sum the results of meson test runs: count_results.py BUILD_DIR...

Reads BUILD_DIR/meson-logs/testlog.json.  A test program that holds many cases says how many:
Criterion's `Synthesis:` line, or a line `N passed, N failed[, N skipped]`; any other program is
one case.  Prints a table by suite, the output of what failed, the reason of what was skipped,
and one line for all.  Exits 1 if anything failed or a build has no log.
"""
import json
import pathlib
import re
import subprocess
import sys

CRITERION = re.compile(
    r"Synthesis: Tested: \d+ \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")
COUNTS = re.compile(r"^(?:.*: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
OUTPUT_LINES = 60  # of a failed test's output


def count(test, text):
    """(passed, failed, skipped) of one meson test."""
    result = test["result"]
    if result == "SKIP" or test["returncode"] == 77:
        return 0, 0, 1
    passed, failed, skipped = 0, 0, 0
    found = CRITERION.findall(text)
    if found:
        for p, f, c in found:
            passed += int(p)
            failed += int(f) + int(c)
        skipped = len(re.findall(r"^\[SKIP\]", text, re.M))
    else:
        lines = COUNTS.findall(text)
        if lines:
            passed, failed, skipped = (int(x or 0) for x in lines[-1])
        elif result in ("OK", "EXPECTEDFAIL"):
            passed = 1
    if passed + failed + skipped == 0:
        failed = 1  # a program that ran none of its cases proves nothing
    if result not in ("OK", "EXPECTEDFAIL") and failed == 0:
        failed = 1  # it died, or ran out of time, before it could count
    return passed, failed, skipped


def suites_of(build):
    """Test name -> its first suite."""
    out = subprocess.run(["meson", "introspect", "--tests", str(build)],
                         capture_output=True, text=True, check=False).stdout
    names = {}
    for t in json.loads(out or "[]"):
        suite = t["suite"][0].split(":")[-1] if t["suite"] else "-"
        names[t["name"]] = suite
    return names


def main():
    total = [0, 0, 0]
    for name in sys.argv[1:]:
        build = pathlib.Path(name)
        log = build / "meson-logs" / "testlog.json"
        if not log.exists():
            print(f"{name}: no test log: the build or the test run failed")
            total[1] += 1
            continue
        suites = suites_of(build)
        table = {}
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            test = json.loads(line)
            text = COLOUR.sub("", (test.get("stdout") or "") + "\n" + (test.get("stderr") or ""))
            counts = count(test, text)
            suite = suites.get(test["name"].split(" / ")[-1], "-")
            label = f"{name}: {suite}/{test['name'].split(' / ')[-1]}"
            row = table.setdefault(suite, [0, 0, 0, 0.0])
            for i, n in enumerate(counts):
                row[i] += n
                total[i] += n
            row[3] += test["duration"]
            lines = [x for x in text.splitlines()
                     if x.strip() and not x.startswith(("[RUN ]", "[PASS]"))]
            if counts[1]:
                print(f"---- {label}: {test['result']}"
                      f" (exit {test['returncode']})")
                if len(lines) > OUTPUT_LINES:
                    print(f"  ... {len(lines) - OUTPUT_LINES} lines left out; all in {log}")
                print("\n".join("  " + x for x in lines[-OUTPUT_LINES:]))
            elif counts[2]:
                for reason in [x for x in lines if x.startswith("skipped: ")][:5] or lines[-1:]:
                    print(f"skipped: {label}: {reason.strip().removeprefix('skipped: ')}")
        for suite, row in sorted(table.items()):
            print(f"{name:12} {suite:12} {row[0]:7} passed {row[1]:5} failed {row[2]:5} skipped"
                  f" {row[3]:8.1f} s")
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
