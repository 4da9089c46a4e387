//! The scenes.

use std::ffi::c_void;

use crate::egl::gl;
use crate::gl::{
    ARRAY_BUFFER, COLOR_ATTACHMENT, FRAMEBUFFER, Gl, RGBA, SIDE, TEXTURE_2D, TRIANGLES,
    UNSIGNED_BYTE,
};

/// A scene.
pub struct Scene {
    pub name: &'static str,
    /// The version of OpenGL ES that it needs.
    pub version: [i32; 2],
    /// Draws it, and returns the pixels.
    pub draw: fn(&Gl) -> Vec<u8>,
}

const fn scene(name: &'static str, minor: i32, draw: fn(&Gl) -> Vec<u8>) -> Scene {
    Scene { name, version: [3, minor], draw }
}

pub const ALL: &[Scene] = &[
    scene("clear", 0, |gl| gl.pixels()),
    scene("triangle", 0, triangle),
    scene("cubes", 0, cubes),
    scene("texture", 0, texture),
    scene("blend", 0, blend),
    scene("stencil", 0, stencil),
    scene("instances", 0, instances),
    scene("samples", 0, samples),
    scene("points", 0, points),
    scene("lines", 0, lines),
    scene("strips", 0, strips),
    scene("targets", 0, targets),
    scene("discard", 0, discard),
    scene("formats", 0, formats),
    scene("shadow", 0, shadow),
    scene("captured", 0, captured),
    scene("dispatch", 1, dispatch),
];

const POSITION: &str =
    "in vec4 a0; in vec4 a1; out vec4 c; void main() { gl_Position = a0; c = a1; }";
const COLOUR: &str = "in vec4 c; out vec4 o; void main() { o = c; }";

const CORNERS: [f32; 16] =
    [-0.8, -0.7, 0.0, 1.0, 0.9, -0.5, 0.0, 1.0, 0.1, 0.85, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
const COLOURS: [f32; 12] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0];

/// The corners of two triangles that fill the window.
const WINDOW: [f32; 12] = [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0];

fn triangle(gl: &Gl) -> Vec<u8> {
    gl.program(POSITION, COLOUR);
    gl.attribute(0, 4, &CORNERS[..12], 0);
    gl.attribute(1, 4, &COLOURS, 0);
    gl.draw(TRIANGLES, 3);
    gl.pixels()
}

/// Lit cubes that occlude each other, with indices.
fn cubes(gl: &Gl) -> Vec<u8> {
    let program = gl.program(
        "in vec3 a0; in vec3 a1; uniform mat4 m; uniform vec4 place; out vec3 n; void main() {
           float s = sin(place.w), c = cos(place.w);
           mat3 turn = mat3(c, 0, -s, 0, 1, 0, s, 0, c) * mat3(1, 0, 0, 0, c, s, 0, -s, c);
           gl_Position = m * vec4(turn * a0 * 0.6 + place.xyz, 1.0); n = turn * a1; }",
        "in vec3 n; out vec4 o; uniform vec4 tint; void main() {
           float light = 0.2 + 0.8 * max(dot(normalize(n), normalize(vec3(1, 2, 3))), 0.0);
           o = vec4(tint.rgb * light, 1.0); }",
    );
    let (mut corners, mut normals, mut indices) = (Vec::new(), Vec::new(), Vec::<u16>::new());
    for axis in 0..3 {
        for sign in [-1.0f32, 1.0] {
            let first = (corners.len() / 3) as u16;
            for [u, v] in [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]] {
                let mut corner = [0.0; 3];
                corner[axis] = sign;
                corner[(axis + 1) % 3] = u;
                corner[(axis + 2) % 3] = v;
                corners.extend(corner);
                let mut normal = [0.0; 3];
                normal[axis] = sign;
                normals.extend(normal);
            }
            let order = if sign > 0.0 { [0, 1, 2, 0, 2, 3] } else { [0, 2, 1, 0, 3, 2] };
            indices.extend(order.map(|n| first + n));
        }
    }
    gl.attribute(0, 3, &corners, 0);
    gl.attribute(1, 3, &normals, 0);
    gl.buffer(0x8893, &indices);
    // Distances from 1 to 10, with a field of view of a quarter of a circle.
    let (near, far, scale) = (1.0f32, 10.0f32, 1.5f32);
    let (a, b) = ((far + near) / (near - far), 2.0 * far * near / (near - far));
    let matrix = [scale, 0.0, 0.0, 0.0, 0.0, scale, 0.0, 0.0, 0.0, 0.0, a, -1.0, 0.0, 0.0, b, 0.0];
    gl.uniform(program, "m", &matrix);
    gl.enable(0x0b71);
    gl.enable(0x0b44);
    for n in 0..7 {
        let f = n as f32;
        gl.uniform(program, "place", &[(f * 2.1).sin(), (f * 1.3).cos(), -3.2 - 0.3 * f, f]);
        gl.uniform(program, "tint", &[0.3 + 0.1 * f, 1.0 - 0.12 * f, 0.5 + 0.07 * f, 1.0]);
        let count = indices.len() as i32;
        gl!(gl, glDrawElements(TRIANGLES => u32, count => i32, 0x1403 => u32, std::ptr::null() => *const c_void));
    }
    gl.pixels()
}

/// A checkered floor with colours, seen from its edge.
fn texture(gl: &Gl) -> Vec<u8> {
    let texels: Vec<u8> = (0..64 * 64)
        .flat_map(|n| {
            let (x, y) = (n % 64, n / 64);
            let on = (x / 8 + y / 8) % 2 == 0;
            if on { [255, 240, (x * 4) as u8, 255] } else { [20, (y * 4) as u8, 60, 255] }
        })
        .collect();
    gl.texture(64, &texels, [0x2703, 0x2601]);
    gl!(gl, glGenerateMipmap(TEXTURE_2D => u32));
    gl.program(
        "in vec2 a0; out vec2 t; void main() { float w = 2.2 - a0.y * 1.8;
           gl_Position = vec4(a0.x * w, a0.y * w, 0, w); t = a0 * vec2(3.0, 9.0); }",
        "in vec2 t; out vec4 o; uniform sampler2D s; void main() { o = texture(s, t); }",
    );
    gl.attribute(0, 2, &WINDOW, 0);
    gl.draw(TRIANGLES, 6);
    gl.pixels()
}

fn blend(gl: &Gl) -> Vec<u8> {
    let program = gl.program(
        "in vec2 a0; uniform vec4 place; void main() { gl_Position = vec4(a0 * place.z + place.xy, 0, 1); }",
        "out vec4 o; uniform vec4 tint; void main() { o = tint; }",
    );
    gl.attribute(0, 2, &WINDOW, 0);
    gl.enable(0x0be2);
    let modes: [[u32; 3]; 5] = [
        // Factors of source and destination, equation.
        [0x0302, 0x0303, 0x8006],
        [1, 1, 0x8006],
        [0x0306, 0, 0x8006],
        [1, 1, 0x800b],
        [0x0304, 0x0301, 0x8006],
    ];
    for (n, [from, to, equation]) in modes.into_iter().enumerate() {
        let f = n as f32;
        gl!(gl, glBlendFunc(from => u32, to => u32));
        gl!(gl, glBlendEquation(equation => u32));
        gl.uniform(program, "tint", &[0.9 - 0.15 * f, 0.2 * f, 0.6, 0.5]);
        gl.uniform(program, "place", &[-0.5 + 0.25 * f, 0.3 - 0.15 * f, 0.45, 0.0]);
        gl.draw(TRIANGLES, 6);
    }
    gl.pixels()
}

fn stencil(gl: &Gl) -> Vec<u8> {
    gl.program(POSITION, COLOUR);
    gl.attribute(0, 4, &CORNERS[..12], 0);
    gl.attribute(1, 4, &COLOURS, 0);
    gl.enable(0x0b90);
    gl!(gl, glStencilFunc(0x0207 => u32, 3 => i32, 0xff => u32));
    gl!(gl, glStencilOp(0x1e00 => u32, 0x1e00 => u32, 0x1e01 => u32));
    gl!(gl, glColorMask(0 => u8, 0 => u8, 0 => u8, 0 => u8));
    gl.draw(TRIANGLES, 3);
    gl!(gl, glColorMask(1 => u8, 1 => u8, 0 => u8, 1 => u8));
    gl!(gl, glStencilFunc(0x0205 => u32, 3 => i32, 0xff => u32));
    gl!(gl, glStencilOp(0x1e00 => u32, 0x1e00 => u32, 0x1e00 => u32));
    gl.program(
        "in vec2 a0; out vec4 c; void main() { gl_Position = vec4(a0, 0, 1); c = vec4(a0 * 0.5 + 0.5, 1, 1); }",
        COLOUR,
    );
    gl.attribute_off(1);
    gl.attribute(0, 2, &WINDOW, 0);
    gl.draw(TRIANGLES, 6);
    gl.pixels()
}

fn instances(gl: &Gl) -> Vec<u8> {
    gl.program(
        "in vec4 a0; in vec4 a1; in vec2 a2; out vec4 c; void main() {
           float n = float(gl_InstanceID);
           gl_Position = vec4(a0.xy * (0.1 + 0.01 * n) + a2, 0, 1); c = a1 * (1.0 - 0.05 * n) + 0.03 * float(gl_VertexID); }",
        COLOUR,
    );
    gl.attribute(0, 4, &CORNERS[..12], 0);
    let tints: Vec<f32> =
        (0..5).flat_map(|n| [0.2 * n as f32, 1.0 - 0.2 * n as f32, 0.5, 1.0]).collect();
    gl.attribute(1, 4, &tints, 3);
    let places: Vec<f32> =
        (0..15).flat_map(|n| [(n % 4) as f32 * 0.5 - 0.75, (n / 4) as f32 * 0.5 - 0.75]).collect();
    gl.attribute(2, 2, &places, 1);
    gl!(gl, glDrawArraysInstanced(TRIANGLES => u32, 0 => i32, 3 => i32, 15 => i32));
    gl.pixels()
}

/// Edges with four samples, resolved.
fn samples(gl: &Gl) -> Vec<u8> {
    let resolved = gl.target(0);
    let drawn = gl.target(4);
    gl.program(POSITION, COLOUR);
    gl.attribute(0, 4, &CORNERS[..12], 0);
    gl.attribute(1, 4, &COLOURS, 0);
    gl.draw(TRIANGLES, 3);
    gl!(gl, glBindFramebuffer(0x8ca8 => u32, drawn => u32));
    gl!(gl, glBindFramebuffer(0x8ca9 => u32, resolved => u32));
    gl!(gl, glBlitFramebuffer(0 => i32, 0 => i32, SIDE => i32, SIDE => i32, 0 => i32, 0 => i32, SIDE => i32, SIDE => i32, 0x4000 => u32, 0x2600 => u32));
    gl!(gl, glBindFramebuffer(FRAMEBUFFER => u32, resolved => u32));
    gl.pixels()
}

fn points(gl: &Gl) -> Vec<u8> {
    gl.program(
        "in vec4 a0; void main() { gl_Position = a0; gl_PointSize = 5.0 + 25.0 * a0.z; }",
        "out vec4 o; void main() { vec2 p = gl_PointCoord; o = vec4(p, step(length(p - 0.5), 0.4), 1); }",
    );
    let places: Vec<f32> = (0..9)
        .flat_map(|n| {
            [(n % 3) as f32 * 0.6 - 0.6, (n / 3) as f32 * 0.6 - 0.6, n as f32 / 10.0, 1.0]
        })
        .collect();
    gl.attribute(0, 4, &places, 0);
    gl.draw(0, 9);
    gl.pixels()
}

fn lines(gl: &Gl) -> Vec<u8> {
    gl.program(POSITION, COLOUR);
    let ends: Vec<f32> = (0..12)
        .flat_map(|n| {
            let a = n as f32 * 0.7;
            [0.9 * a.cos(), 0.9 * a.sin(), 0.0, 1.0]
        })
        .collect();
    let tints: Vec<f32> = (0..12).flat_map(|n| [1.0, n as f32 / 12.0, 0.3, 1.0]).collect();
    gl.attribute(0, 4, &ends, 0);
    gl.attribute(1, 4, &tints, 0);
    gl.draw(3, 12);
    gl.pixels()
}

/// Strips and fans, with a restart between them.
fn strips(gl: &Gl) -> Vec<u8> {
    gl.program(
        "in vec2 a0; flat out int n; void main() { gl_Position = vec4(a0, 0, 1); n = gl_VertexID; }",
        "flat in int n; out vec4 o; void main() { o = vec4(float(n & 3) / 3.0, float(n >> 2 & 1), float(n & 1), 1); }",
    );
    let places: Vec<f32> = (0..12)
        .flat_map(|n| {
            [(n / 2) as f32 * 0.35 - 0.9, if n % 2 == 0 { -0.4 } else { 0.3 + 0.04 * n as f32 }]
        })
        .collect();
    gl.attribute(0, 2, &places, 0);
    gl.enable(0x8d69);
    let indices: [u16; 11] = [0, 1, 2, 3, 4, 0xffff, 6, 7, 8, 9, 10];
    gl.buffer(0x8893, &indices);
    gl!(gl, glDrawElements(5 => u32, 11 => i32, 0x1403 => u32, std::ptr::null() => *const c_void));
    gl.buffer(0x8893, &[0u8, 5, 11, 10]);
    gl!(gl, glDrawElements(6 => u32, 4 => i32, UNSIGNED_BYTE => u32, std::ptr::null() => *const c_void));
    gl.pixels()
}

/// Two colour targets, of which the second is displayed.
fn targets(gl: &Gl) -> Vec<u8> {
    let mut framebuffer = 0;
    gl!(gl, glGenFramebuffers(1 => i32, &mut framebuffer => *mut u32));
    let shown = gl.target(0);
    gl!(gl, glBindFramebuffer(FRAMEBUFFER => u32, framebuffer => u32));
    let blank = vec![90u8; (SIDE * SIDE * 4) as usize];
    let textures = [0, 1].map(|_| gl.texture(SIDE, &blank, [0x2600, 0x2600]));
    for (n, texture) in (0..).zip(textures) {
        gl!(gl, glFramebufferTexture2D(FRAMEBUFFER => u32, COLOR_ATTACHMENT + n => u32, TEXTURE_2D => u32, texture => u32, 0 => i32));
    }
    let both = [COLOR_ATTACHMENT, COLOR_ATTACHMENT + 1];
    gl!(gl, glDrawBuffers(2 => i32, both.as_ptr() => *const u32));
    gl.program(
        POSITION,
        "in vec4 c; layout(location = 0) out vec4 o; layout(location = 1) out vec4 p; void main() { o = c; p = vec4(1.0 - c.rgb, 1); }",
    );
    gl.attribute(0, 4, &CORNERS[..12], 0);
    gl.attribute(1, 4, &COLOURS, 0);
    gl.draw(TRIANGLES, 3);
    gl!(gl, glBindFramebuffer(FRAMEBUFFER => u32, shown => u32));
    gl.program(
        "in vec2 a0; out vec2 t; void main() { gl_Position = vec4(a0, 0, 1); t = a0 * 0.5 + 0.5; }",
        "in vec2 t; out vec4 o; uniform sampler2D s; void main() { o = texture(s, t.yx); }",
    );
    gl.attribute_off(1);
    gl.attribute(0, 2, &WINDOW, 0);
    gl.draw(TRIANGLES, 6);
    gl.pixels()
}

/// Derivatives in the quad, discarded fragments, and the depth that these do not write.
fn discard(gl: &Gl) -> Vec<u8> {
    gl.enable(0x0b71);
    gl.program(
        "in vec2 a0; out vec2 t; void main() { gl_Position = vec4(a0, 0.1, 1); t = a0 * 6.0; }",
        "in vec2 t; out vec4 o; void main() { vec2 d = abs(dFdx(t * t)); if (fract(t.x * t.x + t.y * t.y) < 0.4) discard; o = vec4(d * 2.0, 0.2, 1); }",
    );
    gl.attribute(0, 2, &WINDOW, 0);
    gl.draw(TRIANGLES, 6);
    gl.program(
        "in vec2 a0; void main() { gl_Position = vec4(a0, 0.5, 1); }",
        "out vec4 o; void main() { o = vec4(1, 1, 0, 1); }",
    );
    gl.draw(TRIANGLES, 6);
    gl.pixels()
}

/// Textures of several formats next to each other.
fn formats(gl: &Gl) -> Vec<u8> {
    let program = gl.program(
        "in vec2 a0; uniform vec4 place; out vec2 t; void main() { gl_Position = vec4(a0 * 0.22 + place.xy, 0, 1); t = a0 * 0.5 + 0.5; }",
        "in vec2 t; out vec4 o; uniform sampler2D s; void main() { o = texture(s, t * 1.5 - 0.25); }",
    );
    gl.attribute(0, 2, &WINDOW, 0);
    let bytes: Vec<u8> =
        (0..16 * 16 * 16).map(|n: u32| (n.wrapping_mul(37) >> 2) as u8 & 0x3f).collect();
    // Internal format, format, type.
    let list: [[u32; 3]; 9] = [
        [RGBA8_SRGB, RGBA, UNSIGNED_BYTE],
        [0x8229, 0x1903, UNSIGNED_BYTE],
        [0x822b, 0x8227, UNSIGNED_BYTE],
        [0x8d62, 0x1907, 0x8363],
        [0x8056, RGBA, 0x8033],
        [0x8057, RGBA, 0x8034],
        [0x8059, RGBA, 0x8368],
        [0x881a, RGBA, 0x140b],
        [0x8c3a, 0x1907, 0x8c3b],
    ];
    for (n, [internal, format, kind]) in list.into_iter().enumerate() {
        gl.texture(16, &bytes, [0x2601, 0x2600]);
        gl!(gl, glTexImage2D(TEXTURE_2D => u32, 0 => i32, internal as i32 => i32, 16 => i32, 16 => i32, 0 => i32, format => u32, kind => u32, bytes.as_ptr().cast() => *const c_void));
        // Mirrored in one direction, clamped in the other.
        gl!(gl, glTexParameteri(TEXTURE_2D => u32, 0x2802 => u32, 0x8370 => i32));
        gl!(gl, glTexParameteri(TEXTURE_2D => u32, 0x2803 => u32, 0x812f => i32));
        let (x, y) = ((n % 3) as f32 * 0.6 - 0.6, (n / 3) as f32 * 0.6 - 0.6);
        gl.uniform(program, "place", &[x, y, 0.0, 0.0]);
        gl.draw(TRIANGLES, 6);
    }
    gl.pixels()
}

const RGBA8_SRGB: u32 = 0x8c43;

/// A depth texture with comparison.
fn shadow(gl: &Gl) -> Vec<u8> {
    let shown = gl.target(0);
    let (mut framebuffer, mut texture) = (0, 0);
    gl!(gl, glGenFramebuffers(1 => i32, &mut framebuffer => *mut u32));
    gl!(gl, glBindFramebuffer(FRAMEBUFFER => u32, framebuffer => u32));
    gl!(gl, glGenTextures(1 => i32, &mut texture => *mut u32));
    gl!(gl, glBindTexture(TEXTURE_2D => u32, texture => u32));
    gl!(gl, glTexStorage2D(TEXTURE_2D => u32, 1 => i32, 0x81a6 => u32, SIDE => i32, SIDE => i32));
    for (name, value) in [(0x2801, 0x2600), (0x2800, 0x2600), (0x884c, 0x884e), (0x884d, 0x0203)] {
        gl!(gl, glTexParameteri(TEXTURE_2D => u32, name => u32, value => i32));
    }
    gl!(gl, glFramebufferTexture2D(FRAMEBUFFER => u32, 0x8d00 => u32, TEXTURE_2D => u32, texture => u32, 0 => i32));
    gl!(gl, glClear(0x100 => u32));
    gl.enable(0x0b71);
    gl.program(
        "in vec4 a0; void main() { gl_Position = vec4(a0.xy, a0.x * 0.5, 1); }",
        "void main() { }",
    );
    gl.attribute(0, 4, &CORNERS[..12], 0);
    gl.draw(TRIANGLES, 3);
    gl!(gl, glBindFramebuffer(FRAMEBUFFER => u32, shown => u32));
    gl!(gl, glDisable(0x0b71 => u32));
    gl.program(
        "in vec2 a0; out vec2 t; void main() { gl_Position = vec4(a0, 0, 1); t = a0 * 0.5 + 0.5; }",
        "precision highp sampler2DShadow; in vec2 t; out vec4 o; uniform sampler2DShadow s;
         void main() { o = vec4(texture(s, vec3(t, 0.5)), texture(s, vec3(t, 0.7)), t.x, 1); }",
    );
    gl.attribute(0, 2, &WINDOW, 0);
    gl.draw(TRIANGLES, 6);
    gl.pixels()
}

/// Vertices that one program captures in a buffer and another draws.
fn captured(gl: &Gl) -> Vec<u8> {
    let program = gl.capturing(
        "in vec4 a0; out vec4 p; void main() { gl_Position = a0; p = vec4(a0.y, -a0.x, 0, 1) * vec4(1, 1, 1, 1.2); }",
        "out vec4 o; void main() { o = vec4(1); }",
        "p",
    );
    gl!(gl, glUseProgram(program => u32));
    gl.attribute(0, 4, &CORNERS[..12], 0);
    let captured = gl.buffer(0x8c8e, &[0.0f32; 12]);
    gl!(gl, glBindBufferBase(0x8c8e => u32, 0 => u32, captured => u32));
    gl.enable(0x8c89);
    gl!(gl, glBeginTransformFeedback(TRIANGLES => u32));
    gl.draw(TRIANGLES, 3);
    gl!(gl, glEndTransformFeedback());
    gl!(gl, glDisable(0x8c89 => u32));
    gl!(gl, glBindBufferBase(0x8c8e => u32, 0 => u32, 0 => u32));
    gl.program(POSITION, COLOUR);
    gl!(gl, glBindBuffer(ARRAY_BUFFER => u32, captured => u32));
    gl!(gl, glVertexAttribPointer(0 => u32, 4 => i32, 0x1406 => u32, 0 => u8, 0 => i32, std::ptr::null() => *const c_void));
    gl.attribute(1, 4, &COLOURS, 0);
    gl.draw(TRIANGLES, 3);
    gl.pixels()
}

/// Vertices and colours from a compute shader, with workgroup memory, barriers and atomics.
fn dispatch(gl: &Gl) -> Vec<u8> {
    gl.compute(
        "layout(local_size_x = 64) in;
         layout(std430, binding = 0) buffer P { vec4 places[]; };
         layout(std430, binding = 1) buffer C { vec4 tints[]; };
         layout(std430, binding = 2) buffer N { uint count; };
         shared float sums[64];
         void main() {
           uint i = gl_GlobalInvocationID.x; uint l = gl_LocalInvocationID.x;
           sums[l] = float(l + 1u);
           for (uint d = 1u; d < 64u; d *= 2u) {
             barrier(); float v = l >= d ? sums[l - d] : 0.0; barrier(); sums[l] += v;
           }
           atomicAdd(count, 1u);
           float a = sums[l] / 2080.0 * 6.28318 + float(gl_WorkGroupID.x);
           float r = 0.3 + 0.3 * float(gl_WorkGroupID.x);
           places[i] = vec4(cos(a) * r, sin(a) * r, 0, 1);
           tints[i] = vec4(sums[l] / 2080.0, float(i & 7u) / 7.0, 1.0 - r, 1);
         }",
    );
    let places = gl.buffer(0x90d2, &[0.0f32; 512]);
    let tints = gl.buffer(0x90d2, &[0.0f32; 512]);
    let count = gl.buffer(0x90d2, &[0u32]);
    for (index, buffer) in (0..).zip([places, tints, count]) {
        gl!(gl, glBindBufferBase(0x90d2 => u32, index => u32, buffer => u32));
    }
    gl!(gl, glDispatchCompute(2 => u32, 1 => u32, 1 => u32));
    gl!(gl, glMemoryBarrier(!0 => u32));
    let mapped =
        gl!(gl, glMapBufferRange(0x90d2 => u32, 0 => isize, 4 => isize, 1 => u32) -> *const u32);
    // SAFETY: four bytes are mapped for reading.
    let invocations = unsafe { mapped.read_unaligned() };
    assert_eq!(invocations, 128, "invocations that counted");
    gl!(gl, glUnmapBuffer(0x90d2 => u32) -> u8);
    gl.program(POSITION, COLOUR);
    for (index, buffer) in (0..).zip([places, tints]) {
        gl!(gl, glBindBuffer(ARRAY_BUFFER => u32, buffer => u32));
        gl!(gl, glVertexAttribPointer(index => u32, 4 => i32, 0x1406 => u32, 0 => u8, 0 => i32, std::ptr::null() => *const c_void));
        gl!(gl, glEnableVertexAttribArray(index => u32));
        gl!(gl, glVertexAttribDivisor(index => u32, 0 => u32));
    }
    gl.draw(TRIANGLES, 126);
    gl.pixels()
}
