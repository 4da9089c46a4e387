//! Tells a recording what the registers of its program hold.

use tepui_agx_compiler::values::{Holds, Names};
use tepui_agx_isa::{File, Inst, Role};
use tepui_debug::{Name, Recording, RegisterName};

/// Names the registers and uniform registers of a recording of a program.
pub fn tell(recording: &mut Recording, names: &Names, code: &[u8]) {
    if names.names.is_empty() {
        return;
    }
    let named = |h: &Holds| RegisterName {
        half: h.unit,
        halves: h.units,
        name: Some(h.name),
        unmasked: false,
    };
    for i in &mut recording.program {
        // An unnamed result ends the name that the register had before.
        i.writes = written(code.get(i.offset as usize..).unwrap_or_default());
        let first = names.registers.partition_point(|h| h.offset < i.offset);
        for h in names.registers[first..].iter().take_while(|h| h.offset == i.offset) {
            if h.written { &mut i.writes } else { &mut i.enters }.push(named(h));
        }
    }
    for u in &mut recording.uniforms {
        let holds = |h: &&Holds| {
            (usize::from(h.unit)..usize::from(h.unit) + usize::from(h.units)).contains(&u.half)
        };
        u.name = names.uniforms.iter().find(holds).map(|h| h.name);
    }
    let name = |n: &tepui_agx_compiler::values::Name| {
        let (ir, variable) = (n.ir.clone(), n.variable.clone());
        Name { ir, variable }
    };
    recording.set_names(names.names.iter().map(name).collect());
}

/// The half-registers that the first instruction of machine code writes.
fn written(code: &[u8]) -> Vec<RegisterName> {
    let Ok((inst, _)) = Inst::decode(code) else { return Vec::new() };
    let operands = inst.operands();
    let written = operands.iter().filter(|o| o.file == File::Reg && o.role != Role::Read);
    let name = |half, halves| RegisterName { half, halves, name: None, unmasked: false };
    written.map(|o| name(o.start, o.count as u8)).collect()
}
