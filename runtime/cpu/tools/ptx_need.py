#!/usr/bin/env python3
"""Counts the PTX instructions that `asm` statements use: ptx_need.py TOOLKIT/include FOLDER/PATTERN...

Each pattern matches program folders. For each instruction, prints how many programs and toolkit headers contain it, and
lists the programs; then prints how many programs include certain headers. docs/cpu-backend.md has a table of the results.
"""

import collections
import glob
import pathlib
import re
import sys

SOURCES = {".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".inl", ".inc"}
STATEMENT = re.compile(r"\b(?:asm|__asm__)\b\s*(?:volatile|__volatile__)?\s*\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|(::|:|\))')
MNEMONIC = re.compile(r"(?:@!?[%\w]+\s+)?([a-z][a-z0-9_]*)((?:\.[\w:]+)*)\s")
LABEL = re.compile(r"^[\w$%]+\s*:(?!:)\s*")
HEADERS = {
    "cub": r"<cub/",
    "thrust": r"<thrust/",
    "cooperative_groups": r"<cooperative_groups",
    "barriers and pipelines": r"<cuda/(?:std/)?(?:barrier|pipeline)|<cuda_(?:awbarrier|pipeline)",
    "cuda/atomic": r"<cuda/(?:std/)?atomic",
    "cuda_fp16": r"[<\"]cuda_fp16",
    "cuda_bf16": r"[<\"]cuda_bf16",
    "cuda_fp8": r"[<\"]cuda_fp8",
    "mma": r"[<\"]mma\.h",
}
# Instruction families whose members are distinguished by their second word.
FAMILIES = {"cp", "mbarrier", "barrier"}
# Instructions without modifiers. No other single words are counted as PTX, since host code also has `asm` statements.
BARE = {"trap", "exit", "bra", "ret", "brkpt"}


def texts(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.suffix in SOURCES or path.suffix == "" and "cuda" in path.parts):
            yield path, re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text(errors="ignore"), flags=re.S)


def instructions(text):
    """Yields the instructions in a text's `asm` templates, which are in quotes before the first colon."""
    for statement in STATEMENT.finditer(text):
        template = ""
        for piece in STRING.finditer(text, statement.end()):
            if piece.group(2):
                break
            template += piece.group(1).replace("\\n", "\n").replace("\\t", " ")
        for line in re.split(r"[;\n]", template):
            line = LABEL.sub("", line.strip().lstrip("{} \t"))
            found = MNEMONIC.match(line + " ")
            if found and (found.group(2) or found.group(1) in BARE):
                name, words = found.group(1), found.group(2).split(".")[1:]
                modifiers = 2 if words[:1] == ["async"] and words[1:2] in (["bulk"], ["mbarrier"]) else 1
                yield ".".join([name, *words[:modifiers]]) if name in FAMILIES else name


def main():
    toolkit = pathlib.Path(sys.argv[1])
    uses = collections.defaultdict(lambda: (set(), set()))
    for path, text in texts(toolkit):
        for name in instructions(text):
            uses[name][1].add(str(path.relative_to(toolkit)))
    included = collections.Counter()
    count = 0
    for pattern in sys.argv[2:]:
        for program in sorted(p for p in map(pathlib.Path, glob.glob(pattern)) if p.is_dir()):
            count += 1
            whole = ""
            for _, text in texts(program):
                whole += text
                for name in instructions(text):
                    uses[name][0].add(program.name)
            included.update(name for name, what in HEADERS.items() if re.search(r"#\s*include\s*(?:" + what + ")", whole))
    for name, (programs, headers) in sorted(uses.items(), key=lambda item: (-len(item[1][0]), -len(item[1][1]), item[0])):
        print(f"{name:20} {len(programs):3} programs, {len(headers):3} headers: {' '.join(sorted(programs))}")
    print(f"of {count} programs: {dict(included)}")


if __name__ == "__main__":
    main()
