"""A few draws and a dispatch through OpenGL ES, without a window: something for a tracer to see.

Run it with the sysroot's Python: tepui trace -- tools/mesa run -- python3 tests/witness/scripts/opengl.py
"""

from ctypes import CDLL, POINTER, byref, c_char_p, c_float, c_int, c_uint, c_void_p, cast

egl = CDLL("libEGL.so.1")
gl = CDLL("libGLESv2.so.2")

SURFACELESS, ES_API = 0x31DD, 0x30A0
egl.eglGetPlatformDisplay.restype = c_void_p
egl.eglCreateContext.restype = c_void_p
display = c_void_p(egl.eglGetPlatformDisplay(SURFACELESS, None, None))
assert egl.eglInitialize(display, None, None), "no EGL display"
assert egl.eglBindAPI(ES_API)
attributes = (c_int * 5)(0x3098, 3, 0x30FB, 2, 0x3038)  # OpenGL ES 3.2
context = c_void_p(egl.eglCreateContext(display, None, None, attributes))
assert context.value, "no OpenGL ES 3.2 context"
assert egl.eglMakeCurrent(display, None, None, context)

WIDTH, HEIGHT = 96, 64
TEXTURE_2D, RGBA8, RGBA, UBYTE, FLOAT = 0x0DE1, 0x8058, 0x1908, 0x1401, 0x1406
FRAMEBUFFER, COLOR0, DEPTH_STENCIL_AT, RENDERBUFFER = 0x8D40, 0x8CE0, 0x821A, 0x8D41
ARRAY_BUFFER, STORAGE_BUFFER, STATIC_DRAW = 0x8892, 0x90D2, 0x88E4
VERTEX, FRAGMENT, COMPUTE = 0x8B31, 0x8B30, 0x91B9


def name(function):
    value = c_uint()
    function(1, byref(value))
    return value.value


def program(*stages):
    linked = gl.glCreateProgram()
    for kind, text in stages:
        shader = gl.glCreateShader(kind)
        source = c_char_p(text.encode())
        gl.glShaderSource(shader, 1, cast(byref(source), POINTER(c_char_p)), None)
        gl.glCompileShader(shader)
        gl.glAttachShader(linked, shader)
    gl.glLinkProgram(linked)
    good = c_int()
    gl.glGetProgramiv(linked, 0x8B82, byref(good))
    assert good.value, "a shader was refused"
    return linked


colour = name(gl.glGenTextures)
gl.glBindTexture(TEXTURE_2D, colour)
gl.glTexStorage2D(TEXTURE_2D, 1, RGBA8, WIDTH, HEIGHT)
depth = name(gl.glGenRenderbuffers)
gl.glBindRenderbuffer(RENDERBUFFER, depth)
gl.glRenderbufferStorage(RENDERBUFFER, 0x88F0, WIDTH, HEIGHT)  # DEPTH24_STENCIL8
gl.glBindFramebuffer(FRAMEBUFFER, name(gl.glGenFramebuffers))
gl.glFramebufferTexture2D(FRAMEBUFFER, COLOR0, TEXTURE_2D, colour, 0)
gl.glFramebufferRenderbuffer(FRAMEBUFFER, DEPTH_STENCIL_AT, RENDERBUFFER, depth)
assert gl.glCheckFramebufferStatus(FRAMEBUFFER) == 0x8CD5, "no framebuffer"

checks = name(gl.glGenTextures)
gl.glBindTexture(TEXTURE_2D, checks)
texels = bytes(255 if (x ^ y) & 1 else c * 60 for y in range(8) for x in range(8) for c in range(4))
gl.glTexImage2D(TEXTURE_2D, 0, RGBA8, 8, 8, 0, RGBA, UBYTE, texels)
gl.glGenerateMipmap(TEXTURE_2D)
gl.glTexParameteri(TEXTURE_2D, 0x2801, 0x2703)  # minify: linear, linear between levels
gl.glTexParameteri(TEXTURE_2D, 0x2802, 0x8370)  # wrap s: mirrored

textured = program(
    (VERTEX, """#version 320 es
layout(location = 0) in vec2 position;
layout(location = 1) in vec3 tint;
uniform mat2 turn;
out vec2 where; flat out vec3 colour;
void main() { where = position * 2.0; colour = tint; gl_Position = vec4(turn * position, 0.25, 1); }
"""),
    (FRAGMENT, """#version 320 es
precision highp float;
in vec2 where; flat in vec3 colour;
uniform sampler2D image;
out vec4 result;
void main() { result = texture(image, where) * vec4(colour, 0.5) + gl_FragCoord.z; }
"""),
)
gl.glUseProgram(textured)
turn = (c_float * 4)(0.8, 0.6, -0.6, 0.8)
gl.glUniformMatrix2fv(gl.glGetUniformLocation(textured, b"turn"), 1, 0, turn)
vertices = (c_float * 20)(*[v for x, y, c in [(-1, -1, 0), (1, -1, 0.5), (-1, 1, 1), (1, 1, 0.2)]
                            for v in (x, y, c, 1 - c, 0.7)])
gl.glBindBuffer(ARRAY_BUFFER, name(gl.glGenBuffers))
gl.glBufferData(ARRAY_BUFFER, 80, vertices, STATIC_DRAW)
gl.glEnableVertexAttribArray(0)
gl.glEnableVertexAttribArray(1)
gl.glVertexAttribPointer(0, 2, FLOAT, 0, 20, c_void_p(0))
gl.glVertexAttribPointer(1, 3, FLOAT, 0, 20, c_void_p(8))

gl.glViewport(0, 0, WIDTH, HEIGHT)
gl.glClearColor(c_float(0.1), c_float(0.2), c_float(0.3), c_float(1))
gl.glClear(0x4500)  # colour, depth, stencil
gl.glEnable(0x0B71)  # depth test
gl.glEnable(0x0BE2)  # blending
gl.glBlendFunc(0x0302, 0x0303)
gl.glDrawArrays(5, 0, 4)
gl.glEnable(0x0C11)  # scissor test
gl.glScissor(10, 5, 40, 30)
gl.glEnable(0x0B90)  # stencil test
gl.glStencilFunc(0x0203, 3, 0x7F)
gl.glStencilOp(0x1E00, 0x1E02, 0x1E01)
gl.glEnable(0x8037)  # polygon offset
gl.glPolygonOffset(c_float(1.5), c_float(2))
gl.glEnable(0x0B44)  # face culling
indices = bytes([0, 1, 2, 2, 1, 3])
gl.glDrawElementsInstanced(4, 6, UBYTE, indices, 3)
gl.glLineWidth(c_float(2))
gl.glDrawArrays(1, 0, 4)
pixels = bytes(WIDTH * HEIGHT * 4)
gl.glReadPixels(0, 0, WIDTH, HEIGHT, RGBA, UBYTE, pixels)

squares = program((COMPUTE, """#version 320 es
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
shared uint before[32];
void main() {
    uint i = gl_GlobalInvocationID.x;
    before[gl_LocalInvocationIndex] = data[i];
    barrier();
    data[i] = i * i + before[31u - gl_LocalInvocationIndex];
}
"""))
gl.glUseProgram(squares)
gl.glBindBufferBase(STORAGE_BUFFER, 0, name(gl.glGenBuffers))
gl.glBufferData(STORAGE_BUFFER, 512, bytes(512), STATIC_DRAW)
gl.glDispatchCompute(4, 1, 1)
gl.glFinish()
