#!/usr/bin/env python3
"""A user's build against what is installed: test_install.py PTXGEN BUILD-FOLDER

`meson install` into a temporary folder; docs/examples/embed builds against that by pkg-config and
make, by CMake, and by Meson, and as a Meson subproject (built with PTXGEN_TEST_LONG=1, else only
set up). Each program must give the same PTX, and that PTX must be right.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBED = ROOT / "docs/examples/embed"
BUILD = pathlib.Path(sys.argv.pop(2)).resolve()
OPTIONS = {"prefix": "", "libdir": "", "bindir": "", "includedir": "", "datadir": "", "mandir": ""}


def call(*words, cwd=None, env=None, fails=False):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=env, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode != 0) == fails, f"{words}: exit {done.returncode}\n{done.stdout[-3000:]}"
    return done.stdout


def need(*programs):
    for p in programs:
        if shutil.which(p) is None:
            raise harness.Skip(f"no {p} here")


class Tree:
    """The installed files, and an environment in which tools find them."""

    def __init__(self, c):
        self.root = c.dir / "root"
        for o in json.loads(call("meson", "introspect", "--buildoptions", BUILD)):
            if o["name"] in OPTIONS:
                OPTIONS[o["name"]] = o["value"]
        call("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.root)
        self.prefix = pathlib.Path(str(self.root) + OPTIONS["prefix"])
        self.lib = self.prefix / OPTIONS["libdir"]
        self.env = dict(c.env, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"),
                        PKG_CONFIG_SYSROOT_DIR=str(self.root), LD_LIBRARY_PATH=str(self.lib))
        self.env.pop("DESTDIR", None)

    def here(self, kind, name):
        path = self.prefix / OPTIONS[kind] / name
        assert path.is_file(), f"not installed: {path.relative_to(self.root)}"
        return path


def embed(c, name):
    """A copy of the example, as a user has it: without the project around it."""
    shutil.copytree(EMBED, c.dir / name)
    return c.dir / name


def runs(c, program):
    done = subprocess.run([program, "20"], env=TREE.env, capture_output=True, text=True, check=True)
    assert done.stderr.count("PTXGEN_OK") == 2 and done.stderr.count(" 0 left") == 2, done.stderr
    assert "PTXGEN_E_MISUSE\nPG1502 " in done.stderr and '"entry": "scale"' in done.stderr
    parts = [p for p in re.split(r"(?m)^(?=\.version)", done.stdout) if p.strip()]
    assert len(parts) == 2 and ".target sm_90a" in parts[1], done.stdout[:500]
    for part in parts:
        c.run("check", "-", stdin=part.encode(), want=0)
    # Three of everything: the kernel's own text, run on the CPU.
    c.write("scale.ptx", parts[0])
    c.write("x.npy", harness.npy("<f4", (1500,), [i - 700.0 for i in range(1500)]))
    c.run("exec", "scale.ptx", "--grid=2", "--block=128", "--arg=in:x.npy",
          "--arg=out:y.npy:f32:1500", "--arg=f32:2", "--arg=f32:3", "--arg=s32:1500", want=0)
    assert harness.read_npy(c.read("y.npy"))[2] == [max(0, 2 * (i - 700.0) + 3)
                                                    for i in range(1500)]
    PROGRAMS.append(done.stdout)
    assert PROGRAMS[0] == done.stdout, "two builds of the example give different text"


def libraries_and_headers(_):
    for name in ("libptxgen.so", "libptxgen.so.0", "libptxgen.a", "libptxexec.a"):
        TREE.here("libdir", name)
    for name in ("ptxgen.h", "ptxgen_build.h", "ptxgen_kernels.h", "ptxexec.h"):
        TREE.here("includedir", name)
    out = call("readelf", "-dV", TREE.lib / "libptxgen.so")
    assert "soname: [libptxgen.so.0]" in out and "PTXGEN_0" in out, out
    needed = re.findall(r"NEEDED.*\[(.*?)\]", out)
    assert all(n.startswith(("libc.so", "libm.so", "ld-linux")) for n in needed), needed
    for pc in ("ptxgen", "ptxexec"):
        text = TREE.here("libdir", f"pkgconfig/{pc}.pc").read_text()
        assert str(ROOT) not in text and str(BUILD) not in text, text


def pages_completions_and_syntax(_):
    for name in ("ptxgen.1", "ptxgen-compile.1", "ptxgen-run.1", "ptxgen-help.1"):
        TREE.here("mandir", f"man1/{name}")
    for name in ("bash-completion/completions/ptxgen", "zsh/site-functions/_ptxgen",
                 "fish/vendor_completions.d/ptxgen.fish", "vim/vimfiles/syntax/ptir.vim",
                 "vim/vimfiles/ftdetect/ptir-detect.vim", "ptxgen/vscode/package.json",
                 "doc/ptxgen/README.md", "doc/ptxgen/docs/examples/embed/embed.c"):
        TREE.here("datadir", name)
    # What a message names is there.
    rows = (ROOT / "ptxgen/base/diags.def").read_text(encoding="utf-8")
    named = set(re.findall(r"\bdocs/\w+\.md", rows))
    assert "docs/ops.md" in named, named
    for name in named:
        TREE.here("datadir", f"doc/ptxgen/{name}")


def by_pkg_config(c):
    need("make", "pkg-config")
    folder = embed(c, "by-pkg-config")
    call("make", cwd=folder, env=TREE.env)
    runs(c, folder / "embed")
    # Without any shared library.
    flags = call("pkg-config", "--cflags", "--libs", "--static", "ptxgen", "ptxexec",
                 env=TREE.env).split()
    call("cc", "-static", folder / "embed.c", *flags, "-o", folder / "alone", env=TREE.env)
    assert "NEEDED" not in call("readelf", "-d", folder / "alone")
    runs(c, folder / "alone")


def by_cmake(c):
    need("cmake")
    folder = embed(c, "by-cmake")
    find = f"-DCMAKE_PREFIX_PATH={TREE.prefix}"
    call("cmake", "-S", folder, "-B", folder / "b", find, "-DCMAKE_C_FLAGS=-Wall -Werror")
    call("cmake", "--build", folder / "b")
    runs(c, folder / "b/embed")
    # The executor's target, from C++, and versions that do not fit.
    (folder / "x.cpp").write_text('#include <ptxexec.h>\n#include <ptxgen_kernels.h>\n'
                                  'int main() { return ptxexec_version() != ptxgen_version(); }\n')
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(x CXX)\nset(CMAKE_CXX_STANDARD 17)\n"
        "find_package(ptxgen ${ASK} REQUIRED)\nadd_executable(x x.cpp)\n"
        "target_link_libraries(x PRIVATE ptxgen::${LIBRARY} ptxgen::ptxexec)\n")
    if shutil.which("g++"):
        for library in ("ptxgen", "ptxgen_static"):
            built = folder / library
            call("cmake", "-S", folder, "-B", built, find, "-DASK=0.1.0", f"-DLIBRARY={library}")
            call("cmake", "--build", built)
            call(built / "x", env=TREE.env)
            needed = call("readelf", "-d", built / "x")
            assert ("libptxgen.so" in needed) == (library == "ptxgen"), needed
        for ask in ("0.2", "0.0", "1", "0.1.9"):
            out = call("cmake", "-S", folder, "-B", folder / f"v{ask}", find, f"-DASK={ask}",
                       fails=True)
            assert "compatible with requested version" in re.sub(r"\s+", " ", out), out


def by_meson(c):
    folder = embed(c, "by-meson")
    call("meson", "setup", folder / "b", folder, "--wrap-mode=nofallback", env=TREE.env)
    call("meson", "compile", "-C", folder / "b", env=TREE.env)
    runs(c, folder / "b/embed")


def as_a_subproject(c):
    folder = embed(c, "as-subproject")
    (folder / "subprojects").mkdir()
    (folder / "subprojects/ptxgen").symlink_to(ROOT)
    env = {k: v for k, v in TREE.env.items() if not k.startswith("PKG_CONFIG")}
    call("meson", "setup", folder / "b", folder, "--force-fallback-for=ptxgen", env=env)
    targets = call("meson", "introspect", "--targets", folder / "b")
    assert "libptxgen.so" in targets and "ptxgen_static" not in targets and "gen_docs" not in targets
    if os.environ.get("PTXGEN_TEST_LONG"):
        call("ninja", "-C", folder / "b", "embed", env=env)
        runs(c, folder / "b/embed")


TREE = None
PROGRAMS = []


def installs(c):
    global TREE
    TREE = Tree(c)
    assert call(TREE.here("bindir", "ptxgen"), "--version").startswith("ptxgen 0.")


if __name__ == "__main__":
    harness.main([installs, libraries_and_headers, pages_completions_and_syntax, by_pkg_config, by_cmake, by_meson,
                  as_a_subproject])
