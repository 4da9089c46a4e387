"""Operations of neural networks in Debian's ggml, with its Vulkan back end and its one for the CPU: equal outputs.

usage: ggml_operations.py DEVICE    part of the GPU's name; the variable PROGRAMS_LIBRARIES has the folder of its libraries
"""

import ctypes
import os
import sys
from ctypes import c_bool, c_float, c_int, c_int64, c_size_t, c_void_p

import numpy as np

DEVICE = sys.argv[1]
LIBRARIES = os.environ["PROGRAMS_LIBRARIES"]
BASE = ctypes.CDLL(f"{LIBRARIES}/libggml-base.so.0", ctypes.RTLD_GLOBAL)
GGML = ctypes.CDLL(f"{LIBRARIES}/libggml.so.0", ctypes.RTLD_GLOBAL)

# source: ggml.h, `enum ggml_type`
F32, F16, Q4_0, Q8_0, Q4_K = 0, 1, 2, 8, 12


class Parameters(ctypes.Structure):
    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


def function(name, result, *arguments, library=BASE):
    call = getattr(library, name)
    call.restype, call.argtypes = result, list(arguments)
    return call


P = c_void_p
load = function("ggml_backend_load", P, ctypes.c_char_p, library=GGML)
device_count = function("ggml_backend_dev_count", c_size_t, library=GGML)
device_get = function("ggml_backend_dev_get", P, c_size_t, library=GGML)
description = function("ggml_backend_dev_description", ctypes.c_char_p, P)
device_name = function("ggml_backend_dev_name", ctypes.c_char_p, P)
device_init = function("ggml_backend_dev_init", P, P, ctypes.c_char_p)
context = function("ggml_init", P, Parameters)
free = function("ggml_free", None, P)
new_tensor = function("ggml_new_tensor", P, P, c_int, c_int, ctypes.POINTER(c_int64))
new_graph = function("ggml_new_graph", P, P)
expand = function("ggml_build_forward_expand", None, P, P)
allocate = function("ggml_backend_alloc_ctx_tensors", P, P, P)
release = function("ggml_backend_buffer_free", None, P)
write = function("ggml_backend_tensor_set", None, P, P, c_size_t, c_size_t)
read = function("ggml_backend_tensor_get", None, P, P, c_size_t, c_size_t)
size_B = function("ggml_nbytes", c_size_t, P)
compute = function("ggml_backend_graph_compute", c_int, P, P)
supports = function("ggml_backend_supports_op", c_bool, P, P)
quantize = function("ggml_quantize_chunk", c_size_t, c_int, P, P, c_int64, c_int64, c_int64, P)
row_size = function("ggml_row_size", c_size_t, c_int, c_int64)

mul_mat = function("ggml_mul_mat", P, P, P, P)
add = function("ggml_add", P, P, P, P)
mul = function("ggml_mul", P, P, P, P)
norm = function("ggml_norm", P, P, P, c_float)
rms_norm = function("ggml_rms_norm", P, P, P, c_float)
soft_max = function("ggml_soft_max", P, P, P)
gelu = function("ggml_gelu", P, P, P)
silu = function("ggml_silu", P, P, P)
rope = function("ggml_rope", P, P, P, P, c_int, c_int)
get_rows = function("ggml_get_rows", P, P, P, P)
argsort = function("ggml_argsort", P, P, P, c_int)
sum_rows = function("ggml_sum_rows", P, P, P)
repeat = function("ggml_repeat", P, P, P, P)
flash = function("ggml_flash_attn_ext", P, P, P, P, P, P, c_float, c_float, c_float)

rng = np.random.default_rng(3)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def packed(kind, values):
    """A matrix in a format of blocks; rows are the last axis."""
    rows, columns = values.shape
    out = np.zeros(row_size(kind, columns) * rows, np.uint8)
    quantize(kind, values.ctypes.data, out.ctypes.data, 0, rows, columns, None)
    return out


class Input:
    """A tensor with its contents: the first axis is the innermost one."""

    def __init__(self, data, kind=F32, shape=None):
        self.data, self.kind = np.ascontiguousarray(data), kind
        self.shape = shape or tuple(reversed(data.shape))


def positions(n):
    # source: ggml.h: 26 is GGML_TYPE_I32
    return Input(np.arange(n, dtype=np.int32), 26)


def operations():
    a, b = floats(48, 256), floats(33, 256)
    # Vulkan's matrix products round factors to 16-bit floats, and those of blocks the other factor to 8 bits, as the CPU's do.
    matrix = lambda kind, data: Input(data, kind, (256, 48))
    yield "matmul f32", 1e-3, [Input(a), Input(b)], mul_mat
    yield "matmul f16", 5e-3, [matrix(F16, a.astype(np.float16)), Input(b)], mul_mat
    for kind, name in ((Q4_0, "q4_0"), (Q8_0, "q8_0"), (Q4_K, "q4_K")):
        yield f"matmul {name}", 2e-2, [matrix(kind, packed(kind, a)), Input(b)], mul_mat
        yield f"vector {name}", 2e-2, [matrix(kind, packed(kind, a)), Input(b[:1])], mul_mat
    rows = Input(np.array([5, 0, 47, 5], np.int32), 26)
    yield "rows of q8_0", 1e-6, [matrix(Q8_0, packed(Q8_0, a)), rows], get_rows
    yield "normalisation", 1e-5, [Input(a)], lambda c, x: norm(c, x, 1e-5)
    yield "root mean square", 1e-5, [Input(a)], lambda c, x: rms_norm(c, x, 1e-5)
    yield "softmax", 1e-5, [Input(4 * a)], soft_max
    yield "gelu", 1e-3, [Input(a)], gelu
    yield "silu", 1e-5, [Input(a)], silu
    yield "sums", 1e-4, [Input(a)], sum_rows
    yield "rotation", 1e-4, [Input(floats(7, 4, 64)), positions(7)], lambda c, x, p: rope(c, x, p, 64, 0)
    yield "broadcast", 0, [Input(a), Input(floats(1, 256))], lambda c, x, y: mul(c, add(c, x, y), y)
    yield "order", 0, [Input(floats(5, 100))], lambda c, x: argsort(c, x, 0)
    q, k, v = floats(2, 16, 64), floats(2, 96, 64), floats(2, 96, 64)
    attend = lambda c, q, k, v: flash(c, q, k, v, None, 0.125, 0.0, 0.0)
    half = lambda x: Input(x.astype(np.float16), F16, (64, 96, 2))
    yield "attention", 5e-3, [Input(q), half(k), half(v)], attend


def run(backend, inputs, operation):
    memory = context(Parameters(1 << 20, None, True))
    tensors = [new_tensor(memory, i.kind, len(i.shape), (c_int64 * 4)(*i.shape)) for i in inputs]
    out = operation(memory, *tensors)
    graph = new_graph(memory)
    expand(graph, out)
    if not supports(backend, out):
        sys.exit("the back end does not have this operation")
    buffer = allocate(memory, backend)
    for tensor, given in zip(tensors, inputs):
        write(tensor, given.data.ctypes.data, 0, given.data.nbytes)
    if compute(backend, graph) != 0:
        sys.exit("the back end fails")
    data = np.zeros(size_B(out), np.uint8)
    read(out, data.ctypes.data, 0, data.nbytes)
    release(buffer)
    free(memory)
    return data


def main():
    for library in ("vulkan", "cpu-x64"):
        if not load(f"{LIBRARIES}/ggml/backends0/libggml-{library}.so".encode()):
            sys.exit(f"ggml does not load its back end {library}")
    devices = [device_get(i) for i in range(device_count())]
    named = lambda text: [d for d in devices if text in description(d).decode()]
    gpu = [d for d in named(DEVICE) if b"Vulkan" in device_name(d)]
    cpu = [d for d in devices if device_name(d) == b"CPU"]
    if not gpu or not cpu:
        sys.exit(f"no {DEVICE}: {[description(d) for d in devices]}")
    print(f"device: {description(gpu[0]).decode()}")
    backends = [device_init(d, None) for d in (cpu[0], gpu[0])]
    failed = 0
    for name, tolerance, inputs, operation in operations():
        want, got = (run(backend, inputs, operation) for backend in backends)
        if name == "order":
            right, error = (want == got).all(), 0
        else:
            want, got = want.view(np.float32), got.view(np.float32)
            error = np.abs(want - got).max() / max(1.0, np.abs(want).max())
            right = np.isfinite(got).all() and error <= tolerance
        failed += not right
        print(f"{'ok' if right else 'WRONG'}: {name}, error {error:.1e}")
    sys.exit(failed > 0)


main()
