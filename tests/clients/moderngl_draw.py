"""Draws through PyPI's `moderngl` with OpenGL 4.6 and no window, on a device of EGL.

usage: moderngl_draw.py DEVICE DIRECTORY
  DEVICE     part of the renderer's name
  DIRECTORY  where the pictures go, as PNG
"""

import sys

import moderngl
import numpy as np

import pictures

SIZE = WIDTH, HEIGHT = 480, 360

CAMERA = """#version 430
mat4 camera() {
    vec3 eye = vec3(3.0, 3.4, 5.0);
    vec3 z = normalize(eye - vec3(0.0, -0.6, 0.0));
    vec3 x = normalize(cross(vec3(0.0, 1.0, 0.0), z));
    vec3 y = cross(z, x);
    mat4 view = transpose(mat4(vec4(x, -dot(x, eye)), vec4(y, -dot(y, eye)), vec4(z, -dot(z, eye)),
                               vec4(0.0, 0.0, 0.0, 1.0)));
    mat4 lens = mat4(1.5, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -1.04, -1.0, 0.0, 0.0, -1.0, 0.0);
    return lens * view;
}
float hill(vec2 p) { return 0.35 * sin(1.7 * p.x) * cos(1.3 * p.y) + 0.12 * sin(4.1 * p.x + p.y); }
"""

LIGHT = """
vec3 lit(vec3 colour, vec3 normal) {
    vec3 sun = normalize(vec3(0.5, 0.8, 0.3));
    return colour * (0.3 + 0.8 * max(dot(normalize(normal), sun), 0.0));
}
"""

# Hills: patches that the tessellator splits.
PATCH_VERTEX = """#version 430
void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1);
    vec2 patch_ = vec2(gl_InstanceID % 6, gl_InstanceID / 6);
    gl_Position = vec4((patch_ + corner) - 3.0, 0.0, 1.0).xzyw;
}"""
PATCH_CONTROL = """#version 430
layout(vertices = 4) out;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = 8.0;
    gl_TessLevelInner[0] = gl_TessLevelInner[1] = 8.0;
}"""
PATCH_EVALUATION = (
    CAMERA
    + """
layout(quads, equal_spacing, ccw) in;
out vec3 normal;
out vec2 uv;
void main() {
    vec4 a = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
    vec4 b = mix(gl_in[2].gl_Position, gl_in[3].gl_Position, gl_TessCoord.x);
    vec3 p = mix(a, b, gl_TessCoord.y).xyz;
    p.y = hill(p.xz) - 1.2;
    float e = 0.01;
    normal = vec3(p.y + 1.2 - hill(p.xz + vec2(e, 0.0)), e, p.y + 1.2 - hill(p.xz + vec2(0.0, e)));
    uv = p.xz;
    gl_Position = camera() * vec4(p, 1.0);
}"""
)
PATCH_FRAGMENT = (
    "#version 430\n"
    + LIGHT
    + """
uniform sampler2D image;
in vec3 normal;
in vec2 uv;
out vec4 colour;
void main() { colour = vec4(lit(texture(image, uv).rgb, normal), 1.0); }"""
)

# Trees: points, of which a geometry shader makes boxes.
TREE_VERTEX = """#version 430
in vec3 place;
in vec3 tint;
out vec3 hue;
void main() { gl_Position = vec4(place, 1.0); hue = tint; }"""
TREE_GEOMETRY = (
    CAMERA
    + """
layout(points) in;
layout(triangle_strip, max_vertices = 24) out;
in vec3 hue[];
out vec3 normal;
out vec3 shade;
void main() {
    vec3 middle = gl_in[0].gl_Position.xyz;
    middle.y += hill(middle.xz) - 1.2 + 0.35;
    vec3 half_ = vec3(0.16, 0.35, 0.16);
    for (int face = 0; face < 6; face++) {
        vec3 n = vec3(0.0);
        n[face >> 1] = (face & 1) == 0 ? 1.0 : -1.0;
        vec3 u = n.yzx;
        vec3 v = cross(n, u);
        for (int i = 0; i < 4; i++) {
            float top = i < 2 ? 1.0 : -1.0;
            vec3 at = n + u * top + v * ((i & 1) == 0 ? 1.0 : -1.0);
            normal = n;
            shade = hue[0] * (0.6 + 0.4 * at.y);
            gl_Position = camera() * vec4(middle + at * half_, 1.0);
            EmitVertex();
        }
        EndPrimitive();
    }
}"""
)
TREE_FRAGMENT = (
    "#version 430\n"
    + LIGHT
    + """
in vec3 normal;
in vec3 shade;
out vec4 colour;
void main() { colour = vec4(lit(shade, normal), 1.0); }"""
)

# Where trees stand: computed.
PLANT = """#version 430
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer Trees { float trees[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint h = i * 747796405u + 2891336453u;
    for (uint k = 0u; k < 6u; k++) {
        h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
        float v = float(h >> 8u) / 16777216.0;
        trees[6u * i + k] = k == 1u ? 0.0 : k < 3u ? v * 5.6 - 2.8 : 0.25 + 0.7 * v;
    }
}"""

SCREEN_VERTEX = """#version 430
out vec2 uv;
void main() {
    uv = vec2(gl_VertexID << 1 & 2, gl_VertexID & 2);
    gl_Position = vec4(uv * 2.0 - 1.0, 0.0, 1.0);
}"""
# The last pass: far things fade by their depth, and edges are dark.
SCREEN_FRAGMENT = """#version 430
uniform sampler2D picture;
uniform sampler2D depths;
in vec2 uv;
out vec4 colour;
float away(vec2 at) { return 1.0 / (1.04 - texture(depths, at).r); }
void main() {
    vec2 texel = 1.0 / vec2(textureSize(picture, 0));
    float z = away(uv);
    float step_ = abs(away(uv + vec2(texel.x, 0.0)) - z) + abs(away(uv + vec2(0.0, texel.y)) - z);
    vec3 seen = texture(picture, uv).rgb * (1.0 - clamp(step_ * 0.25, 0.0, 0.7));
    colour = vec4(mix(seen, vec3(0.6, 0.75, 0.9), clamp(z / 25.0 - 0.25, 0.0, 1.0)), 1.0);
}"""


class Painter:
    def __init__(self, name):
        index = 0
        while True:
            # Raises when there are no more devices.
            self.gl = moderngl.create_context(
                standalone=True,
                require=430,
                backend="egl",
                device_index=index,
                libgl="libGL.so.1",
                libegl="libEGL.so.1",
            )
            renderer = self.gl.info["GL_RENDERER"]
            # Mesa's own driver for the GPU; Tepui's has no OpenGL but zink's.
            if name in renderer and (name == "Tepui" or "zink" not in renderer):
                break
            self.gl.release()
            index += 1
        print(f"renderer: {renderer}, OpenGL {self.gl.info['GL_VERSION']}")

    def target(self, *, samples=0):
        gl = self.gl
        colour = gl.texture(SIZE, 4, samples=samples)
        depth = gl.depth_texture(SIZE, samples=samples)
        if not samples:
            depth.compare_func = ""
            depth.repeat_x = depth.repeat_y = False
            depth.filter = (moderngl.NEAREST, moderngl.NEAREST)
        return gl.framebuffer([colour], depth), colour, depth

    def picture(self, framebuffer):
        data = framebuffer.read(components=4)
        return np.frombuffer(data, np.uint8).reshape(HEIGHT, WIDTH, 4)[::-1]

    def triangle(self):
        gl = self.gl
        program = gl.program(
            vertex_shader="""#version 430
            in vec2 at; in vec3 tint; out vec3 hue;
            void main() { gl_Position = vec4(at, 0.0, 1.0); hue = tint; }""",
            fragment_shader="""#version 430
            in vec3 hue; out vec4 colour; void main() { colour = vec4(hue, 1.0); }""",
        )
        corners = [0, 0.8, 1, 0, 0, -0.8, -0.7, 0, 1, 0, 0.8, -0.6, 0, 0, 1]
        buffer = gl.buffer(np.array(corners, np.float32).tobytes())
        framebuffer, _, _ = self.target()
        framebuffer.use()
        gl.clear(0.1, 0.1, 0.15, 1.0)
        gl.vertex_array(program, [(buffer, "2f 3f", "at", "tint")]).render()
        return self.picture(framebuffer)

    def scene(self):
        gl = self.gl
        trees = gl.buffer(reserve=48 * 24)
        trees.bind_to_storage_buffer(0)
        gl.compute_shader(PLANT).run(3)
        gl.memory_barrier()

        y, x = np.mgrid[0:64, 0:64]
        texels = np.stack([90 + (x ^ y) % 60, 130 + (x * y) % 70, 60 + (x + y) % 40], -1)
        texels[(x % 32 < 2) | (y % 32 < 2)] = 230
        image = gl.texture((64, 64), 3, texels.astype(np.uint8).tobytes())
        image.build_mipmaps()
        image.filter = (moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR)

        hills = gl.program(
            vertex_shader=PATCH_VERTEX,
            tess_control_shader=PATCH_CONTROL,
            tess_evaluation_shader=PATCH_EVALUATION,
            fragment_shader=PATCH_FRAGMENT,
        )
        wood = gl.program(
            vertex_shader=TREE_VERTEX,
            geometry_shader=TREE_GEOMETRY,
            fragment_shader=TREE_FRAGMENT,
        )
        screen = gl.program(vertex_shader=SCREEN_VERTEX, fragment_shader=SCREEN_FRAGMENT)

        many, _, _ = self.target(samples=4)
        many.use()
        gl.enable(moderngl.DEPTH_TEST)
        gl.clear(0.6, 0.75, 0.9, 1.0)
        image.use(0)
        gl.patch_vertices = 4
        gl.vertex_array(hills, []).render(moderngl.PATCHES, vertices=4, instances=36)
        standing = gl.vertex_array(wood, [(trees, "3f 3f", "place", "tint")])
        standing.render(moderngl.POINTS)
        single, colour, depth = self.target()
        gl.copy_framebuffer(single, many)

        final, _, _ = self.target()
        final.use()
        gl.disable(moderngl.DEPTH_TEST)
        colour.use(0)
        depth.use(1)
        screen["picture"], screen["depths"] = 0, 1
        gl.vertex_array(screen, []).render(vertices=3)
        return self.picture(final)


def main():
    device, directory = sys.argv[1:]
    painter = Painter(device)
    for title in ("triangle", "scene"):
        pictures.save(directory, title, getattr(painter, title)())


main()
