"""Draws a scene with PyPI's `pygfx`, a renderer of its own on `wgpu`.

usage: pygfx_draw.py DEVICE DIRECTORY
  DEVICE     part of the adapter's name
  DIRECTORY  where the pictures go, as PNG
"""

import sys

import numpy as np
import pygfx as gfx
import wgpu

import pictures

SIZE = (320, 240)


def adapter_named(name):
    adapters = wgpu.gpu.enumerate_adapters_sync()
    found = [a for a in adapters if a.info["backend_type"] == "Vulkan" and name in a.summary]
    if not found:
        sys.exit(f"no Vulkan adapter named {name}: {[a.summary for a in adapters]}")
    print(f"adapter: {found[0].summary}")
    return found[0]


def draw(directory, title, objects, camera):
    target = gfx.Texture(dim=2, size=(*SIZE, 1), format="rgba8unorm")
    renderer = gfx.WgpuRenderer(target, pixel_ratio=1)
    scene = gfx.Scene()
    scene.add(gfx.Background.from_color("#205070", "#f0e0c0"))
    scene.add(gfx.AmbientLight(intensity=0.6), *objects)
    sun = gfx.DirectionalLight(intensity=2.5)
    sun.local.position = (2, 3, 4)
    scene.add(sun)
    renderer.render(scene, camera)
    pictures.save(directory, title, np.asarray(renderer.snapshot())[..., :3])


def meshes():
    """Lit, transparent and wire-frame meshes; lines; points of sizes."""
    knot = gfx.Mesh(
        gfx.torus_knot_geometry(1, 0.3, 96, 16),
        gfx.MeshStandardMaterial(color="#d06030", roughness=0.4, metalness=0.2),
    )
    ball = gfx.Mesh(
        gfx.sphere_geometry(0.7),
        gfx.MeshPhongMaterial(color="#40a0ff", opacity=0.5, alpha_mode="blend"),
    )
    ball.local.position = (1.2, 0.6, 1.2)
    box = gfx.Mesh(gfx.box_geometry(1.2, 1.2, 1.2), gfx.MeshNormalMaterial())
    box.local.position = (-1.7, -0.9, 0.4)
    t = np.linspace(0, 20, 200, dtype=np.float32)
    spiral = np.stack([2 * np.cos(t), 0.2 * t - 2, 2 * np.sin(t)], -1).astype(np.float32)
    line = gfx.Line(gfx.Geometry(positions=spiral), gfx.LineMaterial(thickness=4, color="#ffffff"))
    n = np.arange(40, dtype=np.float32)
    places = np.stack([n / 8 - 2.5, np.full(40, 1.9), np.sin(n)], -1).astype(np.float32)
    sizes = 4 + 8 * (n % 3)
    points = gfx.Points(
        gfx.Geometry(positions=places, sizes=sizes.astype(np.float32)),
        gfx.PointsMaterial(size_mode="vertex", color="#f0d000"),
    )
    camera = gfx.PerspectiveCamera(50, SIZE[0] / SIZE[1])
    camera.local.position = (2.5, 2, 5.5)
    camera.look_at((0, 0, 0))
    return [knot, ball, box, line, points], camera


def volume():
    """Rays through a volume of positive values, of which they keep the largest."""
    n = np.arange(32, dtype=np.float32)
    z, y, x = np.meshgrid(n, n, n, indexing="ij")
    values = 0.5 + 0.25 * np.sin(x / 3) * np.cos(y / 4) + 0.25 * np.sin(z / 5)
    geometry = gfx.Geometry(grid=gfx.Texture(values.astype(np.float32), dim=3))
    cloud = gfx.Volume(geometry, gfx.VolumeMipMaterial(clim=(0, 1), map=gfx.cm.viridis))
    camera = gfx.PerspectiveCamera(50, SIZE[0] / SIZE[1])
    camera.local.position = (60, 50, 70)
    camera.look_at((16, 16, 16))
    return [cloud], camera


def main():
    name, directory = sys.argv[1:]
    gfx.renderers.wgpu.select_adapter(adapter_named(name))
    draw(directory, "meshes", *meshes())
    draw(directory, "volume", *volume())


main()
