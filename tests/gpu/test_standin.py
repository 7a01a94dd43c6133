#!/usr/bin/env python3
"""`ptxgen run --device=cuda` against a stand-in for the driver (standin.h): what is called and with what, results, and
what happens when any of the calls fails."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import harness  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(2)).resolve()
WHOLE = HERE.parent / "filetests/whole"

SAXPY = """ptir 1
module sm_80
kernel @saxpy(%a: f32, %x: ptr<f32> [in, shape=(%n)], %y: ptr<f32> [inout, shape=(%n)], %n: i32) [warps=4] {
  launch {
    %g = icdiv %n, 128 : i32
    grid %g
  }
  %p = program_id [axis=x] : i32
  %first = imul %p, 128 : i32
  %firsts = splat %first : tile<128xi32>
  %lane = iota : tile<128xi32>
  %i = iadd %firsts, %lane : tile<128xi32>
  %ns = splat %n : tile<128xi32>
  %ok = icmp %i, %ns [is=lt] : tile<128xi1>
  %px = addptr %x, %i : tile<128xptr<f32>>
  %py = addptr %y, %i : tile<128xptr<f32>>
  %vx = load %px, %ok : tile<128xf32>
  %vy = load %py, %ok : tile<128xf32>
  %as = splat %a : tile<128xf32>
  %r = fma %as, %vx, %vy : tile<128xf32>
  store %py, %r, %ok
  return
}
"""


class Driver:
    """Runs of the command with a stand-in on the library path."""

    def __init__(self, cli, variant="standin"):
        self.cli = cli
        self.lib = cli.dir / variant
        self.lib.mkdir(exist_ok=True)
        link = self.lib / "libcuda.so.1"
        if not link.exists():
            link.symlink_to(BUILD / f"lib{variant}.so")

    def env(self, settings):
        (self.cli.dir / "driver.log").unlink(missing_ok=True)
        env = {**self.cli.env, "LD_LIBRARY_PATH": str(self.lib), "PTXGEN_STANDIN_LOG": self.cli.path("driver.log")}
        return {**env, **{f"PTXGEN_STANDIN_{k.upper()}": str(v) for k, v in settings.items()}}

    def run(self, *args, want=None, **settings):
        return self.checked(self.cli.run("run", *args, env=self.env(settings), want=want), args, settings)

    def launch(self, *args, **settings):
        done = subprocess.run([BUILD / "launch", *args], env=self.env(settings), capture_output=True, check=False)
        return self.checked(harness.Run(done), args, settings)

    def checked(self, done, args, settings):
        """Nobody broke a rule of the driver, and what was taken was given back."""
        log = self.cli.dir / "driver.log"
        done.log = log.read_text().splitlines() if log.exists() else []
        if done.log:
            wrong = [line for line in done.log if re.match("MISUSE|LEAK", line)]
            assert not wrong, (args, settings, wrong, done.err)
            assert done.log[-1].startswith("END"), done.log[-3:]
        return done


def calls(log, name=None):
    """The calls, without the further lines of each."""
    found = [line for line in log if line.startswith("cu")]
    return found if name is None else [line for line in found if line.split()[0] == name]


def saxpy(c, *more, **how):
    c.write("saxpy.ptir", SAXPY)
    return Driver(c).run("saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--device=cuda", *more, **how)


KERNELS = [
    ("add", ["--arg=n=1003"]), ("gelu", ["--arg=n=4001", "--set=dtype=bf16"]),
    ("softmax", ["--arg=rows=7", "--arg=cols=333"]), ("transpose", ["--arg=m=61", "--arg=n=77"]),
    ("gemm", ["--arg=m=65", "--arg=n=72", "--arg=k=48"]),
    ("gemm", ["--arg=m=40", "--arg=n=33", "--arg=k=200", "--set=split_k=3"]),
]
OUTPUT = {"add": "c", "gelu": "y", "softmax": "y", "transpose": "y", "gemm": "c"}


def kernels_are_right(c):
    """Library kernels, through copies in, launches, copies out; several launches one after the other; several seeds."""
    for name, args in KERNELS:
        run = Driver(c).run(name, *args, "--device=cuda", "--verify", "--seeds=2", want=0)
        assert "elements right" in run.out, run.out
        launches = calls(run.log, "cuLaunchKernelEx")
        assert len(launches) % 2 == 0 and launches[:len(launches) // 2] == launches[len(launches) // 2:]
        split = "--set=split_k=3" in args
        assert (len(launches) > 2) == split, (args, launches)


def bytes_are_those_of_the_cpu(c):
    for name, args in KERNELS:
        for device in ("cuda", "cpu"):
            Driver(c).run(name, *args, f"--out={OUTPUT[name]}={device}.npy", f"--device={device}", want=0)
        assert c.read("cuda.npy") == c.read("cpu.npy"), (name, args)


def the_calls_in_order(c):
    """All calls of a launch with two arrays: order, sizes with guard zones, grid, parameters."""
    run = saxpy(c, "--out=y=y.npy", "--verify", want=0)
    size = 4000 + 2 * 256
    array = [f"cuMemAlloc_v2 size={size}", f"cuMemsetD8_v2 value=167 n={size}", "cuMemcpyHtoD_v2 size=4000"]
    guards = ["cuMemcpyDtoH_v2 size=256"] * 4
    want = [
        "cuInit flags=0", "cuDeviceGetCount", "cuDeviceGet ordinal=0", "cuDeviceGetName size=128 device=7",
        "cuDeviceGetAttribute attribute=75 device=7", "cuDeviceGetAttribute attribute=76 device=7",
        "cuDeviceGetAttribute attribute=8 device=7", "cuDeviceGetAttribute attribute=97 device=7",
        "cuDevicePrimaryCtxRetain device=7", "cuCtxSetCurrent primary", "cuModuleLoadDataEx options=4",
        "cuModuleGetFunction saxpy", *array, *array,
        *[f"cuFuncGetParamInfo index={i}" for i in (0, 1, 2, 3, 4)],
        *[f"cuFuncGetParamInfo index={i}" for i in (0, 1, 2, 3)],
        "cuLaunchKernelEx grid=8,1,1 block=128,1,1 shared=0", "cuCtxSynchronize", *guards,
        *["cuMemcpyDtoH_v2 size=4000"] * 2, "cuMemFree_v2", "cuMemFree_v2", "cuModuleUnload", "cuCtxSetCurrent none",
        "cuDevicePrimaryCtxRelease_v2 device=7",
    ]
    assert calls(run.log) == want, "\n".join(calls(run.log))


def any_call_may_fail(c):
    """Whichever call fails: exit 3, one numbered message that names it, everything given back."""
    plain = saxpy(c, "--verify", want=0)
    names = [line.split()[0] for line in calls(plain.log)]
    assert len(names) > 30
    for n, name in enumerate(names, 1):
        run = saxpy(c, "--verify", fail=f"{n}:999", want=3)
        assert run.numbers() == ["6145"], (n, name, run.err)
        said = name.replace("_v2", "").replace("cuDevicePrimary", "cuPrimary")
        assert f"{said} failed: unknown error (CUDA_ERROR_UNKNOWN, 999)" in run.err, (n, name, run.err)
        assert run.out == "", (n, name, run.out)


def any_call_of_a_large_kernel_may_fail(c):
    """The same with more than 48 KiB of shared memory, two launches and a tensor map."""
    file = str(WHOLE / "gemm_ws.ptir")
    args = ["--arg=m=128", "--arg=n=256", "--arg=k=64", "--arg=ctas=2", "--device=cuda"]
    plain = Driver(c).run(file, *args, run=0, want=0)
    names = [line.split()[0] for line in calls(plain.log)]
    for wanted in ("cuTensorMapEncodeTiled", "cuFuncSetAttribute"):
        assert wanted in names, names
    for n, name in enumerate(names, 1):
        run = Driver(c).run(file, *args, run=0, fail=f"{n}:999", want=3)
        assert run.numbers() == ["6145"], (n, name, run.err)


def memory_runs_out(c):
    plain = saxpy(c, want=0)
    n = 1 + [line.split()[0] for line in calls(plain.log)].index("cuMemAlloc_v2")
    run = saxpy(c, fail=f"{n}:2", want=3)
    assert "cuMemAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)" in run.err, run.err


def texts_may_fail_too(c):
    """A result of which the driver knows no text."""
    run = saxpy(c, fail="1:12345", want=3)
    assert "cuInit failed: unknown (CUresult, 12345)" in run.err, run.err


def a_wrong_kernel_is_4(c):
    """The device says only that something was wrong; the message says who tells more."""
    c.write("unmasked.ptir", SAXPY.replace("store %py, %r, %ok", "store %py, %r").replace("[inout, shape=(%n)]", "[inout, shape=(%m)]")
            .replace("%n: i32", "%n: i32, %m: i32"))
    run = Driver(c).run("unmasked.ptir", "--arg=n=1000", "--arg=m=8", "--arg=a=1", "--device=cuda", want=4)
    assert run.numbers() == ["6157"] and "illegal memory access" in run.err and "--device=cpu" in run.err, run.err


def writes_beside_an_array_are_4(c):
    """Less than the guard zone beyond the end: no fault to the device."""
    c.write("beside.ptir", SAXPY.replace("store %py, %r, %ok", "store %py, %r"))
    run = Driver(c).run("beside.ptir", "--arg=n=1000", "--arg=a=1", "--device=cuda", want=4)
    assert run.numbers() == ["6158"] and "behind the end of 'y'" in run.err, run.err
    c.write("before.ptir", SAXPY.replace("%i = iadd %firsts, %lane : tile<128xi32>",
                                         "%i = isub %firsts, %lane : tile<128xi32>")
            .replace("store %py, %r, %ok", "store %py, %as"))
    run = Driver(c).run("before.ptir", "--arg=n=20", "--arg=a=1", "--device=cuda")
    assert run.status == 4 and run.numbers()[0] in ("6157", "6158"), run.err


def unwritten_elements_are_not_right(c):
    c.write("half.ptir", SAXPY.replace("[inout, shape=(%n)]", "[out, shape=(%m)]").replace("%n: i32", "%n: i32, %m: i32")
            .replace("load %py, %ok", "splat 0.0"))
    run = Driver(c).run("half.ptir", "--arg=n=100", "--arg=m=120", "--arg=a=1", "--device=cuda", "--out=y=y.npy", want=0)
    values = harness.read_npy(c.read("y.npy"))[2]
    assert all(x == x for x in values[:100]) and all(x != x for x in values[100:]), values
    assert run.err == "", run.err


def what_the_drivers_compiler_refuses(c):
    """At the line of the kernel, and below it at the PTX."""
    run = saxpy(c, refuse="fma.rn.f32", want=5)
    assert run.numbers() == ["6149"], run.err
    assert re.search(r"saxpy.ptir:20:3: error: PG6149 the driver's compiler: Not to my taste\n", run.err), run.err
    assert re.search(r"PTX of saxpy.ptir:\d+:1: note: the instruction that it became\n  \tfma.rn.f32", run.err), run.err


def a_driver_older_than_the_ptx(c):
    run = saxpy(c, ptx=63, want=3)
    assert "cuModuleLoadDataEx failed" in run.err and "CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222" in run.err, run.err
    assert "Unsupported .version" in run.err, run.err


def the_device_must_fit(c):
    run = saxpy(c, "--arch=sm_90a", sm=80, want=3)
    assert run.numbers() == ["6146"] and "sm_90a, the device 'Stand-in' is sm_80" in run.err, run.err
    saxpy(c, "--arch=sm_90a", sm=100, want=3)
    saxpy(c, "--arch=sm_90a", sm=90, want=0)
    saxpy(c, "--arch=sm_80", sm=120, want=0)
    saxpy(c, "--arch=sm_90", sm=89, want=3)


def shared_memory_is_asked_for(c):
    """Above 48 KiB by an attribute; more than the device has is named."""
    args = ["gemm", "--arg=m=33", "--arg=n=40", "--arg=k=64", "--device=cuda", "--set=stages=4"]
    run = Driver(c).run(*args, "--verify", want=0)
    launch = calls(run.log, "cuLaunchKernelEx")[0]
    bytes_ = int(launch.rsplit("=", 1)[1])
    asked = calls(run.log, "cuFuncSetAttribute")
    assert bytes_ > 49152 and asked == [f"cuFuncSetAttribute attribute=8 value={bytes_}"], (launch, asked)
    run = Driver(c).run(*args, shared=bytes_ - 1, want=3)
    assert run.numbers() == ["6148"] and str(bytes_) in run.err, run.err
    assert not calls(run.log, "cuLaunchKernelEx")


def tensor_maps_reach_the_driver(c):
    """Lists innermost first, strides in bytes, box and swizzle of the descriptor, from the manifest's expressions."""
    file = str(WHOLE / "gemm_ws.ptir")
    args = ["--arg=m=130", "--arg=n=260", "--arg=k=72", "--arg=ctas=2", "--device=cuda"]
    run = Driver(c).run(file, *args, run=0, want=0)
    at = [i for i, line in enumerate(run.log) if line.startswith("cuTensorMapEncodeTiled")]
    assert len(at) == 2, run.log
    head = "cuTensorMapEncodeTiled type=6 rank=2 interleave=0 swizzle=3 l2=0 fill=0"
    assert run.log[at[0]:at[0] + 5] == [head, "  dims 72 130", "  strides 144", "  box 64 128", "  steps 1 1"]
    assert run.log[at[1]:at[1] + 5] == [head, "  dims 72 260", "  strides 144", "  box 64 256", "  steps 1 1"]
    sizes = [line for line in run.log if line.startswith("cuFuncGetParamInfo")]
    assert len(sizes) == 10 + 9, sizes  # nine parameters, and the end


def a_product_by_tensor_maps_is_right_on_both(c):
    """The driver's maps through TMA copies, wgmma, 192 KiB of shared memory; sizes that are no multiples of the tiles."""
    file = str(WHOLE / "gemm_ws.ptir")
    for m, n, k in ((130, 260, 72), (64, 256, 200)):
        args = [file, f"--arg=m={m}", f"--arg=n={n}", f"--arg=k={k}", "--arg=ctas=2", "--verify"]
        for device in ("cuda", "cpu"):
            run = Driver(c).run(*args, f"--out=pc={device}.npy", f"--device={device}", want=0)
            assert f"pc: {m * n} elements right" in run.out, run.out
        assert c.read("cuda.npy") == c.read("cpu.npy")


def broken_rules_of_tensor_maps_are_named(c):
    """Before the driver is asked, on both devices."""
    file = str(WHOLE / "gemm_ws.ptir")
    for k, device in ((65, "cuda"), (66, "cpu")):
        run = Driver(c).run(file, "--arg=m=130", "--arg=n=260", f"--arg=k={k}", "--arg=ctas=2", f"--device={device}", run=0, want=1)
        assert set(run.numbers()) == {"5111"} and f"tensor map 'ta': globalStrides[0] is {2 * k}" in run.err, run.err
        assert not calls(run.log, "cuTensorMapEncodeTiled")


def clusters_are_an_attribute(c):
    """Of PTX that no IR makes yet; two entries, parameters of odd sizes, an empty array."""
    words = " ".join(str(100 + i) for i in range(32))
    for cluster, asked in ((1, []), (8, []), (16, ["cuFuncSetAttribute attribute=14 value=1"])):
        run = Driver(c).launch(str(cluster), "50000")
        assert run.status == 0 and run.out.strip() == words, (cluster, run.err, run.log)
        assert calls(run.log, "cuFuncSetAttribute") == ["cuFuncSetAttribute attribute=8 value=50000", *asked], run.log
        at = run.log.index("cuLaunchKernelEx grid=32,1,1 block=1,1,1 shared=50000")
        assert run.log[at + 1] == ("cuCtxSynchronize" if cluster == 1 else f"  cluster {cluster} 1 1"), run.log
    names = [line.split()[0] for line in calls(run.log)]
    for n, name in enumerate(names, 1):
        run = Driver(c).launch("16", "50000", fail=f"{n}:999")
        assert run.status == 3 and run.numbers() == ["6145"], (n, name, run.err)


def clusters_of_a_kernel(c):
    """`cluster` of a kernel reaches the launch, and a grid that does not go with it never does."""
    text = SAXPY.replace("sm_80", "sm_90").replace("[warps=4]", "[warps=4, cluster=(SIZE)]")
    even = text.replace("%g = icdiv %n, 128 : i32", "%h = icdiv %n, 256 : i32\n    %g = imul %h, 2 : i32")
    args = ["c.ptir", "--arg=a=2.5", "--verify"]
    for size, programs, shape in ((2, even, "2 1 1"), ("2, 1, 1", even, "2 1 1"), (1, text, None), ("1, 1, 1", text, None)):
        c.write("c.ptir", programs.replace("SIZE", str(size)))
        for n in (1, 256, 1000):
            run = Driver(c).run(*args, f"--arg=n={n}", "--device=cuda", want=0)
            at = next(i for i, line in enumerate(run.log) if line.startswith("cuLaunchKernelEx"))
            assert (run.log[at + 1] == f"  cluster {shape}") == (shape is not None), run.log
            Driver(c).run(*args, f"--arg=n={n}", "--device=cpu", "--races", "--seeds=4", want=0)
    c.write("c.ptir", text.replace("SIZE", "2"))
    for device in ("cuda", "cpu"):
        run = Driver(c).run(*args, "--arg=n=1000", f"--device={device}", want=0)
        run = Driver(c).run(*args, "--arg=n=100", f"--device={device}", want=1)
        assert run.numbers() == ["6138"] and "grid.x is 1, no multiple of the cluster's 2\n" in run.err, run.err
        assert not calls(run.log, "cuLaunchKernelEx"), run.log


def promised_alignment_is_checked(c):
    """Before anything is launched, on both; and arrays of our own lie where the kernel was promised."""
    d = Driver(c)
    for more in ([], ["cpu"]):
        right = d.launch("1", "0", "32", *more)
        assert right.status == 0 and right.out.split()[-1] == "131", (more, right.err)
        for offset in ("8", "20"):
            wrong = d.launch("1", "0", offset, *more)
            assert wrong.status == 1 and wrong.numbers() == ["6135"], (more, wrong.err)
            assert re.search(r"'out' points to 0x[0-9a-f]+, which is no multiple of its align = 16\n", wrong.err), wrong.err
            assert not calls(wrong.log, "cuLaunchKernelEx")[1:], wrong.log  # `other` alone
    for align in (1, 16, 256, 512, 4096, 65536):
        c.write("s.ptir", SAXPY.replace("[inout, ", f"[inout, align={align}, ").replace("[in, ", f"[in, align={align}, "))
        for device in ("cuda", "cpu"):
            d.run("s.ptir", "--arg=n=100", "--arg=a=2", f"--device={device}", "--verify", want=0)


def no_driver(c):
    """--device=cuda fails, auto says that it went elsewhere, the default goes there silently."""
    c.write("saxpy.ptir", SAXPY)
    (c.dir / "empty").mkdir(exist_ok=True)
    env = {**c.env, "LD_LIBRARY_PATH": str(c.dir / "empty")}
    args = ["saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--verify"]
    run = c.run("run", *args, "--device=cuda", env=env)
    if run.status == 0:
        raise harness.Skip("there is a driver with a GPU on this machine")
    assert run.status == 3 and run.numbers() == ["6140"] and "help: " in run.err, run.err
    run = c.run("run", *args, "--device=auto", env=env, want=0)
    assert "note: PG6159 running on the CPU" in run.err and "elements right" in run.out, run.err
    run = c.run("run", *args, env=env, want=0)
    assert run.err == "", run.err


def no_device(c):
    for devices in ("0", "none"):
        run = saxpy(c, devices=devices, want=3)
        assert run.numbers() == ["6140"], run.err
        run = Driver(c).run("saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--verify", "--device=auto", devices=devices, want=0)
        assert "PG6159" in run.err, run.err


def a_driver_that_fails_is_no_absent_driver(c):
    run = Driver(c).run("saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--device=auto", fail="1:999", want=3)
    assert run.numbers() == ["6145"], run.err


def who_runs_where(c):
    """Without --device on the GPU, unless only the executor has what is asked for."""
    args = ["saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--verify"]
    for more, is_gpu in (([], True), (["--device=auto"], True), (["--device=cpu"], False), (["--races"], False),
                         (["--stats"], False), (["--max-steps=100000"], False)):
        run = Driver(c).run(*args, *more, want=0)
        assert bool(run.log) == is_gpu, (more, run.log)
    for more in ("--races", "--stats", "--max-steps=9"):
        run = Driver(c).run(*args, "--device=cuda", more, want=2)
        assert run.numbers() == ["6109"] and not run.log, run.err


def older_drivers(c):
    """Without cuFuncGetParamInfo and cuTensorMapEncodeTiled what needs neither runs; before 11.8 nothing does."""
    c.write("saxpy.ptir", SAXPY)
    args = ["saxpy.ptir", "--arg=n=1000", "--arg=a=2.5", "--verify"]
    Driver(c, "standin_old").run(*args, "--device=cuda", want=0)
    run = Driver(c, "standin_old").run(str(WHOLE / "gemm_ws.ptir"), "--arg=m=128", "--arg=n=256", "--arg=k=64",
                                       "--arg=ctas=1", "--device=cuda", run=0, want=3)
    assert run.numbers() == ["6147"], run.err
    run = Driver(c, "standin_ancient").run(*args, "--device=cuda", want=3)
    assert run.numbers() == ["6140"] and "cuLaunchKernelEx" in run.err, run.err


if __name__ == "__main__":
    harness.main([
        kernels_are_right, bytes_are_those_of_the_cpu, the_calls_in_order, any_call_may_fail,
        any_call_of_a_large_kernel_may_fail, memory_runs_out, texts_may_fail_too, a_wrong_kernel_is_4,
        writes_beside_an_array_are_4, unwritten_elements_are_not_right, what_the_drivers_compiler_refuses,
        a_driver_older_than_the_ptx, the_device_must_fit, shared_memory_is_asked_for, tensor_maps_reach_the_driver,
        a_product_by_tensor_maps_is_right_on_both,
        broken_rules_of_tensor_maps_are_named, clusters_are_an_attribute, clusters_of_a_kernel, promised_alignment_is_checked, no_driver, no_device,
        a_driver_that_fails_is_no_absent_driver, who_runs_where, older_drivers,
    ])
