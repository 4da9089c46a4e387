//! OpenGL ES functions for the scenes: programs, buffers, textures, targets.

use std::ffi::{c_char, c_void};

use crate::egl::{Libraries, c_string, gl, string};

pub const TRIANGLES: u32 = 4;
pub const FLOAT: u32 = 0x1406;
pub const UNSIGNED_BYTE: u32 = 0x1401;
pub const RGBA: u32 = 0x1908;
pub const RGBA8: u32 = 0x8058;
pub const TEXTURE_2D: u32 = 0x0de1;
pub const ARRAY_BUFFER: u32 = 0x8892;
pub const FRAMEBUFFER: u32 = 0x8d40;
pub const COLOR_ATTACHMENT: u32 = 0x8ce0;
const RENDERBUFFER: u32 = 0x8d41;
const DEPTH_STENCIL_ATTACHMENT: u32 = 0x821a;
const DEPTH24_STENCIL8: u32 = 0x88f0;

/// The side of each picture in pixels.
pub const SIDE: i32 = 128;

/// A current context.
pub struct Gl {
    pub libraries: Libraries,
    pub version: [i32; 2],
    pub renderer: String,
}

impl Gl {
    pub fn new() -> Result<Gl, String> {
        let libraries = Libraries::load()?;
        let version = libraries.make_current()?;
        let gl = Gl { libraries, version, renderer: String::new() };
        let renderer = string(gl!(gl, glGetString(0x1f01 => u32) -> *const c_char));
        Ok(Gl { renderer, ..gl })
    }

    fn shader(&self, kind: u32, source: &str) -> u32 {
        let shader = gl!(self, glCreateShader(kind => u32) -> u32);
        let source = c_string(source);
        let pointer = source.as_ptr();
        gl!(self, glShaderSource(shader => u32, 1 => i32, &pointer => *const *const c_char, std::ptr::null() => *const i32));
        gl!(self, glCompileShader(shader => u32));
        let mut ok = 0;
        gl!(self, glGetShaderiv(shader => u32, 0x8b81 => u32, &mut ok => *mut i32));
        if ok == 0 {
            let mut log = vec![0u8; 4096];
            gl!(self, glGetShaderInfoLog(shader => u32, 4096 => i32, std::ptr::null_mut() => *mut i32, log.as_mut_ptr().cast() => *mut c_char));
            panic!("{}", string(log.as_ptr().cast()));
        }
        shader
    }

    fn link(&self, program: u32) {
        gl!(self, glLinkProgram(program => u32));
        let mut ok = 0;
        gl!(self, glGetProgramiv(program => u32, 0x8b82 => u32, &mut ok => *mut i32));
        assert!(ok != 0, "a program that does not link");
        gl!(self, glUseProgram(program => u32));
    }

    /// Creates and uses a program, whose attributes are `a0`, `a1` and so on.
    pub fn program(&self, vertex: &str, fragment: &str) -> u32 {
        let program = gl!(self, glCreateProgram() -> u32);
        let head = "#version 300 es\nprecision highp float; precision highp int;\n";
        for (kind, source) in [(0x8b31, vertex), (0x8b30, fragment)] {
            let shader = self.shader(kind, &format!("{head}{source}"));
            gl!(self, glAttachShader(program => u32, shader => u32));
        }
        for index in 0..4 {
            let name = c_string(&format!("a{index}"));
            gl!(self, glBindAttribLocation(program => u32, index => u32, name.as_ptr() => *const c_char));
        }
        self.link(program);
        program
    }

    /// Creates and uses a program that captures the output of a name.
    pub fn capturing(&self, vertex: &str, fragment: &str, output: &str) -> u32 {
        let program = self.program(vertex, fragment);
        let name = c_string(output);
        let pointer = name.as_ptr();
        gl!(self, glTransformFeedbackVaryings(program => u32, 1 => i32, &pointer => *const *const c_char, 0x8c8c => u32));
        self.link(program);
        program
    }

    /// Creates and uses a compute program.
    pub fn compute(&self, source: &str) -> u32 {
        let program = gl!(self, glCreateProgram() -> u32);
        let shader = self.shader(0x91b9, &format!("#version 310 es\n{source}"));
        gl!(self, glAttachShader(program => u32, shader => u32));
        self.link(program);
        program
    }

    /// Sets a uniform of the current program to one, four or sixteen numbers.
    pub fn uniform(&self, program: u32, name: &str, values: &[f32]) {
        let name = c_string(name);
        let place =
            gl!(self, glGetUniformLocation(program => u32, name.as_ptr() => *const c_char) -> i32);
        let v = values.as_ptr();
        match values.len() {
            1 => gl!(self, glUniform1fv(place => i32, 1 => i32, v => *const f32)),
            4 => gl!(self, glUniform4fv(place => i32, 1 => i32, v => *const f32)),
            _ => {
                gl!(self, glUniformMatrix4fv(place => i32, 1 => i32, 0 => u8, v => *const f32));
            }
        }
    }

    /// Creates a buffer with contents, and binds it to a target.
    pub fn buffer<T: Copy>(&self, target: u32, data: &[T]) -> u32 {
        let mut buffer = 0;
        gl!(self, glGenBuffers(1 => i32, &mut buffer => *mut u32));
        gl!(self, glBindBuffer(target => u32, buffer => u32));
        let bytes = size_of_val(data) as isize;
        gl!(self, glBufferData(target => u32, bytes => isize, data.as_ptr().cast() => *const c_void, 0x88e4 => u32));
        buffer
    }

    /// Sets an attribute of floats from a new buffer. With a divisor it advances per instance.
    pub fn attribute(&self, index: u32, components: i32, data: &[f32], divisor: u32) {
        self.buffer(ARRAY_BUFFER, data);
        gl!(self, glVertexAttribPointer(index => u32, components => i32, FLOAT => u32, 0 => u8, 0 => i32, std::ptr::null() => *const c_void));
        gl!(self, glEnableVertexAttribArray(index => u32));
        gl!(self, glVertexAttribDivisor(index => u32, divisor => u32));
    }

    pub fn attribute_off(&self, index: u32) {
        gl!(self, glDisableVertexAttribArray(index => u32));
    }

    pub fn enable(&self, what: u32) {
        gl!(self, glEnable(what => u32));
    }

    pub fn draw(&self, mode: u32, count: i32) {
        gl!(self, glDrawArrays(mode => u32, 0 => i32, count => i32));
    }

    /// Creates and binds an RGBA8 texture with filters.
    pub fn texture(&self, side: i32, texels: &[u8], filters: [i32; 2]) -> u32 {
        let mut texture = 0;
        gl!(self, glGenTextures(1 => i32, &mut texture => *mut u32));
        gl!(self, glBindTexture(TEXTURE_2D => u32, texture => u32));
        gl!(self, glTexImage2D(TEXTURE_2D => u32, 0 => i32, RGBA8 as i32 => i32, side => i32, side => i32, 0 => i32, RGBA => u32, UNSIGNED_BYTE => u32, texels.as_ptr().cast() => *const c_void));
        for (name, value) in [0x2801, 0x2800].into_iter().zip(filters) {
            gl!(self, glTexParameteri(TEXTURE_2D => u32, name => u32, value => i32));
        }
        texture
    }

    /// Creates, binds and clears a framebuffer with colours, depth and stencil.
    pub fn target(&self, samples: i32) -> u32 {
        let (mut framebuffer, mut buffers) = (0, [0; 2]);
        gl!(self, glGenFramebuffers(1 => i32, &mut framebuffer => *mut u32));
        gl!(self, glBindFramebuffer(FRAMEBUFFER => u32, framebuffer => u32));
        gl!(self, glGenRenderbuffers(2 => i32, buffers.as_mut_ptr() => *mut u32));
        let formats = [(RGBA8, COLOR_ATTACHMENT), (DEPTH24_STENCIL8, DEPTH_STENCIL_ATTACHMENT)];
        for (buffer, (format, attachment)) in buffers.into_iter().zip(formats) {
            gl!(self, glBindRenderbuffer(RENDERBUFFER => u32, buffer => u32));
            gl!(self, glRenderbufferStorageMultisample(RENDERBUFFER => u32, samples => i32, format => u32, SIDE => i32, SIDE => i32));
            gl!(self, glFramebufferRenderbuffer(FRAMEBUFFER => u32, attachment => u32, RENDERBUFFER => u32, buffer => u32));
        }
        let status = gl!(self, glCheckFramebufferStatus(FRAMEBUFFER => u32) -> u32);
        assert_eq!(status, 0x8cd5, "an incomplete framebuffer");
        gl!(self, glViewport(0 => i32, 0 => i32, SIDE => i32, SIDE => i32));
        self.clear([0.1, 0.2, 0.3, 1.0]);
        framebuffer
    }

    pub fn clear(&self, [r, g, b, a]: [f32; 4]) {
        gl!(self, glClearColor(r => f32, g => f32, b => f32, a => f32));
        gl!(self, glClear(0x4000 | 0x100 | 0x400 => u32));
    }

    /// The pixels of the bound framebuffer.
    pub fn pixels(&self) -> Vec<u8> {
        let mut pixels = vec![0u8; (SIDE * SIDE * 4) as usize];
        gl!(self, glReadPixels(0 => i32, 0 => i32, SIDE => i32, SIDE => i32, RGBA => u32, UNSIGNED_BYTE => u32, pixels.as_mut_ptr().cast() => *mut c_void));
        let error = gl!(self, glGetError() -> u32);
        assert_eq!(error, 0, "an error of OpenGL ES: {error:#x}");
        pixels
    }

    /// Disables everything that scenes enable.
    pub fn reset(&self) {
        for what in [0x0b44, 0x0b71, 0x0be2, 0x0b90, 0x0c11, 0x8d69, 0x8037] {
            gl!(self, glDisable(what => u32));
        }
        (0..4).for_each(|index| self.attribute_off(index));
        gl!(self, glColorMask(1 => u8, 1 => u8, 1 => u8, 1 => u8));
        gl!(self, glBindBuffer(0x8893 => u32, 0 => u32));
    }
}
