"""Draws through PyPI's `datoviz`, a library of plots on Vulkan, without a window: lit shapes, spheres as impostors, markers, a path.

usage: datoviz_draw.py DEVICE DIRECTORY
  DEVICE     part of the GPU's name, which the library does not print: the loaded drivers are printed instead
  DIRECTORY  where the pictures go, as PNG
"""

import os
import sys

import datoviz as dvz
import numpy as np

SIZE = 480, 360

rng = np.random.default_rng(4)


def colors(n):
    out = rng.integers(60, 255, (n, 4), dtype=np.uint8)
    out[:, 3] = 255
    return out


def shapes(app, panel):
    panel.camera(initial=(1.2, 1.4, 3.2))
    collection = dvz.ShapeCollection()
    for i, add in enumerate((collection.add_cube, collection.add_torus, collection.add_icosahedron, collection.add_cone)):
        add(offset=(-1.2 + 0.8 * i, 0.3 * (i % 2), 0), scale=0.6, color=tuple(int(c) for c in colors(1)[0]))
    panel.add(app.mesh(collection, lighting=True))
    at = rng.uniform(-1, 1, (40, 3)).astype(np.float32) * (1.4, 0.15, 0.8) - (0, 0.7, 0)
    size = rng.uniform(0.05, 0.16, 40).astype(np.float32)
    panel.add(app.sphere(position=at.astype(np.float32), color=colors(40), size=size, lighting=True))


def plot(app, panel):
    panel.background((20, 20, 40, 255), (20, 20, 40, 255), (60, 60, 90, 255), (60, 60, 90, 255))
    x = np.linspace(-0.9, 0.9, 200, dtype=np.float32)
    wave = np.stack([x, 0.5 * np.sin(6 * x), 0 * x], axis=1).astype(np.float32)
    panel.add(app.path(position=wave, groups=1, color=colors(200), linewidth=np.full(200, 4, np.float32)))
    at = np.stack([*rng.uniform(-0.85, 0.85, (2, 60)), np.zeros(60)], axis=1).astype(np.float32)
    size = rng.uniform(8, 26, 60).astype(np.float32)
    panel.add(
        app.marker(position=at, color=colors(60), size=size, shape="heart", mode="code", aspect="outline", linewidth=2.0)
    )
    ends = rng.uniform(-0.9, 0.9, (2, 24, 3)).astype(np.float32) * np.float32((1, 1, 0))
    panel.add(
        app.segment(initial=ends[0], terminal=ends[1], color=colors(24), linewidth=np.full(24, 3, np.float32), cap=("round", "round"))
    )


def main():
    directory = sys.argv[2]
    for title, fill in (("shapes", shapes), ("plot", plot)):
        app = dvz.App(offscreen=True, background="black")
        figure = app.figure(*SIZE)
        fill(app, figure.panel())
        app.screenshot(figure, os.path.join(directory, f"{title}.png"))
        if title == "plot":
            with open("/proc/self/maps") as maps:
                print("".join(line for line in maps if "libvulkan_" in line))
        app.destroy()


main()
