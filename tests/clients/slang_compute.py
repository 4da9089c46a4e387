"""Computes through PyPI's `slangpy`, which compiles Slang to SPIR-V: each answer must equal numpy's.

usage: slang_compute.py DEVICE    part of the adapter's name
"""

import os
import sys
import tempfile

import numpy as np
import slangpy as spy

SOURCE = """
interface IShape { float area(); }
struct Circle : IShape { float r; float area() { return 3.14159265f * r * r; } }
struct Box : IShape { float w; float h; float area() { return w * h; } }
float total<T : IShape>(T shape, uint n) { float sum = 0; for (uint i = 0; i < n; i++) sum += shape.area(); return sum; }

[shader("compute")] [numthreads(64, 1, 1)]
void shapes(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> a, RWStructuredBuffer<float> result) {
    uint i = id.x;
    Circle c; c.r = a[i];
    Box b; b.w = a[i]; b.h = 2;
    result[i] = (i & 1) != 0 ? total(c, i % 5) : total(b, i % 7);
}

[Differentiable] float curve(float x, float k) { return sin(k * x) * exp(-x * x) + x * x * x; }

[shader("compute")] [numthreads(64, 1, 1)]
void slopes(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> a, RWStructuredBuffer<float> result) {
    DifferentialPair<float> x = diffPair(a[id.x]);
    DifferentialPair<float> k = diffPair(2.0f);
    bwd_diff(curve)(x, k, 1.0f);
    result[id.x] = x.d;
}

groupshared float part[128];

[shader("compute")] [numthreads(128, 1, 1)]
void sums(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID, uint lane : SV_GroupIndex,
          RWStructuredBuffer<float> a, RWStructuredBuffer<float> result) {
    part[lane] = a[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint step = 64; step > 0; step /= 2) {
        if (lane < step) part[lane] += part[lane + step];
        GroupMemoryBarrierWithGroupSync();
    }
    if (lane == 0) result[group.x] = part[0];
}

[shader("compute")] [numthreads(64, 1, 1)]
void waves(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> a, RWStructuredBuffer<float> result) {
    uint below = WavePrefixCountBits(a[id.x] > 1);
    uint all = WaveActiveCountBits(a[id.x] > 1);
    result[id.x] = WaveActiveMax(a[id.x]) - WaveActiveMin(a[id.x]) + (below <= all ? 0 : 100);
}

[shader("compute")] [numthreads(8, 8, 1)]
void blur(uint3 id : SV_DispatchThreadID, Texture2D<float> image, RWTexture2D<float> result) {
    float sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) sum += image.Load(int3((int2(id.xy) + int2(x, y) + 64) % 64, 0));
    result[id.xy] = sum / 9;
}
"""

rng = np.random.default_rng(8)


def device_named(name):
    found = [a for a in spy.Device.enumerate_adapters(spy.DeviceType.vulkan) if name in a.name]
    if not found:
        sys.exit(f"no Vulkan adapter is called {name}")
    print(f"device: {found[0].name}")
    # Nothing is kept between runs.
    return spy.Device(type=spy.DeviceType.vulkan, adapter_luid=found[0].luid, enable_debug_layers=False)


def check(name, right):
    print(f"{'ok' if right else 'WRONG'}: {name}")
    return right


def main(name):
    device = device_named(name)
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "kernels.slang"), "w") as file:
        file.write(SOURCE)

    def kernel(entry):
        program = device.load_program(os.path.join(folder, "kernels.slang"), [entry])
        return device.create_compute_kernel(program)

    both = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access

    def run(entry, a, count, threads):
        given = device.create_buffer(element_count=len(a), struct_size=4, usage=both, data=a)
        result = device.create_buffer(element_count=count, struct_size=4, usage=both, data=np.zeros(count, np.float32))
        kernel(entry).dispatch(thread_count=[threads, 1, 1], a=given, result=result)
        return result.to_numpy().view(np.float32).reshape(-1)

    a = rng.uniform(0.1, 2.0, 512).astype(np.float32)
    i = np.arange(512)
    want = np.where(i & 1, np.float32(np.pi) * a * a * (i % 5), 2 * a * (i % 7))
    good = check("generics", np.allclose(run("shapes", a, 512, 512), want, rtol=1e-5))
    want = (2 * np.cos(2 * a) - 2 * a * np.sin(2 * a)) * np.exp(-a * a) + 3 * a * a
    good &= check("derivatives", np.allclose(run("slopes", a, 512, 512), want, rtol=1e-3, atol=1e-3))
    got = run("sums", a, 4, 512)
    good &= check("shared memory", np.allclose(got, a.reshape(4, 128).sum(axis=1), rtol=1e-5))
    got = run("waves", a, 512, 512)
    # The size of a wave is the device's.
    sizes = (4, 8, 16, 32, 64)
    spread = lambda n: np.repeat(np.ptp(a.reshape(-1, n), axis=1), n)
    good &= check("waves", any(np.array_equal(got, spread(n)) for n in sizes))

    image = rng.random((64, 64)).astype(np.float32)
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    texture = lambda data: device.create_texture(
        format=spy.Format.r32_float, width=64, height=64, usage=usage, data=data
    )
    source, target = texture(image), texture(np.zeros_like(image))
    kernel("blur").dispatch(thread_count=[64, 64, 1], image=source, result=target)
    want = sum(np.roll(image, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) / 9
    good &= check("textures", np.allclose(target.to_numpy(), want, rtol=1e-5))
    device.close()
    sys.exit(0 if good else 1)


main(sys.argv[1])
