"""A small network in PyPI's `onnxruntime-webgpu`, on WebGPU by Dawn and on the CPU: equal outputs.

usage: onnx_network.py DEVICE    part of the GPU's name, which the runtime does not print: the loaded drivers are printed instead
"""

import struct
import sys

import numpy as np
import onnxruntime

rng = np.random.default_rng(5)


def field(number, value):
    """A field of a protocol buffer: a message or string, or an integer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


# source: onnx/onnx.proto: the numbers of fields
def tensor(name, array):
    kind = {"float32": 1, "int64": 7}[array.dtype.name]
    dims = b"".join(field(1, int(n)) for n in array.shape)
    return dims + field(2, kind) + field(8, name) + field(9, array.tobytes())


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, n) for n in value) + field(20, 7)


def node(kind, inputs, outputs, **attributes):
    parts = [field(1, name) for name in inputs] + [field(2, name) for name in outputs]
    parts += [field(4, kind)] + [field(5, attribute(*a)) for a in attributes.items()]
    return b"".join(parts)


def value(name, shape):
    dims = b"".join(field(1, field(1, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def weight(*shape, scale=0.2):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


# A convolution, pooling, attention of eight tokens, and a classifier.
WEIGHTS = {
    "k1": weight(8, 3, 3, 3),
    "b1": weight(8),
    "k2": weight(16, 8, 1, 1),
    "tokens": np.array([1, 16, 64], np.int64),
    "gain": weight(64) + 1,
    "bias": weight(64),
    "wq": weight(64, 64, scale=0.1),
    "wk": weight(64, 64, scale=0.1),
    "wv": weight(64, 64, scale=0.1),
    "half": np.array(0.125, np.float32),
    "wo": weight(64, 10),
}
NODES = [
    node("Conv", ["image", "k1", "b1"], ["c1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    node("Relu", ["c1"], ["r1"]),
    node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
    node("Conv", ["p1", "k2"], ["features"], kernel_shape=[1, 1]),
    node("Reshape", ["features", "tokens"], ["x"]),
    node("LayerNormalization", ["x", "gain", "bias"], ["n"], axis=-1 & (1 << 64) - 1),
    node("MatMul", ["n", "wq"], ["q"]),
    node("MatMul", ["n", "wk"], ["k"]),
    node("MatMul", ["n", "wv"], ["v"]),
    node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
    node("MatMul", ["q", "kt"], ["s"]),
    node("Mul", ["s", "half"], ["ss"]),
    node("Softmax", ["ss"], ["a"], axis=-1 & (1 << 64) - 1),
    node("MatMul", ["a", "v"], ["attention"]),
    node("Gelu", ["attention"], ["g"]),
    node("MatMul", ["g", "wo"], ["logits"]),
    node("ReduceMean", ["logits"], ["mean"], keepdims=0),
    node("Sigmoid", ["logits"], ["probabilities"]),
]
OUTPUTS = {"features": [1, 16, 8, 8], "attention": [1, 16, 64], "probabilities": [1, 16, 10], "mean": []}


def model():
    graph = b"".join(field(1, n) for n in NODES) + field(2, "network")
    graph += b"".join(field(5, tensor(*w)) for w in WEIGHTS.items())
    graph += field(11, value("image", [1, 3, 16, 16]))
    graph += b"".join(field(12, value(*o)) for o in OUTPUTS.items())
    opset = field(1, "") + field(2, 20)
    return field(1, 9) + field(7, graph) + field(8, opset)


def main():
    image = rng.standard_normal((1, 3, 16, 16)).astype(np.float32)
    answers = []
    for provider in ("CPUExecutionProvider", "WebGpuExecutionProvider"):
        options = onnxruntime.SessionOptions()
        # A node that WebGPU does not have is an error.
        if provider.startswith("WebGpu"):
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        session = onnxruntime.InferenceSession(model(), options, providers=[provider])
        if session.get_providers()[0] != provider:
            sys.exit(f"no {provider}: {session.get_providers()}")
        answers.append(session.run(list(OUTPUTS), {"image": image}))
    with open("/proc/self/maps") as maps:
        print("".join(line for line in maps if "libvulkan_" in line))
    failed = 0
    for name, cpu, gpu in zip(OUTPUTS, *answers):
        # Sums of at most 64 products in another order.
        right = cpu.shape == gpu.shape and np.allclose(gpu, cpu, rtol=1e-4, atol=1e-5)
        failed += not right
        print(f"{'ok' if right else 'WRONG'}: {name}, error {np.abs(gpu - cpu).max():.1e}")
    sys.exit(failed > 0)


main()
