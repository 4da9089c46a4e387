"""Kernels of PyPI's `taichi` on Vulkan; numpy computes the same.

usage: taichi_compute.py DEVICE    part of the GPU's name, which Taichi does not tell
"""

import os
import sys

import numpy as np

# Before Taichi is imported: nothing of it asks the network or keeps kernels.
os.environ.update(TI_ENABLE_TORCH="0", TI_ENABLE_PADDLE="0", TI_OFFLINE_CACHE="0")
import taichi as ti  # noqa: E402

SIZE = 1 << 14
failed = 0


def check(what, got, expected, tolerance=0.0):
    """Says whether an answer is right: equal, or for floats within a relative tolerance."""
    global failed
    error = np.abs(got - expected).max() / max(1.0, np.abs(expected).max())
    right = got.shape == expected.shape and bool(error <= tolerance)
    failed += not right
    print(f"{'ok' if right else 'WRONG'}: {what}, error {error:.2e}")


@ti.kernel
def saxpy(a: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + ti.sin(y[i])


@ti.kernel
def collatz(steps: ti.types.ndarray()):
    for i in range(steps.shape[0]):
        n = ti.cast(i + 1, ti.u32)
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


@ti.kernel
def histogram(values: ti.types.ndarray(), counts: ti.types.ndarray()):
    for i in range(values.shape[0]):
        ti.atomic_add(counts[values[i] % 64], 1)


cells = None


@ti.kernel
def life(step: ti.i32):
    for x, y in ti.ndrange(128, 128):
        around = 0
        for dx, dy in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if ti.static(dx != 0 or dy != 0):
                around += cells[step % 2, (x + dx) % 128, (y + dy) % 128]
        alive = around == 3 or (around == 2 and cells[step % 2, x, y] == 1)
        cells[(step + 1) % 2, x, y] = 1 if alive else 0


def main():
    global cells
    ti.init(arch=ti.vulkan)
    if ti.lang.impl.current_cfg().arch != ti.vulkan:
        sys.exit("Taichi does not take Vulkan")
    # It does not say which device it took, but this is its only driver.
    loaded = {line.split("/")[-1].strip() for line in open("/proc/self/maps") if "libvulkan_" in line}
    print(f"drivers: {loaded}")
    rng = np.random.default_rng(5)

    x, y = rng.standard_normal((2, SIZE)).astype(np.float32)
    expected = 2.5 * x + np.sin(y)
    saxpy(2.5, x, y)
    check("saxpy with a sine", y, expected, 1e-5)

    steps = np.zeros(SIZE, np.int32)
    collatz(steps)
    expected = np.zeros(SIZE, np.int32)
    for i in range(SIZE):
        n = i + 1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            expected[i] += 1
    check("Collatz sequences", steps, expected)

    values = rng.integers(0, 1 << 20, SIZE).astype(np.int32)
    counts = np.zeros(64, np.int32)
    histogram(values, counts)
    check("histogram by atomics", counts, np.bincount(values % 64, minlength=64))

    cells = ti.field(ti.i32, (2, 128, 128))
    world = rng.integers(0, 2, (128, 128))
    cells.from_numpy(np.stack([world, 0 * world]).astype(np.int32))
    for step in range(20):
        life(step)
        turns = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        around = sum(np.roll(world, turn, (0, 1)) for turn in turns)
        world = ((around == 3) | ((around == 2) & (world == 1))).astype(int)
    check("the Game of Life", cells.to_numpy()[0], world)
    sys.exit(failed > 0)


main()
