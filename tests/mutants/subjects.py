"""The kernels whose orders are mutated, and how each is run. A subject has a name, its PTX, and run(path, races, seeds):
None when it gave the right numbers and no report, else what was wrong. A PTX that the executor refuses raises."""
import json
import os
import pathlib
import re
import subprocess
import sys

import flow
import operators

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULT = re.compile(r"PG6150 ([^:]*):|line \d+:\d+: ([^:]*): ")
LIMIT = 120  # seconds, beside the limit on steps


class Subject:
    """What is mutated: `entry` is the kernel of the text that runs, None for the only one."""
    entry = None
    more_seeds = 12  # before a mutant counts as not noticed

    def mutants(self):
        for m in operators.mutants(self.text):
            if flow.kernel_at(self.text, m[0].start) in (None, self.entry) or self.entry is None:
                yield m


class Refused(Exception):
    pass


def sh(command, **more):
    return subprocess.run([str(x) for x in command], capture_output=True, text=True, check=False, **more)


def verdict(done):
    """None for silence, else the kind of the first fault, or "wrong numbers"."""
    said = done.stdout + done.stderr
    if done.returncode not in (0, 4):
        raise Refused(f"exit {done.returncode}: {said[-1500:]}")
    found = FAULT.search(said)
    return None if done.returncode == 0 else (found.group(1) or found.group(2)) if found else "wrong numbers"


class Peer(Subject):
    """A program of tests/peer, run and compared by its runner."""

    def __init__(self, runner, name, entry, path):
        self.entry = None if entry == "-" else entry
        self.group = "nvcc sm_90a" if "hopper" in str(runner) else "nvcc"
        self.tool = self.runner = runner
        self.program, self.text = name, pathlib.Path(path).read_text()
        self.name = f"{name} {re.search(r'[.]target +(sm_[0-9a-z]+)', self.text).group(1)}"

    def run(self, path, races, seeds):
        return verdict(sh([self.runner, "--try", self.program, path, races, seeds], timeout=LIMIT))


def peers(runner, sources, cache):
    done = sh([runner, sources, cache, "--list"])
    if done.returncode == 77:
        print(done.stdout.strip())
        return
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    for line in done.stdout.splitlines():
        yield Peer(runner, *line.split(" ", 2))


def ceildiv(a, b):
    return -(-a // b)


def value(expression, sizes):
    """An expression of a manifest; sizes are not negative."""
    return eval(expression.replace("/", "//"), {"__builtins__": {}, "max": max, "min": min, "ceildiv": ceildiv}, sizes)


class Own(Subject):
    """A kernel of ours: a library kernel with settings, or a file, at some sizes. Right is what the verified original wrote.
    At the sizes `more` only the original is verified."""
    group = "ptxgen"

    def __init__(self, ptxgen, what, settings, sizes, more, folder):
        self.name = " ".join([os.path.basename(what), *settings])
        self.tool = self.ptxgen = ptxgen
        self.what, self.settings = what, [f"--set={s}" for s in settings]
        self.text = self.must([ptxgen, "compile", what] if what.endswith(".ptir") else [ptxgen, "kernel", what,
                                                                                        *self.settings])
        self.manifest = json.loads(re.search(r"// ptxgen: (\{.*\})", self.text).group(1))
        for z in more:
            self.verify(z, {})
        self.launches = []
        for k, z in enumerate(sizes):
            here = pathlib.Path(folder) / re.sub(r"\W+", "_", f"{self.name} {k}")
            here.mkdir(exist_ok=True)
            self.launches.append(self.launch(z, here))

    def verify(self, sizes, outs):
        self.must([self.ptxgen, "run", self.what, *self.settings, "--device=cpu", "--verify", "--seeds=2", "--races",
                   *(f"--arg={k}={v}" for k, v in sizes.items()), *(f"--out={k}={v}" for k, v in outs.items())])

    def launch(self, sizes, folder):
        """(command, {array: bytes that are right})"""
        m = self.manifest
        pointers = [a for a in m["args"] if a["kind"] == "pointer"]
        files = {a["name"]: folder / f"{a['name']}.npy" for a in pointers}
        self.verify(sizes, files)
        command = [f"--grid={','.join(str(value(g, sizes)) for g in m['grid'])}",
                   f"--block={','.join(map(str, m['block']))}", f"--smem={value(m['smem'], sizes)}", f"--entry={m['entry']}"]
        names = [a["name"] for a in m["args"]]
        command += ["--arg=" + self.argument(a, files, sizes, names) for a in m["args"]]
        return command, {a["name"]: files[a["name"]].read_bytes() for a in pointers if a["role"] != "in"}

    @staticmethod
    def argument(a, before, sizes, names):
        if a["kind"] == "pointer" and a["role"] == "in":
            return f"in:{before[a['name']]}:{a['dtype']}"
        if a["kind"] == "pointer":
            dims = "x".join(str(value(d, sizes)) for d in a["shape"])
            return f"out:@@{a['name']}@@:{a['dtype']}:{dims}"
        if a["kind"] == "tensormap":
            dims = "x".join(str(value(d, sizes)) for d in a["dims"])
            strides = "x".join(str(value(d, sizes)) for d in a["strides"])
            return (f"tmap:@{names.index(a['of'])}:box={'x'.join(map(str, a['box']))}:swizzle={a['swizzle']}"
                    f":dtype={a['dtype']}:dims={dims}:strides={strides}")
        return f"{a['kind'].replace('i', 's', 1)}:{sizes[a['name']]}"

    @staticmethod
    def must(command):
        done = sh(command)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
        return done.stdout

    def run(self, path, races, seeds):
        return next((x for x in (self.run_at(path, races, seeds, *y) for y in self.launches) if x is not None), None)

    def run_at(self, path, races, seeds, command, want):
        got = {k: f"{path}_{k}.npy" for k in want}
        for k, file in got.items():
            command = [c.replace(f"@@{k}@@", file) for c in command]
        said = verdict(sh([self.ptxgen, "exec", path, f"--seeds={seeds}", f"--races={races}", "--max-steps=3000000",
                           *command], timeout=LIMIT))
        is_same = said is not None or all(pathlib.Path(got[k]).read_bytes() == v for k, v in want.items())
        return said or (None if is_same else "wrong numbers")


# The kernels of the library that have something to order: settings and sizes, odd, even where the compiler has a way for such
# rows, and large enough that all of a ring's slots come round twice.
ROWS = [{"rows": 3, "cols": 613}, {"rows": 2, "cols": 1304}, {"rows": 3, "cols": 200}]
GEMMS = [("f16", 8, 2), ("f16", 8, 3), ("f16", 8, 4), ("f16", 8, 5), ("f16", 1, 1), ("f16", 2, 3), ("tf32", 4, 3),
         ("tf32", 1, 2), ("f32", 1, 3), ("s8", 16, 3)]
SQUARES = [{"m": 33, "n": 47, "k": 150}, {"m": 34, "n": 46, "k": 150}, {"m": 130, "n": 136, "k": 200}]
LIBRARY = [
    *[(kernel, settings, ROWS, []) for kernel in ("softmax", "layernorm", "rmsnorm") for settings in (["block=256"], [])],
    ("reduce", ["axis=inner"], [{"rows": 3, "cols": 2777}, {"rows": 3, "cols": 777}], []),
    ("reduce", ["axis=outer"], [{"rows": 333, "cols": 77}], []),
    ("reduce", ["axis=full", "op=max"], [{"rows": 33, "cols": 177}, {"rows": 7, "cols": 77}], []),
    ("transpose", [], [{"m": 70, "n": 133}], []),
    ("transpose", ["dtype=i8", "div=4"], [{"m": 68, "n": 132}], []),
    *[("gemm", [f"dtype={t}", f"align={a}", f"stages={s}", "tile_m=32", "tile_n=32", f"tile_k={32 if t == 's8' else 16}"],
       [{"m": 33, "n": 47, "k": 150} if a == 1 else {"m": 32 + a, "n": 48, "k": 144}],
       [{"m": 32, "n": 32, "k": trips * (32 if t == "s8" else 16)} for trips in range(10)]) for t, a, s in GEMMS],
    ("gemm", ["split_k=3", "bias=1"], [{"m": 33, "n": 47, "k": 390}, {"m": 34, "n": 46, "k": 390},
                                            {"m": 40, "n": 48, "k": 400}], []),
    ("gemm", [], SQUARES, []),
]
FILES = [
    ("tests/filetests/whole/gemm_ws.ptir", [{"m": 130, "n": 200, "k": 312, "ctas": 1}],
     [{"m": m, "n": n, "k": k, "ctas": c} for m, n, k, c in [(1, 1, 8, 1), (127, 255, 56, 2), (129, 257, 72, 3),
                                                            (257, 300, 264, 2), (256, 256, 64, 132)]]),
    ("tests/filetests/whole/gemm_sm80.ptir", [{"m": 130, "n": 136, "k": 200}], []),
    ("tests/filetests/whole/gemm_sm80_3.ptir", [{"m": 130, "n": 136, "k": 200}], []),
]


def own(ptxgen, folder, pattern):
    for kernel, settings, sizes, more in [*LIBRARY, *((str(ROOT / p), [], z, m) for p, z, m in FILES)]:
        if re.search(pattern, " ".join([os.path.basename(kernel), *settings])):
            yield Own(ptxgen, kernel, settings, sizes, more, folder)


class Triton(Subject):
    """A kernel of tests/peer/triton."""
    group = "triton"
    more_seeds = 4  # seconds each

    def __init__(self, harness, ptxgen, name, job, made, folder):
        self.name, self.job, self.made, self.folder = "triton " + name, job, made, pathlib.Path(folder)
        self.tool = self.ptxgen = ptxgen
        self.harness, self.short = harness, name
        self.text = pathlib.Path(made[0]).read_text()

    def run(self, path, races, seeds):
        made = (pathlib.Path(path), *self.made[1:])
        said = self.harness.run(self.ptxgen, f"{self.short}_{os.path.basename(path)}", self.job, made, self.folder, seeds,
                                [f"--races={races}", "--max-steps=3000000"])
        if said is None:
            return None
        found = FAULT.search(said)
        if found is None and "expected" not in said and "never written" not in said:
            raise Refused(said)
        return found.group(1) if found else "wrong numbers"


def triton(ptxgen, cache, folder):
    """Those that were compiled, or can be; none without Triton."""
    sys.path.insert(0, str(ROOT / "tests/peer/triton"))
    import run as harness  # noqa: E402
    try:
        python = harness.triton_python(os.environ.get("PTXGEN_TEST_LONG") == "1")
    except SystemExit:
        return  # it said so
    made = harness.compile_all(python, list(harness.jobs()), pathlib.Path(cache))
    for name, job in harness.jobs():
        yield Triton(harness, ptxgen, name, job, made[name], folder)
