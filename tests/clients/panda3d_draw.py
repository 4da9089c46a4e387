"""Draws through PyPI's `panda3d` with OpenGL and no window, on a device of EGL, with its fixed functions: lights, materials, fog.

usage: panda3d_draw.py DEVICE DIRECTORY
  DEVICE     part of the renderer's name
  DIRECTORY  where the pictures go, as PNG
"""

import math
import sys

import numpy as np
from panda3d import core

import pictures

SIZE = 480, 360

core.load_prc_file_data(
    "",
    f"""
    load-display p3headlessgl
    win-size {SIZE[0]} {SIZE[1]}
    window-type offscreen
    audio-library-name null
    framebuffer-multisample 0
    textures-power-2 none
    model-cache-dir
    clock-mode non-real-time
    notify-level-display error
    egl-device-index 0
    """,
)

from direct.showbase.ShowBase import ShowBase


def sphere(rows, columns):
    """A sphere of triangles with normals and coordinates of its texture."""
    shape = core.GeomVertexData("sphere", core.GeomVertexFormat.get_v3n3t2(), core.Geom.UH_static)
    vertex, normal, texcoord = (core.GeomVertexWriter(shape, n) for n in ("vertex", "normal", "texcoord"))
    for row in range(rows + 1):
        for column in range(columns + 1):
            v, u = row / rows, column / columns
            at = [
                math.sin(math.pi * v) * math.cos(2 * math.pi * u),
                math.sin(math.pi * v) * math.sin(2 * math.pi * u),
                math.cos(math.pi * v),
            ]
            vertex.add_data3(*at)
            normal.add_data3(*at)
            texcoord.add_data2(4 * u, 2 * v)
    triangles = core.GeomTriangles(core.Geom.UH_static)
    for row in range(rows):
        for column in range(columns):
            a = row * (columns + 1) + column
            b = a + columns + 1
            triangles.add_vertices(a, b, a + 1)
            triangles.add_vertices(a + 1, b, b + 1)
    geom = core.Geom(shape)
    geom.add_primitive(triangles)
    node = core.GeomNode("sphere")
    node.add_geom(geom)
    return core.NodePath(node)


def checks():
    image = core.PNMImage(64, 64)
    for y in range(64):
        for x in range(64):
            light = (x // 8 + y // 8) % 2
            image.set_xel(x, y, 0.9 if light else 0.3, 0.8 if light else 0.4, 0.5)
    texture = core.Texture("checks")
    texture.load(image)
    texture.set_minfilter(core.SamplerState.FT_linear_mipmap_linear)
    texture.set_wrap_u(core.SamplerState.WM_repeat)
    texture.set_wrap_v(core.SamplerState.WM_repeat)
    return texture


def scene(base):
    ball = sphere(24, 32)
    texture = checks()
    for x, color in ((-2.2, (1, 0.5, 0.4, 1)), (0, (1, 1, 1, 1)), (2.2, (0.5, 0.7, 1, 1))):
        one = ball.copy_to(base.render)
        one.set_pos(x, 8 + x, 0.4)
        one.set_texture(texture)
        material = core.Material()
        material.set_diffuse(color)
        material.set_ambient(color)
        material.set_specular((0.6, 0.6, 0.6, 1))
        material.set_shininess(30)
        one.set_material(material)
    card = core.CardMaker("floor")
    card.set_frame(-8, 8, -8, 8)
    card.set_has_normals(True)
    card.set_uv_range((0, 0), (6, 6))
    floor = base.render.attach_new_node(card.generate())
    floor.set_p(-90)
    floor.set_pos(0, 9, -0.8)
    floor.set_texture(texture)
    floor.set_material(core.Material())
    sun = core.DirectionalLight("sun")
    sun.set_color((0.9, 0.85, 0.75, 1))
    sun = base.render.attach_new_node(sun)
    sun.set_hpr(35, -50, 0)
    ambient = core.AmbientLight("ambient")
    ambient.set_color((0.25, 0.25, 0.3, 1))
    base.render.set_light(sun)
    base.render.set_light(base.render.attach_new_node(ambient))
    fog = core.Fog("fog")
    fog.set_color(0.5, 0.6, 0.75)
    fog.set_exp_density(0.06)
    base.render.set_fog(fog)
    base.set_background_color(0.5, 0.6, 0.75)
    base.camera.set_pos(0, -2, 2.2)
    base.camera.look_at(0, 8, 0)


def picture(base):
    for _ in range(2):
        base.graphicsEngine.render_frame()
    texture = base.win.get_screenshot()
    data = np.frombuffer(bytes(texture.get_ram_image_as("RGBA")), np.uint8)
    return data.reshape(SIZE[1], SIZE[0], 4)[::-1]


def main():
    device, directory = sys.argv[1:]
    base = ShowBase()
    renderer = base.win.get_gsg().get_driver_renderer()
    if device not in renderer:
        sys.exit(f"the renderer is {renderer}, not {device}")
    print(f"renderer: {renderer}, OpenGL {base.win.get_gsg().get_driver_version()}")
    scene(base)
    pictures.save(directory, "picture", picture(base))


main()
