"""Compiles the files *.cu of a folder with every installed NVRTC, for the architectures that follow.

The options are those of the file with the ending .options. Prints a JSON list with an entry for each
program, compiler and architecture. Its log is empty if the program was compiled, and multiplies and
adds in separate instructions.
"""

import ctypes
import glob
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import nvidia


def compilers():
    for folder in nvidia.__path__:
        for path in sorted(glob.glob(folder + "/*/lib/libnvrtc.so.1[0-9]")):
            # NVRTC opens it by name, and does not find it in this folder.
            for builtins in glob.glob(os.path.dirname(path) + "/libnvrtc-builtins.so.1*"):
                ctypes.CDLL(builtins)
            yield ctypes.CDLL(path)


def version(nvrtc):
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def compile_with(nvrtc, source, options):
    """Returns the PTX, or None, and the log."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"program.cu", 0, None, None)
    texts = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), texts)
    size = nvrtc.nvrtcGetPTXSize if status == 0 else nvrtc.nvrtcGetProgramLogSize
    read = nvrtc.nvrtcGetPTX if status == 0 else nvrtc.nvrtcGetProgramLog
    length = ctypes.c_size_t()
    size(program, ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    read(program, text)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status == 0, text.value.decode()


def check(nvrtc, path, architecture):
    source = open(path, "rb").read()
    options = open(path[:-3] + ".options").read().split()
    options = [option for option in options if "--gpu-architecture" not in option]
    is_compiled, text = compile_with(nvrtc, source, options + ["--gpu-architecture=" + architecture])
    # Products and sums must round one by one.
    is_right = is_compiled and ".entry program(" in text and "fma.rn.f32" not in text
    name = os.path.basename(path)
    return {"nvrtc": version(nvrtc), "file": name, "for": architecture, "log": "" if is_right else text}


def main(folder, architectures):
    paths = sorted(glob.glob(os.path.join(folder, "*.cu")))
    work = [(nvrtc, path, each) for nvrtc in compilers() for path in paths for each in architectures]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        json.dump(list(pool.map(lambda args: check(*args), work)), sys.stdout)


main(sys.argv[1], sys.argv[2:])
