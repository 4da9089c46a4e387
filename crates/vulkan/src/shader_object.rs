//! Shader objects: stages without a pipeline. All state comes from commands; a family's driver compiles what a draw asks for, as
//! with pipelines whose state is all dynamic.
//!
//! A binary is what a shader was made from, its constants put in.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use tepui_passes::lower_dispatch_base;
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, STAGES};
use crate::cache::{Header, Programs};
use crate::command::{CommandBuffer, of};
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::draws::Driver;
use crate::entry;
use crate::error::{Error, Result};
use crate::object::{handle, maybe, slice};
use crate::pipeline::{Source, Translated, constants, hash_of, link, shader_of, subgroup_size};
use crate::state::{GraphicsState, Groups};

/// A shader object.
pub struct ShaderObject<B: Backend> {
    shader: Arc<B::Shader>,
    binary: Vec<u8>,
}

/// Bytes of a binary in front of the SPIR-V words: stage and flags, then the numbers of constants and words.
const FIXED_B: usize = 16;
/// Bytes of a constant: number and bits.
const CONSTANT_B: usize = 12;

/// The contents of a binary. It has no machine code: that depends on the features of the device, and binaries must be the
/// same for all devices of one physical device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Bits of `VkShaderStageFlagBits`.
    pub stage: u32,
    /// Bits of `VkShaderCreateFlagsEXT`.
    pub flags: u32,
    /// Specialisation constants: numbers and bits.
    pub spec: Vec<(u32, u64)>,
    /// SPIR-V.
    pub words: Vec<u32>,
    /// The entry point's name.
    pub entry: String,
}

impl Binary {
    /// The bytes that [`Binary::read`] takes apart.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let counts = [self.stage, self.flags, self.spec.len() as u32, self.words.len() as u32];
        out.extend(counts.iter().flat_map(|c| c.to_le_bytes()));
        for &(number, bits) in &self.spec {
            out.extend(number.to_le_bytes());
            out.extend(bits.to_le_bytes());
        }
        out.extend(self.words.iter().flat_map(|w| w.to_le_bytes()));
        out.extend((self.entry.len() as u32).to_le_bytes());
        out.extend(self.entry.as_bytes());
        out
    }

    /// Parses a binary; none if it is incomplete. Bytes after its end are ignored.
    pub fn read(bytes: &[u8]) -> Option<Binary> {
        let (head, rest) = bytes.split_at_checked(FIXED_B)?;
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let [stage, flags, constants, words] = [0, 4, 8, 12].map(|at| word(&head[at..]));
        let (list, rest) = rest.split_at_checked((constants as usize).checked_mul(CONSTANT_B)?)?;
        let spec = list
            .chunks_exact(CONSTANT_B)
            .map(|c| (word(c), u64::from(word(&c[4..])) | u64::from(word(&c[8..])) << 32));
        let (list, rest) = rest.split_at_checked((words as usize).checked_mul(4)?)?;
        let words = list.chunks_exact(4).map(word).collect();
        let (size, rest) = rest.split_at_checked(4)?;
        let (name, _) = rest.split_at_checked(word(size) as usize)?;
        let entry = String::from_utf8(name.to_vec()).ok()?;
        Some(Binary { stage, flags, spec: spec.collect(), words, entry })
    }
}

fn may_vary(flags: vk::ShaderCreateFlagsEXT) -> bool {
    flags.contains(vk::ShaderCreateFlagsEXT::ALLOW_VARYING_SUBGROUP_SIZE)
}

/// The error of a binary that another build or device made.
fn incompatible() -> Error {
    Error::new(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT, "a shader binary of another driver")
}

/// A shader object on its way: its translated stage, and what it is created from.
struct Front<B: Backend> {
    translated: Translated,
    sets: Vec<Option<Arc<SetLayout<B>>>>,
    binary: Vec<u8>,
    stage: vk::ShaderStageFlags,
    /// It is linked with the others of the call that are.
    is_linked: bool,
}

impl<B: Backend> Front<B> {
    unsafe fn new(d: &Device<B>, info: &vk::ShaderCreateInfoEXT) -> Result<Front<B>> {
        // SAFETY: the structure is the application's and valid.
        unsafe {
            let sets: Vec<_> = slice(info.set_layouts, info.set_layout_count)
                .iter()
                .map(|&s| maybe::<Arc<SetLayout<B>>>(s).cloned())
                .collect();
            let code = std::slice::from_raw_parts(info.code.cast::<u8>(), info.code_size);
            if info.code_type != vk::ShaderCodeTypeEXT::BINARY {
                let words = slice(info.code.cast(), (info.code_size / 4) as u32);
                let source = Source {
                    words,
                    hash: hash_of(words),
                    entry: CStr::from_ptr(info.name).to_string_lossy(),
                    stage: info.stage,
                    spec: constants(info.specialization_info),
                    subgroup_size: subgroup_size(words, may_vary(info.flags), info.next),
                };
                return Self::of(d, &source, info.flags, sets);
            }
            let own = binary_of(&d.cache_header, code).and_then(Binary::read);
            let own = own.ok_or_else(incompatible)?;
            let source = Source {
                words: &own.words,
                hash: hash_of(&own.words),
                entry: own.entry.into(),
                stage: vk::ShaderStageFlags::from_bits_truncate(own.stage),
                spec: own.spec,
                subgroup_size: subgroup_size(&own.words, may_vary(info.flags), info.next),
            };
            if source.stage != info.stage {
                return Err(incompatible());
            }
            let flags = vk::ShaderCreateFlagsEXT::from_bits_truncate(own.flags);
            Self::of(d, &source, flags, sets)
        }
    }

    fn of(
        d: &Device<B>,
        source: &Source<'_>,
        flags: vk::ShaderCreateFlagsEXT,
        sets: Vec<Option<Arc<SetLayout<B>>>>,
    ) -> Result<Front<B>> {
        let own = Binary {
            stage: source.stage.bits(),
            flags: flags.bits(),
            spec: source.spec.clone(),
            words: source.words.to_vec(),
            entry: source.entry.clone().into_owned(),
        };
        let (mut ir, mut key) = source.translate(&sets)?;
        if flags.contains(vk::ShaderCreateFlagsEXT::DISPATCH_BASE) {
            lower_dispatch_base::run(&mut ir);
            key = key.wrapping_add(1);
        }
        let mut binary = d.cache_header.to_vec();
        binary.extend(own.write());
        Ok(Front {
            translated: Translated {
                ir,
                key,
                robust: d.robust,
                subgroup_size: source.subgroup_size,
            },
            sets,
            binary,
            stage: source.stage,
            is_linked: flags.contains(vk::ShaderCreateFlagsEXT::LINK_STAGE),
        })
    }
}

/// Links those stages of a call that are created to be linked, as those of a pipeline.
fn link_fronts<B: Backend>(fronts: &mut [Result<Front<B>>]) {
    let linked =
        |f: &Result<Front<B>>, stage| f.as_ref().is_ok_and(|f| f.is_linked && f.stage == stage);
    let places = STAGES.map(|stage| fronts.iter().position(|f| linked(f, stage)));
    let mut stages = places.map(|k| {
        let front = fronts[k?].as_ref().ok()?;
        Some(front.translated.clone())
    });
    link(&mut stages);
    for (place, stage) in places.into_iter().zip(stages) {
        if let (Some(k), Some(stage)) = (place, stage)
            && let Ok(front) = &mut fronts[k]
        {
            front.translated = stage;
        }
    }
}

impl<B: Backend> ShaderObject<B> {
    fn compile(d: &Device<B>, front: Front<B>) -> Result<ShaderObject<B>> {
        let Front { translated, sets, binary, .. } = front;
        let programs = Arc::new(Programs::new(None, false));
        // Draws link what their state asks for.
        let state = GraphicsState::default();
        let shader = shader_of(d, translated, &sets, &programs, false, Some(&state))?;
        Ok(ShaderObject { shader, binary })
    }
}

/// The binary after the header of its device and build.
fn binary_of<'a>(header: &Header, code: &'a [u8]) -> Option<&'a [u8]> {
    code.strip_prefix(header)
}

impl<B: Driver> CommandBuffer<B> {
    /// Binds the shader object of a stage, or none.
    fn bind_shader(&mut self, stage: vk::ShaderStageFlags, shader: Option<Arc<B::Shader>>) {
        let state = &mut self.state;
        if stage == vk::ShaderStageFlags::COMPUTE {
            state.compute = shader;
            return;
        }
        if !state.shader_objects {
            // State that a pipeline fixed before.
            state.shader_objects = true;
            let none = GraphicsState { local_read: true, ..GraphicsState::default() };
            state.graphics.copy(&none, Groups::FIXED);
            state.leave_pipeline();
            state.changed |= Groups::FIXED;
        }
        match stage {
            vk::ShaderStageFlags::VERTEX => state.bound.vertex = shader,
            vk::ShaderStageFlags::FRAGMENT => state.bound.fragment = shader,
            stage => match state.bound.between.of(stage) {
                Some(to) => *to = shader,
                // Stages that there are no shaders of.
                None => return,
            },
        }
        state.shaders_changed = true;
    }
}

entry! {
    /// `vkCreateShadersEXT`.
    fn vkCreateShadersEXT<B: Backend>(device: vk::Device, count: u32, infos: *const vk::ShaderCreateInfoEXT, callbacks: *const vk::AllocationCallbacks, out: *mut vk::ShaderEXT) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let allocator = d.allocator(callbacks);
            for k in 0..count as usize {
                *out.add(k) = vk::ShaderEXT::null();
            }
            let mut fronts: Vec<_> = slice(infos, count).iter().map(|i| Front::<B>::new(d, i)).collect();
            link_fronts(&mut fronts);
            for (k, front) in fronts.into_iter().enumerate() {
                match front.and_then(|f| ShaderObject::compile(d, f)).and_then(|s| allocator.create(s)) {
                    Ok(shader) => *out.add(k) = handle(shader),
                    Err(e) if e.code == vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT => return Ok(e.code),
                    Err(e) => return Err(e),
                }
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyShaderEXT`.
    fn vkDestroyShaderEXT<B: Backend>(device: vk::Device, shader: vk::ShaderEXT, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(shader.as_raw() as *mut ShaderObject<B>) }
    }

    /// `vkGetShaderBinaryDataEXT`.
    fn vkGetShaderBinaryDataEXT<B: Backend>(_device: vk::Device, shader: vk::ShaderEXT, size: *mut usize, out: *mut c_void) -> vk::Result {
        unsafe {
            let shader: &ShaderObject<B> = crate::object::get(shader);
            let bytes = &shader.binary;
            if out.is_null() {
                *size = bytes.len();
                return Ok(vk::Result::SUCCESS);
            }
            if *size < bytes.len() {
                *size = 0;
                return Ok(vk::Result::INCOMPLETE);
            }
            out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            *size = bytes.len();
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCmdBindShadersEXT`.
    fn vkCmdBindShadersEXT<B: Driver>(buffer: vk::CommandBuffer, count: u32, stages: *const vk::ShaderStageFlags, shaders: *const vk::ShaderEXT) {
        unsafe {
            let shaders = if shaders.is_null() { &[][..] } else { slice(shaders, count) };
            for (k, &stage) in slice(stages, count).iter().enumerate() {
                let shader = shaders.get(k).and_then(|&s| maybe::<ShaderObject<B>>(s)).map(|s| s.shader.clone());
                of::<B>(buffer).record("vkCmdBindShadersEXT", move |c| {
                    c.bind_shader(stage, shader.clone());
                    Ok(())
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_read_as_written_and_never_panic() {
        let own = Binary {
            stage: vk::ShaderStageFlags::COMPUTE.bits(),
            flags: vk::ShaderCreateFlagsEXT::DISPATCH_BASE.bits(),
            spec: vec![(3, u64::MAX - 1), (9, 4)],
            words: vec![0x0723_0203, 5, 6, 7],
            entry: "main".to_owned(),
        };
        let bytes = own.write();
        assert_eq!(Binary::read(&bytes), Some(own));
        for end in 0..bytes.len() {
            assert!(Binary::read(&bytes[..end]).is_none());
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bad = bytes.clone();
                bad[at] = value;
                let _ = Binary::read(&bad);
            }
        }
    }
}
