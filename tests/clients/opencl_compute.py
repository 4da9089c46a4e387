"""Computes through OpenCL: each answer must equal numpy's.

usage: opencl_compute.py DEVICE    part of the device's name
"""

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void scale(global const int *a, global const int *b, global int *out, int factor) {
    int i = get_global_id(0);
    out[i] = a[i] * factor + b[i];
}

// Steps until 1: loops that end at different times in each channel.
kernel void collatz(global const uint *from, global uint *steps) {
    uint i = get_global_id(0), n = from[i], count = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        count++;
    }
    steps[i] = count;
}

// A tree of sums in local memory.
kernel void sums(global const float *in, global float *out, local float *part) {
    int l = get_local_id(0), size = get_local_size(0);
    part[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = size / 2; step > 0; step /= 2) {
        if (l < step) part[l] += part[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}

kernel void histogram(global const uchar *in, global int *bins) {
    atomic_inc(&bins[in[get_global_id(0)] / 16]);
}

kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum = fma(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}

kernel void functions(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    float x = in[i];
    out[i] = (float4)(native_sqrt(x), native_exp2(x), native_log2(x), native_sin(x));
}
"""


def main(name):
    devices = [d for p in cl.get_platforms() for d in p.get_devices() if name in d.name]
    if not devices:
        sys.exit(f"no OpenCL device is called {name}")
    device = devices[0]
    print(f"device: {device.name}, {device.version}, driver {device.driver_version}")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    random = np.random.default_rng(7)
    flags = cl.mem_flags

    def given(array):
        return cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=array)

    def run(kernel, size, group, out, *arguments):
        """Runs a kernel whose last buffer is `out`; `arguments` come before and behind it."""
        before, behind = arguments
        target = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=out)
        getattr(program, kernel)(queue, size, group, *before, target, *behind)
        cl.enqueue_copy(queue, out, target)
        queue.finish()
        return out

    def check(what, right):
        print(f"{'ok' if np.all(right) else 'WRONG'}: {what}", flush=True)
        return bool(np.all(right))

    n = 5000
    a, b = (random.integers(-1000, 1000, n, dtype=np.int32) for _ in range(2))
    out = run("scale", (n,), None, np.zeros(n, np.int32), [given(a), given(b)], [np.int32(3)])
    good = check("integers", out == a * 3 + b)

    start = np.arange(1, 1025, dtype=np.uint32)
    steps = np.zeros_like(start)
    for i, value in enumerate(start.tolist()):
        while value != 1:
            value = 3 * value + 1 if value & 1 else value // 2
            steps[i] += 1
    out = run("collatz", (1024,), (64,), np.zeros_like(start), [given(start)], [])
    good &= check("loops", out == steps)

    values = random.integers(0, 100, 4096).astype(np.float32)
    local = cl.LocalMemory(4 * 128)
    out = run("sums", (4096,), (128,), np.zeros(32, np.float32), [given(values)], [local])
    good &= check("local memory", out == values.reshape(32, 128).sum(axis=1))

    data = random.integers(0, 256, 8192, dtype=np.uint8)
    out = run("histogram", (8192,), None, np.zeros(16, np.int32), [given(data)], [])
    good &= check("atomics", out == np.bincount(data // 16, minlength=16))

    n = 48
    a, b = (random.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    out = run("matmul", (n, n), (16, 4), np.zeros((n, n), np.float32), [given(a), given(b)], [np.int32(n)])
    good &= check("floats", np.isclose(out, a @ b, rtol=1e-4, atol=1e-4))

    x = random.uniform(0.1, 3.0, 1000).astype(np.float32)
    out = run("functions", (1000,), None, np.zeros((1000, 4), np.float32), [given(x)], [])
    expected = np.stack([np.sqrt(x), np.exp2(x), np.log2(x), np.sin(x)], axis=1)
    good &= check("functions", np.isclose(out, expected, rtol=1e-3, atol=1e-3))
    sys.exit(0 if good else 1)


main(sys.argv[1])
