"""What the script tests of the command line share: a folder, runs of ptxgen, .npy files, counting."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback

TYPES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "<u4": "I", "|u1": "B", "<f2": "e",
         "<u2": "H", "<i2": "h", "|i1": "b", "<u8": "Q"}


def npy(descr, shape, values):
    """Bytes of a .npy file as NumPy writes them."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    return head + struct.pack(f"<{len(values)}{TYPES[descr]}", *values)


def read_npy(data):
    """(descr, shape, values) of a .npy file."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + size])  # a literal that our own program wrote
    assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
    body = data[10 + size:]
    code = TYPES[head["descr"]]
    n = len(body) // struct.calcsize(code)
    return head["descr"], head["shape"], list(struct.unpack(f"<{n}{code}", body))


class Run:
    """What one run of ptxgen gave."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    def numbers(self):
        return re.findall(r"error: PG(\d{4}) ", self.err)


class Cli:
    def __init__(self, program):
        self.program = str(pathlib.Path(program).resolve())
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ptxgen-cli-"))
        self.env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}

    def path(self, name):
        return str(self.dir / name)

    def write(self, name, data):
        mode = "wb" if isinstance(data, bytes) else "w"
        with open(self.dir / name, mode) as f:
            f.write(data)
        return self.path(name)

    def read(self, name):
        return (self.dir / name).read_bytes()

    def run(self, *args, stdin=b"", want=None, env=None, timeout=120):
        done = subprocess.run([self.program, *args], input=stdin, capture_output=True,
                              cwd=self.dir, env=env or self.env, timeout=timeout)
        run = Run(done)
        if want is not None:
            assert run.status == want, (
                f"ptxgen {' '.join(args)}: exit {run.status}, not {want}\n"
                f"{run.out[-1500:]}\n{run.err[-1500:]}")
            if run.status != 0 and args:
                check_messages(run)
        return run


def check_messages(run):
    """Every failure says what and what to do: `place: error: PGnnnn text`, then `help:`."""
    lines = run.err.splitlines()
    at = [i for i, line in enumerate(lines) if re.match(r"\S.*: error: PG\d{4} \S", line)]
    assert at, f"no numbered message:\n{run.err}"
    assert any(line.startswith("help: ") for line in lines), f"no help:\n{run.err}"


class Skip(Exception):
    """A case that has not what it needs, with the reason."""


def main(tests):
    cli = Cli(sys.argv[1])
    passed, failed, skipped = 0, 0, 0
    wanted = sys.argv[2:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        try:
            test(cli)
            passed += 1
        except Skip as why:
            skipped += 1
            print(f"skipped: {test.__name__}: {why}")
        except Exception:  # a failed case must not hide the others
            failed += 1
            print(f"FAILED {test.__name__}")
            traceback.print_exc(limit=3, file=sys.stdout)
    shutil.rmtree(cli.dir)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)  # a run of nothing proves nothing
