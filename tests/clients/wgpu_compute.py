"""Compute through PyPI's `wgpu` (wgpu-native, naga): each answer must equal numpy's.

usage: wgpu_compute.py DEVICE    part of the adapter's name
"""

import sys

import numpy as np
import wgpu

from adapter import device_named

rng = np.random.default_rng(7)


class Runner:
    """One device, and kernels over storage buffers."""

    def __init__(self, name):
        self.device = device_named(name)

    def run(self, code, inputs, out_bytes, groups, textures=()):
        """Runs `main` with storage buffers 0 … n-1, the result at n, textures from n + 1."""
        device = self.device
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        buffers = [device.create_buffer_with_data(data=x, usage=usage) for x in inputs]
        buffers.append(device.create_buffer(size=out_bytes, usage=usage))
        entries = [
            {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}}
            for i, b in enumerate(buffers)
        ]
        entries += [
            {"binding": len(buffers) + i, "resource": t} for i, t in enumerate(textures)
        ]
        module = device.create_shader_module(code=code)
        pipeline = device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        group = device.create_bind_group(
            layout=pipeline.get_bind_group_layout(0), entries=entries
        )
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(*groups)
        compute.end()
        device.queue.submit([encoder.finish()])
        return device.queue.read_buffer(buffers[-1])


def squares(gpu):
    x = np.arange(1000, dtype=np.int32)
    code = """
    @group(0) @binding(0) var<storage, read> a: array<i32>;
    @group(0) @binding(1) var<storage, read_write> r: array<i32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x < arrayLength(&r)) { r[id.x] = a[id.x] * a[id.x] - 3 * a[id.x] / 7; }
    }"""
    got = np.frombuffer(gpu.run(code, [x], x.nbytes, (16, 1, 1)), np.int32)
    return np.array_equal(got, x * x - 3 * x // 7)


def matmul(gpu):
    n = 64
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    code = """
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read> b: array<f32>;
    @group(0) @binding(2) var<storage, read_write> r: array<f32>;
    var<workgroup> ta: array<array<f32, 8>, 8>;
    var<workgroup> tb: array<array<f32, 8>, 8>;
    @compute @workgroup_size(8, 8)
    fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_id) l: vec3u) {
        var sum = 0.0;
        for (var k = 0u; k < 64u; k += 8u) {
            ta[l.y][l.x] = a[g.y * 64u + k + l.x];
            tb[l.y][l.x] = b[(k + l.y) * 64u + g.x];
            workgroupBarrier();
            for (var i = 0u; i < 8u; i++) { sum += ta[l.y][i] * tb[i][l.x]; }
            workgroupBarrier();
        }
        r[g.y * 64u + g.x] = sum;
    }"""
    got = np.frombuffer(gpu.run(code, [a, b], a.nbytes, (8, 8, 1)), np.float32).reshape(n, n)
    want = a.astype(np.float64) @ b
    return np.abs(got - want).max() < 1e-4


def histogram(gpu):
    """Writes the zeros that WGSL promises of workgroup memory: wgpu-native asks no driver for them."""
    x = rng.integers(0, 2**32, 4096, np.uint32)
    code = """
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> r: array<atomic<u32>, 64>;
    var<workgroup> bins: array<atomic<u32>, 64>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_index) l: u32) {
        atomicStore(&bins[l], 0u);
        workgroupBarrier();
        atomicAdd(&bins[a[g.x] >> 26u], 1u);
        workgroupBarrier();
        atomicAdd(&r[l], atomicLoad(&bins[l]));
    }"""
    got = np.frombuffer(gpu.run(code, [x], 256, (64, 1, 1)), np.uint32)
    return np.array_equal(got, np.bincount(x >> 26, minlength=64))


def collatz(gpu):
    x = np.arange(1, 2049, dtype=np.uint32)
    code = """
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> r: array<u32>;
    @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
        var n = a[id.x];
        var steps = 0u;
        loop {
            if (n == 1u) { break; }
            if (n % 2u == 0u) { n /= 2u; } else { n = 3u * n + 1u; }
            steps++;
        }
        r[id.x] = steps;
    }"""
    got = np.frombuffer(gpu.run(code, [x], x.nbytes, (64, 1, 1)), np.uint32)

    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    return np.array_equal(got, [steps(int(n)) for n in x])


def texture(gpu):
    """A sampled and a storage texture: a flip with a linear filter at texel centres."""
    size = 32
    texels = rng.integers(0, 256, (size, size, 4), np.uint8)
    device = gpu.device
    descriptor = {"size": (size, size, 1), "format": "rgba8unorm"}
    source = device.create_texture(
        **descriptor, usage=wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
    )
    target = device.create_texture(
        **descriptor, usage=wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.COPY_SRC
    )
    layout = {"bytes_per_row": size * 4, "rows_per_image": size}
    device.queue.write_texture({"texture": source}, texels, layout, (size, size, 1))
    sampler = device.create_sampler(mag_filter="linear", min_filter="linear")
    code = """
    @group(0) @binding(0) var<storage, read_write> r: array<u32>;
    @group(0) @binding(1) var t: texture_2d<f32>;
    @group(0) @binding(2) var s: sampler;
    @group(0) @binding(3) var o: texture_storage_2d<rgba8unorm, write>;
    @compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
        let at = (vec2f(f32(31u - id.x), f32(id.y)) + 0.5) / 32.0;
        let texel = textureSampleLevel(t, s, at, 0.0);
        textureStore(o, id.xy, texel.bgra);
        r[id.y * 32u + id.x] = pack4x8unorm(texel);
    }"""
    views = [source.create_view(), sampler, target.create_view()]
    got = np.frombuffer(gpu.run(code, [], texels.nbytes, (4, 4, 1), views), np.uint8)
    flipped = texels[:, ::-1]
    stored = device.queue.read_texture({"texture": target}, layout, (size, size, 1))
    stored = np.frombuffer(stored, np.uint8).reshape(size, size, 4)
    return np.array_equal(got.reshape(size, size, 4), flipped) and np.array_equal(
        stored, flipped[..., [2, 1, 0, 3]]
    )


def main():
    gpu = Runner(sys.argv[1])
    failed = 0
    for program in (squares, matmul, histogram, collatz, texture):
        right = bool(program(gpu))
        failed += not right
        print(f"{'ok' if right else 'WRONG'}: {program.__name__}")
    sys.exit(failed > 0)


main()
