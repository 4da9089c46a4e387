"""Draws through PyPI's `wgpu` (wgpu-native).

usage: wgpu_draw.py DEVICE DIRECTORY
  DEVICE     part of the adapter's name
  DIRECTORY  where the pictures go, as PNG
"""

import math
import os
import struct
import sys

import numpy as np
import wgpu

import pictures
from adapter import device_named

WIDTH, HEIGHT = 640, 480
SCENE = open(os.path.join(os.path.dirname(__file__), "scene.wgsl")).read()
HDR = "rgba16float"
DEPTH = "depth24plus"


def ring(around=48, across=24):
    """A torus: position, normal, texture coordinates; triangles."""
    vertices, indices = [], []
    for i in range(around + 1):
        for j in range(across + 1):
            a, b = 2 * math.pi * i / around, 2 * math.pi * j / across
            n = (math.cos(a) * math.cos(b), math.sin(b), math.sin(a) * math.cos(b))
            p = (math.cos(a) + 0.4 * n[0], 0.4 * n[1], math.sin(a) + 0.4 * n[2])
            vertices.append((*p, *n, 6 * i / around, 2 * j / across))
    for i in range(around):
        for j in range(across):
            at = i * (across + 1) + j
            right = at + across + 1
            indices += [at, at + 1, right, right, at + 1, right + 1]
    return np.array(vertices, np.float32), np.array(indices, np.uint16)


def floor():
    corners = [(-9, -9), (9, -9), (-9, 9), (9, 9)]
    vertices = [(x, 0, z, 0, 1, 0, x / 2, z / 2) for x, z in corners]
    return np.array(vertices, np.float32), np.array([0, 2, 1, 1, 2, 3], np.uint16)


def instances():
    """The floor's one instance, then the rings': place and size, turn, tint."""
    parts = [struct.pack("<8f4B", 0, -1.6, 0, 1, 0, 0, 0, 1, 160, 170, 190, 255)]
    for i in range(25):
        x, z = i % 5 - 2, i // 5 - 2
        angle = 0.55 * i
        axis = np.array([math.sin(i), 0.6, math.cos(2 * i)])
        axis = axis / np.linalg.norm(axis) * math.sin(angle)
        tint = [int(140 + 115 * math.sin(0.7 * i + k)) for k in (0, 2, 4)]
        height = 0.5 * math.sin(1.3 * i)
        place = (2.6 * x, height, 2.6 * z, 0.8)
        parts.append(struct.pack("<8f4B", *place, *axis, math.cos(angle), *tint, 255))
    return b"".join(parts)


def bricks(size=256):
    """Texels of a wall, sRGB."""
    y, x = np.mgrid[0:size, 0:size]
    row = y // 32
    shifted = (x + 32 * (row % 2)) % size
    mortar = (y % 32 < 4) | (shifted % 64 < 4)
    grain = (x * 37 + y * 101 + x * y) % 29
    wall = np.stack([200 + grain, 120 + (shifted // 64 * 17 + row * 29) % 60, 90 + grain], -1)
    wall[mortar] = 225
    return np.dstack([wall, np.full((size, size), 255)]).astype(np.uint8)


class Painter:
    """One device and its pipelines."""

    def __init__(self, name):
        self.device = device_named(name)
        self.module = self.device.create_shader_module(code=SCENE)

    def texture(self, size, format, usage, **more):
        return self.device.create_texture(size=(*size, 1), format=format, usage=usage, **more)

    def pipeline(self, vertex, fragment, target, depth=None, samples=1, buffers=()):
        more = {}
        if depth:
            more["depth_stencil"] = {
                "format": depth,
                "depth_write_enabled": True,
                "depth_compare": "less",
            }
        if fragment:
            more["fragment"] = {
                "module": self.module,
                "entry_point": fragment,
                "targets": [{"format": target}],
            }
        return self.device.create_render_pipeline(
            layout="auto",
            vertex={"module": self.module, "entry_point": vertex, "buffers": list(buffers)},
            primitive={"topology": "triangle-list", "cull_mode": "none"},
            multisample={"count": samples},
            **more,
        )

    def group(self, pipeline, index, *resources):
        return self.device.create_bind_group(
            layout=pipeline.get_bind_group_layout(index),
            entries=[{"binding": i, "resource": r} for i, r in enumerate(resources)],
        )

    def whole(self, encoder, pipeline, group, view):
        """One triangle over all of a target."""
        target = {"view": view, "load_op": "clear", "store_op": "store"}
        shading = encoder.begin_render_pass(color_attachments=[target])
        shading.set_pipeline(pipeline)
        if group:
            shading.set_bind_group(0, group)
        shading.draw(3)
        shading.end()

    def read(self, texture):
        layout = {"bytes_per_row": WIDTH * 4, "rows_per_image": HEIGHT}
        size = (WIDTH, HEIGHT, 1)
        texels = self.device.queue.read_texture({"texture": texture}, layout, size)
        return np.frombuffer(texels, np.uint8).reshape(HEIGHT, WIDTH, 4)

    def target(self):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        return self.texture((WIDTH, HEIGHT), "rgba8unorm-srgb", usage)

    def triangle(self):
        target = self.target()
        encoder = self.device.create_command_encoder()
        pipeline = self.pipeline("corner", "shade", "rgba8unorm-srgb")
        self.whole(encoder, pipeline, None, target.create_view())
        self.device.queue.submit([encoder.finish()])
        return self.read(target)

    def wall(self, encoder):
        """The texture, its smaller levels drawn from the larger ones."""
        texels = bricks()
        size = texels.shape[0]
        levels = int(math.log2(size)) + 1
        use = wgpu.TextureUsage
        usage = use.TEXTURE_BINDING | use.COPY_DST | use.RENDER_ATTACHMENT
        format = "rgba8unorm-srgb"
        wall = self.texture((size, size), format, usage, mip_level_count=levels)
        layout = {"bytes_per_row": size * 4, "rows_per_image": size}
        self.device.queue.write_texture({"texture": wall}, texels, layout, (size, size, 1))
        halve = self.pipeline("screen", "halve", format)
        soft = self.device.create_sampler(min_filter="linear", mag_filter="linear")
        level = lambda i: wall.create_view(base_mip_level=i, mip_level_count=1)
        for i in range(1, levels):
            self.whole(encoder, halve, self.group(halve, 0, level(i - 1), soft), level(i))
        return wall

    def scene(self):
        device = self.device
        use = wgpu.TextureUsage
        shader = lambda attributes, stride, step: {
            "array_stride": stride,
            "step_mode": step,
            "attributes": [
                {"shader_location": s, "offset": o, "format": f} for s, o, f in attributes
            ],
        }
        buffers = (
            shader([(0, 0, "float32x3"), (1, 12, "float32x3"), (2, 24, "float32x2")], 32, "vertex"),
            shader([(3, 0, "float32x4"), (4, 16, "float32x4"), (5, 32, "unorm8x4")], 36, "instance"),
        )
        upload = lambda data, usage: device.create_buffer_with_data(data=data, usage=usage)
        meshes = [
            (upload(v, wgpu.BufferUsage.VERTEX), upload(i, wgpu.BufferUsage.INDEX), len(i))
            for v, i in (floor(), ring())
        ]
        placed = upload(instances(), wgpu.BufferUsage.VERTEX)
        frame = np.array(
            [7, 5.5, 9, 0, 0, -0.4, 0, 0, 0.45, 0.8, 0.4, 0, WIDTH, HEIGHT, 0, 0], np.float32
        )
        frame = upload(frame, wgpu.BufferUsage.UNIFORM)
        frame = {"buffer": frame, "offset": 0, "size": frame.size}

        encoder = device.create_command_encoder()
        wall = self.wall(encoder)

        def draw(shading):
            shading.set_vertex_buffer(1, placed)
            for number, (vertices, indices, count) in enumerate(meshes):
                shading.set_vertex_buffer(0, vertices)
                shading.set_index_buffer(indices, "uint16")
                shading.draw_indexed(count, 25 if number else 1, 0, 0, number)
            shading.end()

        usage = use.RENDER_ATTACHMENT | use.TEXTURE_BINDING
        shadow = self.texture((512, 512), "depth32float", usage).create_view()
        cast = self.pipeline("umbra", None, None, "depth32float", 1, buffers)
        depth = {
            "view": shadow,
            "depth_clear_value": 1.0,
            "depth_load_op": "clear",
            "depth_store_op": "store",
        }
        shading = encoder.begin_render_pass(color_attachments=[], depth_stencil_attachment=depth)
        shading.set_pipeline(cast)
        shading.set_bind_group(0, self.group(cast, 0, frame))
        draw(shading)

        size = (WIDTH, HEIGHT)
        many = self.texture(size, HDR, use.RENDER_ATTACHMENT, sample_count=4).create_view()
        single = self.texture(size, HDR, usage).create_view()
        buried = self.texture(size, DEPTH, use.RENDER_ATTACHMENT, sample_count=4).create_view()
        lit = self.pipeline("surface", "lit", HDR, DEPTH, 4, buffers)
        fine = device.create_sampler(
            address_mode_u="repeat",
            address_mode_v="repeat",
            min_filter="linear",
            mag_filter="linear",
            mipmap_filter="linear",
        )
        nearer = device.create_sampler(compare="less", min_filter="linear", mag_filter="linear")
        colour = {
            "view": many,
            "resolve_target": single,
            "clear_value": (0.25, 0.4, 0.7, 1),
            "load_op": "clear",
            "store_op": "discard",
        }
        depth = {
            "view": buried,
            "depth_clear_value": 1.0,
            "depth_load_op": "clear",
            "depth_store_op": "discard",
        }
        shading = encoder.begin_render_pass(
            color_attachments=[colour], depth_stencil_attachment=depth
        )
        shading.set_pipeline(lit)
        shading.set_bind_group(0, self.group(lit, 0, frame))
        shading.set_bind_group(1, self.group(lit, 1, wall.create_view(), fine, shadow, nearer))
        draw(shading)

        develop = self.pipeline("screen", "develop", "rgba8unorm-srgb")
        soft = device.create_sampler(min_filter="linear", mag_filter="linear")
        target = self.target()
        self.whole(encoder, develop, self.group(develop, 0, single, soft), target.create_view())
        device.queue.submit([encoder.finish()])
        return self.read(target)


def main():
    device, directory = sys.argv[1:]
    painter = Painter(device)
    for title in ("triangle", "scene"):
        pictures.save(directory, title, getattr(painter, title)())


main()
