#!/usr/bin/env python3
"""What the documents show is what a reader gets: test_docs.py PTXGEN LIBPTXGEN.so

README.md: the kernel is written to its file, each `console` block is run line by line and must
print what stands there; the C program compiles against the library and gives the same PTX as the
command.  All documents: links lead somewhere, and README names each page.
"""
import pathlib
import re
import shlex
import subprocess
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARY = pathlib.Path(sys.argv.pop(2)).resolve()
PAGES = sorted(ROOT.glob("docs/*.md"))


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)
    assert found, f"no {language} block in README.md"
    return found


def commands(block):
    """[(command, the output that stands below it)]"""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)
    assert parts[0] == "", f"output before a command: {parts[0]}"
    return list(zip(parts[1::2], parts[2::2]))


def readme_shows_what_comes(c):
    c.write("saxpy.ptir", blocks("ptir")[0])
    env = dict(c.env, PATH=f"{pathlib.Path(c.program).parent}:{c.env.get('PATH', '')}")
    for block in blocks("console"):
        for command, want in commands(block):
            done = subprocess.run(["sh", "-c", command], cwd=c.dir, env=env, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert done.stdout == want, f"$ {command}\n{done.stdout}\nREADME has:\n{want}"


def readme_program_compiles(c):
    c.write("saxpy.ptir", blocks("ptir")[0])
    c.write("hello.c", blocks("c")[0])
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "hello.c",
                    "-I", str(ROOT / "ptxgen/include"), str(LIBRARY),
                    f"-Wl,-rpath,{LIBRARY.parent}", "-o", "hello"], cwd=c.dir, check=True)
    done = subprocess.run(["./hello", "saxpy.ptir"], cwd=c.dir, capture_output=True, text=True,
                          check=True)
    assert done.stderr == "", done.stderr
    assert done.stdout == c.run("compile", "saxpy.ptir", want=0).out
    c.write("bad.ptir", "ptir 1\nmodule sm_80\nfoo\n")
    done = subprocess.run(["./hello", "bad.ptir"], cwd=c.dir, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and done.stderr.startswith("3:1: PG1007 "), done


def readme_commands_exist(c):
    """Lines of `sh` blocks that begin with ptxgen run as they stand."""
    ran = 0
    for line in "".join(blocks("sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["ptxgen"]:
            c.run(*words[1:], want=0)
            ran += 1
    assert ran >= 4, ran


def links_lead_somewhere(_):
    broken = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # code is no link
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken, broken


def readme_names_each_page(_):
    missing = [p.name for p in PAGES if f"(docs/{p.name})" not in README]
    assert not missing, missing


if __name__ == "__main__":
    harness.main([readme_shows_what_comes, readme_program_compiles, readme_commands_exist,
                  links_lead_somewhere, readme_names_each_page])
