#!/usr/bin/env python3
"""What the documents show is what a reader gets: test_docs.py PTXGEN BUILD-FOLDER

In README.md, CONTRIBUTING.md and docs/*.md, page by page, in a folder of its own with docs/examples
in it:

- a block behind `<!-- file: NAME -->` is written to NAME;
- `console`: each line behind `$ ` is run, and what it prints is what stands below; `...` stands for
  anything within a line, or, alone on a line, for any lines;
- `sh`: run as it stands, must succeed;
- a block behind `<!-- not run: REASON -->` is neither. Blocks without a language hold no commands.

Commands in running text name options that there are; links lead somewhere; README names each page.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(2)).resolve()
PAGES = sorted(ROOT.glob("docs/*.md"))
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
# Reasons that are the tests' own business: the command is tested elsewhere, or would take long.
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
FILE = re.compile(r"<!-- file: (\S+) -->")


class Block:
    def __init__(self, page, line, before, language, text):
        self.where = f"{page.relative_to(ROOT)}:{line}"
        self.language, self.text = language, text
        reason = NOT_RUN.fullmatch(before)
        self.reason = reason.group(1) if reason else None
        name = FILE.fullmatch(before)
        self.file = name.group(1) if name else None


def blocks(page):
    lines = page.read_text(encoding="utf-8").split("\n")
    at = 0
    while at < len(lines):
        opening = re.fullmatch(r"```(\w*)", lines[at])
        if opening:
            end = lines.index("```", at + 1)
            yield Block(page, at + 1, lines[at - 1], opening.group(1),
                        "".join(line + "\n" for line in lines[at + 1:end]))
            at = end
        at += 1


def matches(want, have):
    """`...` in `want` stands for anything."""
    pattern = "".join(r"(?:.*\n)*" if line == "...\n" else
                      r"[^\n]*".join(map(re.escape, line.split("...")))
                      for line in want.splitlines(keepends=True))
    return re.fullmatch(pattern, have) is not None


class Page:
    """A folder and an environment as a reader of the page has them."""

    def __init__(self, c, page):
        self.dir = c.dir / f"page-{page.stem}"
        (self.dir / "docs").mkdir(parents=True)
        shutil.copytree(ROOT / "docs/examples", self.dir / "docs/examples")
        self.env = dict(c.env, PATH=f"{pathlib.Path(c.program).parent}:{c.env.get('PATH', '')}",
                        PKG_CONFIG_PATH=str(BUILD / "meson-uninstalled"),
                        LD_LIBRARY_PATH=str(BUILD / "ptxgen"), NO_COLOR="1")

    def run(self, command):
        return subprocess.run(["sh", "-ec", command], cwd=self.dir, env=self.env, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def console(self, block):
        parts = re.split(r"^\$ (.*)\n", block.text, flags=re.M)
        assert parts[0] == "", f"{block.where}: output before a command"
        for command, want in zip(parts[1::2], parts[2::2]):
            if "--emit=cubin" in command and not has_ptxas(self):
                return f"{block.where}: no ptxas here"
            have = self.run(command).stdout
            assert matches(want, have), f"{block.where}: $ {command}\n{have}\nthe page has:\n{want}"
        return None


def has_ptxas(page):
    probe = page.run("ptxgen kernel gelu --emit=cubin -o probe.cubin")
    assert probe.returncode in (0, 3), probe.stdout
    return probe.returncode == 0


def every_command_runs(c):
    ran, skipped = 0, []
    for path in ALL:
        page = Page(c, path)
        for block in blocks(path):
            if block.file:
                (page.dir / block.file).parent.mkdir(parents=True, exist_ok=True)
                (page.dir / block.file).write_text(block.text, encoding="utf-8")
            elif block.reason:
                print(f"not run: {block.where}: {block.reason}")
            elif block.language == "console":
                why = page.console(block)
                ran += 1
                if why:
                    skipped.append(why)
            elif block.language == "sh":
                done = page.run(block.text)
                assert done.returncode == 0, f"{block.where}\n{done.stdout[-2000:]}"
                ran += 1
            elif not block.language:
                hidden = re.findall(r"^(?:\$ |ptxgen |meson |ninja |tools/).*", block.text, re.M)
                assert not hidden, f"{block.where}: a command in a block that is not run: {hidden}"
    assert ran >= 10, ran
    if skipped:
        raise harness.Skip("; ".join(skipped))


def readme_program_works(c):
    """The C program of README: the same PTX as the command, and errors with their places."""
    page = Page(c, pathlib.Path("program.md"))
    for block in blocks(ROOT / "README.md"):
        if block.file in ("saxpy.ptir", "hello.c"):
            (page.dir / block.file).write_text(block.text, encoding="utf-8")
    done = page.run("gcc -std=c11 -Wall -Wextra -Wpedantic -Werror hello.c "
                    "$(pkg-config --cflags --libs ptxgen) -o hello")
    assert done.returncode == 0, done.stdout
    assert page.run("./hello saxpy.ptir").stdout == page.run("ptxgen compile saxpy.ptir").stdout
    (page.dir / "bad.ptir").write_text("ptir 1\nmodule sm_80\nfoo\n")
    done = page.run("./hello bad.ptir")
    assert done.returncode == 1 and done.stdout.startswith("3:1: PG1007 "), done


def commands_in_text_exist(c):
    """`ptxgen run NAME --verify` in running text: the command and each long option."""
    options = {}
    for name in re.findall(r"^  ptxgen (\w+) ", c.run("help", want=0).out, re.M):
        options[name] = set(re.findall(r"^  (--?[-\w]+)", c.run("help", name, want=0).out, re.M))
    known = set().union(*options.values()) | {"--help", "--version", "--"}
    wrong = []
    for path in ALL:
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for code in re.findall(r"`ptxgen ([^`]*)`", line):
                words = code.split()
                command = words[0] if words else "help"
                has = options.get(command, set()) | {"--help"}
                if command not in options and command != "--version" and not (command.isupper() or command == "%s"):
                    wrong.append(f"{path.name}:{n}: ptxgen {command}")
                wrong += [f"{path.name}:{n}: ptxgen {command} has no {o}" for o in
                          re.findall(r"(?<!\S)--[-a-z]+", code) if o not in has]
    assert known and not wrong, wrong


def links_lead_somewhere(_):
    broken = []
    for page in ALL + [ROOT / "CHANGELOG.md"]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # code is no link
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken, broken


def readme_names_each_page(_):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in PAGES if f"(docs/{p.name})" not in readme]
    assert not missing, missing


if __name__ == "__main__":
    harness.main([every_command_runs, readme_program_works, commands_in_text_exist,
                  links_lead_somewhere, readme_names_each_page])
