#!/usr/bin/env python3
"""Writes the list in src/unsupported.rs: every function of libcudart that no other file of src/ exports.

Usage: tools/unsupported.py LIBCUDART.so   (the shared library of the CUDA version whose headers programs use; needs `nm`)
"""
import pathlib
import re
import subprocess
import sys

# Gone from the library since CUDA 12, but programs built with older headers call them.
TEXTURE_REFERENCES = """
__cudaRegisterSurface __cudaRegisterTexture cudaBindSurfaceToArray cudaBindTexture cudaBindTexture2D cudaBindTextureToArray
cudaBindTextureToMipmappedArray cudaGetSurfaceReference cudaGetTextureAlignmentOffset cudaGetTextureReference cudaUnbindTexture
""".split()

src = pathlib.Path(__file__).parent.parent / "src"
target = src / "unsupported.rs"
symbols = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], check=True, capture_output=True, text=True).stdout
names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
names = {name for name in names if re.match(r"(__)?cuda[A-Z]", name)} | set(TEXTURE_REFERENCES)
sources = "\n".join(path.read_text() for path in src.rglob("*.rs") if path != target)
exported = set(re.findall(r"\b(?:__)?cuda[A-Z]\w*", re.sub(r"//.*", "", sources)))
missing = sorted(names - exported)
head, rest = target.read_text().split("unsupported! {\n")
tail = rest[rest.index("\n}") :]
target.write_text(head + "unsupported! {\n" + "\n".join(f"    {name}," for name in missing) + tail)
print(f"{len(names & exported)} functions are there, {len(missing)} are listed as unsupported")
