#!/usr/bin/env python3
"""Compiles GLSL to SPIR-V and validates it, many shaders per process, for tools/corpus.

usage: corpus-glsl.py LIBRARY SOURCE OUT PACKAGE:FOLDER:MODE...

LIBRARY is libshaderc.so.1, which has glslang and spirv-val in it. Compiles the .vert, .frag and .comp files of SOURCE/PACKAGE/FOLDER
to OUT/spv/PACKAGE/FILE.spv, and the .tesc, .tese and .geom files to OUT/primitives/PACKAGE/FILE.spv. What the compiler or the validator refuses is a line of OUT/refused: file, tab, first complaint.
MODE is `vulkan` or `webgl` (see ATTEMPTS). Runs a worker process per processor; a worker that dies or takes more than SECONDS_PER_FILE
costs the file that it was at.
"""
import ctypes
import os
import re
import select
import signal
import sys
import time
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p

SECONDS_PER_FILE = 60
STAGES = {".vert": 0, ".frag": 1, ".comp": 2, ".geom": 3, ".tesc": 4, ".tese": 5}
# Stages of patches and primitives.
PRIMITIVES = {".geom", ".tesc", ".tese"}
VULKAN_1_0 = 1 << 22
VULKAN_1_3 = VULKAN_1_0 | 3 << 12
# Ways to compile, in this order: the first that works counts. (Vulkan version, choose locations and bindings, uniforms outside of
# blocks go into one)
ATTEMPTS = {
    "vulkan": [(VULKAN_1_3, False, False), (VULKAN_1_3, True, False), (VULKAN_1_0, False, False)],
    "webgl": [(VULKAN_1_3, True, True)],
}
# gl_MaxDrawBuffers as glslangValidator has it, and its number in shaderc_limit; shaderc's own is 8.
MAX_DRAW_BUFFERS, LIMIT_MAX_DRAW_BUFFERS = 32, 11
# Complaints that no other way of compiling mends.
FINAL = ("#version", "spirv-val", "entry point", "not allowed when using GLSL for Vulkan")


class IncludeResult(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("name_length", c_size_t), ("content", c_char_p), ("content_length", c_size_t), ("data", c_void_p)]


RESOLVE = CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_int, c_char_p, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)


class Compiler:
    """glslang and the validator, as libshaderc exports them."""

    def __init__(self, library):
        self.lib = lib = ctypes.CDLL(library)
        for name in ("compiler_initialize", "compile_options_initialize", "compile_into_spv", "result_get_bytes"):
            getattr(lib, f"shaderc_{name}").restype = c_void_p
        lib.shaderc_result_get_error_message.restype = c_char_p
        lib.shaderc_result_get_length.restype = c_size_t
        lib.spvContextCreate.restype = c_void_p
        self.compiler = c_void_p(lib.shaderc_compiler_initialize())
        env = c_int()
        assert lib.spvParseTargetEnv(b"vulkan1.3", byref(env))
        self.validator = c_void_p(lib.spvContextCreate(env))
        self.included, self.includer = {}, {}
        self.resolve, self.release = RESOLVE(self.find_include), RELEASE(lambda _, result: self.included.pop(result, None))
        self.options = {}

    def find_include(self, _data, requested, _type, requesting, _depth):
        """The file that an #include names, relative to the file that has it, or to the one that includes that, and so on."""
        requested = requested.replace(b"\\", b"/")
        name, content, within = b"", b"cannot open the file", requesting
        while within is not None:
            path = os.path.join(os.path.dirname(within), requested)
            if os.path.isfile(path):
                name, content = path, open(path, "rb").read()
                self.includer[path] = requesting
                break
            within = self.includer.get(within)
        result = IncludeResult(name, len(name), content, len(content), None)
        address = ctypes.addressof(result)
        self.included[address] = result
        return address

    def options_of(self, attempt):
        if attempt not in self.options:
            version, automatic, relaxed = attempt
            options = c_void_p(self.lib.shaderc_compile_options_initialize())
            self.lib.shaderc_compile_options_set_target_env(options, 0, c_uint(version))
            self.lib.shaderc_compile_options_set_auto_bind_uniforms(options, automatic)
            self.lib.shaderc_compile_options_set_auto_map_locations(options, automatic)
            self.lib.shaderc_compile_options_set_vulkan_rules_relaxed(options, relaxed)
            self.lib.shaderc_compile_options_set_limit(options, LIMIT_MAX_DRAW_BUFFERS, MAX_DRAW_BUFFERS)
            self.lib.shaderc_compile_options_set_include_callbacks(options, self.resolve, self.release, None)
            self.options[attempt] = options
        return self.options[attempt]

    def compile(self, path, text, attempt):
        """(SPIR-V, None) or (None, the first complaint)."""
        kind = STAGES[os.path.splitext(path)[1]]
        result = c_void_p(self.lib.shaderc_compile_into_spv(
            self.compiler, text, c_size_t(len(text)), kind, path.encode(), b"main", self.options_of(attempt)))
        try:
            if self.lib.shaderc_result_get_compilation_status(result) != 0:
                lines = (self.lib.shaderc_result_get_error_message(result) or b"").decode(errors="replace").splitlines()
                return None, next((line for line in lines if "error" in line), (lines or ["no reason given"])[0])
            words = self.lib.shaderc_result_get_length(result)
            binary = ctypes.string_at(self.lib.shaderc_result_get_bytes(result), words)
        finally:
            self.lib.shaderc_result_release(result)
        return self.validate(binary)

    def validate(self, binary):
        diagnostic = c_void_p()
        words = (c_uint * (len(binary) // 4)).from_buffer_copy(binary)
        status = self.lib.spvValidateBinary(self.validator, words, c_size_t(len(words)), byref(diagnostic))
        if status == 0:
            return binary, None
        # spv_diagnostic_t: a position of three words, then the text.
        text = ctypes.cast(diagnostic.value + 24, POINTER(c_char_p))[0] if diagnostic else b""
        self.lib.spvDiagnosticDestroy(diagnostic)
        return None, "spirv-val: " + text.decode(errors="replace").splitlines()[0]

    def first_that_works(self, path, mode):
        text = open(path, "rb").read()
        self.includer.clear()
        first = None
        for attempt in ATTEMPTS[mode]:
            binary, complaint = self.compile(path, text, attempt)
            if binary:
                return binary, None
            first = first or complaint
            if any(word in first for word in FINAL):
                break
        return None, first


def find(source, wanted):
    """(path below SOURCE, MODE) of every shader, in an order that does not depend on the file system."""
    for package, folder, mode in (w.split(":") for w in wanted):
        for directory, folders, names in os.walk(os.path.join(source, package, folder)):
            folders.sort()
            for name in sorted(names):
                if os.path.splitext(name)[1] in STAGES:
                    yield os.path.normpath(os.path.relpath(os.path.join(directory, name), source)), mode


def work(library, source, out, files, report):
    """A worker: compiles FILES, and writes a line to REPORT after each one: its number, and why it was refused."""
    compiler = Compiler(library)
    os.chdir(source)
    for number, (path, mode) in files:
        signal.alarm(SECONDS_PER_FILE)
        binary, complaint = compiler.first_that_works(path, mode)
        signal.alarm(0)
        if binary:
            folder = "primitives" if os.path.splitext(path)[1] in PRIMITIVES else "spv"
            target = os.path.join(out, folder, path + ".spv")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(binary)
        report.write(f"{number}\t{re.sub(r'[\t\n]', ' ', complaint or '')}\n")
        report.flush()


class Worker:
    """A process with its share of the files; `results` is what it has reported so far."""

    def __init__(self, arguments, files):
        self.arguments, self.files, self.pending = arguments, files, b""
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            # The compiler prints its own complaints.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work(*arguments, files, os.fdopen(write, "w"))
            os._exit(0)
        os.close(write)
        self.pipe = read

    def read(self):
        """Complete lines, or None at the end."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            os.close(self.pipe)
            return None
        *lines, self.pending = (self.pending + data).split(b"\n")
        return [line.decode().split("\t", 1) for line in lines]

    def end(self):
        """The status of the process, 0 if it came to the end of its files."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(arguments, files):
    """The complaint about each file, empty if there is none."""
    complaints, shown, terminal = {}, time.time(), sys.stderr.isatty()
    numbered = list(enumerate(files))
    count = len(os.sched_getaffinity(0))
    workers = [Worker(arguments, share) for share in (numbered[i::count] for i in range(count)) if share]
    while workers:
        by_pipe = {worker.pipe: worker for worker in workers}
        for pipe in select.select(by_pipe, [], [])[0]:
            worker = by_pipe[pipe]
            lines = worker.read()
            if lines is not None:
                complaints.update((int(number), complaint) for number, complaint in lines)
                continue
            workers.remove(worker)
            status = worker.end()
            left = [(n, f) for n, f in worker.files if n not in complaints]
            if left:
                complaints[left[0][0]] = f"the compiler ended with status {status}"
                if left[1:]:
                    workers.append(Worker(arguments, left[1:]))
        if terminal or time.time() - shown >= 10:
            shown = time.time()
            print(f"{'\r' if terminal else ''}tools/corpus: compiled {len(complaints)} of {len(files)} shaders",
                  end="" if terminal else "\n", file=sys.stderr, flush=True)
    if terminal:
        print(file=sys.stderr)
    return complaints


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    library, source, out = map(os.path.abspath, sys.argv[1:4])
    files = list(find(source, sys.argv[4:]))
    complaints = run((library, source, out), files)
    with open(os.path.join(out, "refused"), "w") as refused:
        for number, (path, _) in enumerate(files):
            if complaints[number]:
                refused.write(f"{path}\t{complaints[number]}\n")


main()
