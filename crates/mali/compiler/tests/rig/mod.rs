//! The compiler, and the model without a driver, as the shared tests take them.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::cell::RefCell;
use tepui_compiler_test::images::{QUADS, divides_quads};
use tepui_compiler_test::{Compiler, Counts, Executor, Failure, Refusal};
use tepui_ir::interp::{Memory, Slot};
use tepui_ir::{Attrs, ResKind, Resource, Shader};
use tepui_mali_analysis::{Code, check as check_slots};
use tepui_mali_bare::image::Picture;
use tepui_mali_bare::{Bindings, Error, Machine};
use tepui_mali_chips::chip;
use tepui_mali_compiler::interface::PUSHED_WORDS;
use tepui_mali_compiler::target::LANES;
use tepui_mali_compiler::{
    Layout, Options, Prepared, Program, Snapshot, compile_prepared, lower, prepare,
};
use tepui_mali_isa::{asm, disasm};

/// The compiler with its options.
pub struct Valhall {
    options: Options<'static>,
    /// The words of uniform buffers of the shader that was prepared last.
    prepared: RefCell<Prepared>,
}

impl Valhall {
    pub fn new(options: Options<'static>) -> Valhall {
        Valhall { options, prepared: RefCell::default() }
    }
}

/// A program, and its machine IR if `TEPUI_MIR` asks for that; `TEPUI_LISTING` prints every program.
pub struct Compiled {
    pub program: Program,
    mir: String,
}

impl Compiler for Valhall {
    type Program = Compiled;

    fn subgroup(&self) -> usize {
        LANES as usize
    }

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        self.prepared.replace(Prepared::default());
        lower(s, &self.options, look);
    }

    fn prepare(&self, s: &mut Shader) {
        self.prepared.replace(prepare(s, &self.options, &mut |_, _| {}));
    }

    fn compile(&self, s: &Shader) -> Result<Compiled, Refusal> {
        let mut mir = String::new();
        let wanted = std::env::var_os("TEPUI_MIR").is_some();
        let mut keep = |name: &str, m: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (wanted, m) {
                mir = format!("{name}\n{m}");
            }
        };
        match compile_prepared(s, &self.prepared.borrow(), &self.options, &mut keep) {
            Ok(program) => {
                verify(&program).map_err(|e| Refusal::Bug(format!("{e}\n{mir}")))?;
                if std::env::var_os("TEPUI_LISTING").is_some() {
                    println!("{s}\n{mir}\n{}{}", disasm::program(&program.code), program.stats);
                }
                Ok(Compiled { program, mir })
            }
            Err(e) if e.is_bug() => Err(Refusal::Bug(format!("{e}\n{mir}"))),
            Err(e) => Err(Refusal::Unsupported(e.to_string())),
        }
    }

    fn listing(&self, p: &Compiled) -> String {
        format!("{}{}", p.mir, disasm::program(&p.program.code))
    }

    fn counts(&self, p: &Compiled) -> Counts {
        Counts { fills: p.program.stats.fills, loops: p.program.stats.loops }
    }
}

/// Checks the code of a program: slots and marks of last uses, and that its text is the code.
fn verify(p: &Program) -> Result<(), String> {
    verify_part(&p.code)
}

/// Checks code that ends with a program.
pub fn verify_part(bytes: &[u8]) -> Result<(), String> {
    let text = disasm::program(bytes);
    let code = Code::decode(bytes).map_err(|e| format!("{e}\n{text}"))?;
    let found = check_slots(&code, false).map_err(|e| e.to_string())?;
    if let Some(first) = found.first() {
        return Err(format!("{} findings: {}\n{text}", found.len(), first.text(&code)));
    }
    let rest = bytes.get(8 * code.len()..).unwrap_or_default();
    if rest.iter().any(|&byte| byte != 0) {
        return Err(format!("{} of {} bytes are code\n{text}", 8 * code.len(), bytes.len()));
    }
    for inst in code.insts() {
        if asm::parse(&inst.to_string()).as_ref() != Ok(inst) {
            return Err(format!("`{inst}` is assembled to something else"));
        }
    }
    Ok(())
}

/// Chips that the compiler knows: command streams (v10), and chains of jobs (v9).
pub const CHIPS: [&str; 2] = ["mali-g610", "mali-g57"];

/// The model without a driver.
pub struct Model(Machine);

impl Model {
    /// A model of a chip.
    pub fn new(id: &str) -> Model {
        let options = tepui_mali_model::Options {
            threads: 1,
            max_instructions: 1 << 22,
            runs_before_translation: u32::MAX,
            ..Default::default()
        };
        Model(Machine::new(chip(id).expect("a chip"), options))
    }
}

const BUFFERS: &[ResKind] = &[ResKind::UniformBuffer, ResKind::StorageBuffer];
const SAMPLERS: &[ResKind] = &[ResKind::Sampler, ResKind::CombinedTextureSampler];
const IMAGES: &[ResKind] = &[
    ResKind::CombinedTextureSampler,
    ResKind::Texture,
    ResKind::StorageImage,
    ResKind::UniformTexelBuffer,
    ResKind::StorageTexelBuffer,
    ResKind::InputAttachment,
];

/// The bindings of a shader.
fn bindings(s: &Shader, m: &Memory) -> Bindings {
    // In modules without bindings, several resources have the same one: those that the shader uses are bound.
    let mut used = Vec::new();
    s.walk(|s, _, i| {
        if let Attrs::Res(r, _) = s.insts[i].attrs {
            used.push(r);
        }
    });
    let resource = |slot: &Slot, kinds: &[ResKind]| {
        let of_slot = |r: &&Resource| (r.set, r.binding) == (slot.0, slot.1);
        let all = used.iter().map(|&r| &s.resources[r]);
        all.filter(of_slot).find(|r| kinds.contains(&r.kind))
    };
    let images = m.images.iter().filter_map(|(&slot, data)| {
        Some((slot, Picture::new(data.clone(), resource(&slot, IMAGES)?)))
    });
    let buffers = m.buffers.iter().filter(|(slot, _)| resource(slot, BUFFERS).is_some());
    let samplers = m.samplers.iter().filter(|(slot, _)| resource(slot, SAMPLERS).is_some());
    Bindings {
        buffers: buffers.map(|(&k, v)| (k, v.clone())).collect(),
        images: images.collect(),
        samplers: samplers.map(|(&k, &v)| (k, v)).collect(),
        layout: Layout::of(s),
        push: m.push.clone(),
        ..Bindings::default()
    }
}

impl Executor for Model {
    type Program = Compiled;

    fn execute(
        &mut self,
        p: &Compiled,
        s: &Shader,
        memory: &mut Memory,
        groups: [u32; 3],
    ) -> Result<(), Failure> {
        if divides_quads(s, false) {
            return Err(Failure::Unsupported(QUADS.to_owned()));
        }
        let mut bindings = bindings(s, memory);
        self.0.run(&p.program, &mut bindings, groups).map_err(|e| match e {
            Error::Texels(_) => Failure::Unsupported(e.to_string()),
            e => Failure::Wrong(e.to_string()),
        })?;
        memory.buffers.extend(bindings.buffers);
        memory.images.extend(bindings.images.into_iter().map(|(slot, p)| (slot, p.data)));
        Ok(())
    }
}

/// Options that tests share: the compiler checks what it does.
pub fn options() -> Options<'static> {
    Options {
        check: true,
        pushed_words: PUSHED_WORDS,
        pushes_addresses: true,
        ..Options::default()
    }
}
