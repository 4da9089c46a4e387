//! Instructions in the syntax of Intel's own disassembler, `iga64`, without its comments.

use std::fmt::Write;

use tepui_intel_isa::inst::PREDICATES;
use tepui_intel_isa::types::Type;
use tepui_intel_isa::{
    Arf, Condition, Desc, Dst, Form, Generation, Inst, Location, MathFunction, Opcode, Region,
    Register, Sfid, Src, Swsb, SyncFunction, Token,
};

/// The text of an instruction at a byte of a program, its parts separated by single spaces.
pub fn text(inst: &Inst, offset: usize) -> String {
    let mut parts = Vec::new();
    parts.extend(predicate(inst));
    parts.push(mnemonic(inst));
    if !matches!(inst.opcode, Opcode::Nop | Opcode::Wait | Opcode::Sync) {
        parts.push(format!("({}|M{})", inst.exec_size, inst.channel_offset));
    }
    let mut modifiers = String::new();
    let flag = format!("f{}.{}", inst.flag.register, inst.flag.half);
    // Of `math` the bits are the function.
    if inst.opcode != Opcode::Math {
        let name = condition(inst.condition);
        if !name.is_empty() {
            let _ = write!(modifiers, "({name}){flag}");
        }
    }
    if !modifiers.is_empty() {
        parts.push(modifiers);
    }
    let saturate = if inst.saturate { "(sat)" } else { "" };
    let target = |jump: i32| format!("L{}", offset as i64 + i64::from(jump));
    match inst.form() {
        Form::None => {}
        Form::Regular { .. } if inst.opcode == Opcode::Sync => {
            parts.push(match inst.src[0].location {
                Location::Immediate(mask) => {
                    let tokens = (0..32).filter(|id| mask >> id & 1 != 0);
                    let all: Vec<_> = tokens.map(|id| format!("${id}")).collect();
                    format!("({})", all.join(","))
                }
                _ => "null".to_owned(),
            });
        }
        Form::Regular { dst: has_dst, sources } => {
            if has_dst {
                parts.push(saturate.to_owned() + &dst(&inst.dst));
            }
            let sources = &inst.src[..usize::from(sources)];
            // Of functions of one operand the second one is null, and left out.
            let absent = |s: &&Src| inst.opcode == Opcode::Math && s.location == Location::NULL;
            let sources = sources.iter().filter(|s| !absent(s));
            parts.extend(sources.map(|s| src(s, inst.opcode.is_logic())));
        }
        Form::Ternary => {
            parts.push(saturate.to_owned() + &dst(&inst.dst));
            let row = if inst.generation == Generation::Gen9 { "<2;1>" } else { "<8;1>" };
            parts.extend((0..3).map(|n| ternary(&inst.src[n], n == 2, row)));
        }
        Form::Jip => parts.push(target(inst.jip)),
        Form::JipUip => parts.extend([target(inst.jip), target(inst.uip)]),
        // It counts from the next instruction.
        Form::Jump => parts.push(match inst.src[0].immediate_bits() {
            Some(bits) => target(bits as u32 as i32 + inst.bytes() as i32),
            None => src(&inst.src[0], false),
        }),
        Form::Call => parts.extend([dst(&inst.dst), target(inst.jip)]),
        Form::Wait => {
            let register = location(inst.dst.location, inst.dst.ty);
            parts.push(format!("{register}<0;1,0>{}", ty(inst.dst.ty)));
        }
        Form::Send | Form::SplitSend => messages(inst, &mut parts),
    }
    parts.extend(options(inst));
    parts.join(" ")
}

/// Normalises a line that iga64 printed: without comments, numbers as bits.
pub fn normalized(line: &str) -> String {
    let line = line.split("//").next().unwrap_or(line);
    line.split_whitespace().map(number).collect::<Vec<_>>().join(" ")
}

/// An immediate as the bits of its type; anything else as it is.
fn number(word: &str) -> String {
    let Some((value, kind)) = word.rsplit_once(':') else { return word.to_owned() };
    let integer = || match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => value.parse::<i64>().ok().map(|n| n as u64),
    };
    let bits = match kind {
        "f" => {
            integer_of_hex(value).or_else(|| value.parse::<f32>().ok().map(|f| f.to_bits().into()))
        }
        "df" => integer_of_hex(value).or_else(|| value.parse::<f64>().ok().map(f64::to_bits)),
        "hf" => integer_of_hex(value)
            .or_else(|| value.parse::<f64>().ok().map(|f| half::f16::from_f64(f).to_bits().into())),
        "ud" | "d" | "v" | "uv" | "vf" => integer().map(|n| n & 0xffff_ffff),
        "uw" | "w" => integer().map(|n| n & 0xffff),
        "ub" | "b" => integer().map(|n| n & 0xff),
        "uq" | "q" => integer(),
        _ => None,
    };
    bits.map_or_else(|| word.to_owned(), |bits| format!("0x{bits:x}:{kind}"))
}

fn integer_of_hex(value: &str) -> Option<u64> {
    u64::from_str_radix(value.strip_prefix("0x")?, 16).ok()
}

fn predicate(inst: &Inst) -> Option<String> {
    let mut all = Vec::new();
    if inst.no_mask {
        all.push("W".to_owned());
    }
    if inst.predicate.control != 0 {
        let sign = if inst.predicate.inverse { "~" } else { "" };
        let name = PREDICATES.get(usize::from(inst.predicate.control)).unwrap_or(&"");
        all.push(format!("{sign}f{}.{}{name}", inst.flag.register, inst.flag.half));
    }
    (!all.is_empty()).then(|| format!("({})", all.join("&")))
}

fn mnemonic(inst: &Inst) -> String {
    let name = match inst.opcode {
        Opcode::Break => "break",
        Opcode::Cont => "cont",
        opcode => opcode.mnemonic(),
    };
    match inst.opcode {
        Opcode::Math => {
            let function = MathFunction::from_code(inst.function).map_or("?", MathFunction::name);
            let function = match function {
                "rsq" => "rsqt",
                "sqrt" => "sqt",
                "pow" => "pow",
                "intdiv" => "iqot",
                "intmod" => "irem",
                "intdivmod" => "idiv",
                other => other,
            };
            format!("{name}.{function}")
        }
        Opcode::Sync => {
            let function = SyncFunction::from_code(inst.function).map_or("?", SyncFunction::name);
            format!("{name}.{function}")
        }
        Opcode::Send | Opcode::Sendc if inst.generation == Generation::Gen12 => {
            format!("{name}.{}", unit(inst.send.sfid))
        }
        // BranchCtrl.
        opcode if opcode.has_branch_control() && inst.acc_write => format!("{name}.b"),
        _ => name.to_owned(),
    }
}

fn condition(condition: Condition) -> &'static str {
    match condition {
        Condition::None => "",
        Condition::Zero => "eq",
        Condition::NotZero => "ne",
        Condition::Greater => "gt",
        Condition::GreaterEqual => "ge",
        Condition::Less => "lt",
        Condition::LessEqual => "le",
        Condition::Round => "r",
        Condition::Overflow => "ov",
        Condition::Unordered => "un",
    }
}

fn ty(ty: Type) -> String {
    format!(":{}", ty.letters().to_lowercase())
}

fn register(register: Register) -> String {
    match register {
        Register::General(n) => format!("r{n}"),
        Register::Architecture(Arf::Null, _) => "null".to_owned(),
        other => other.to_string(),
    }
}

fn location(location: Location, ty: Type) -> String {
    match location {
        Location::Direct { register: named @ Register::Architecture(Arf::Null, _), .. } => {
            register(named)
        }
        Location::Direct { register: Register::Architecture(Arf::Mask, _), .. } => "ce".to_owned(),
        Location::Direct { register: named, byte } => {
            format!("{}.{}", register(named), usize::from(byte) / ty.bytes())
        }
        Location::Indirect { address, offset } => match offset {
            0 => format!("r[a0.{address}]"),
            _ => format!("r[a0.{address},{offset}]"),
        },
        Location::Immediate(_) => String::new(),
    }
}

fn dst(dst: &Dst) -> String {
    format!("{}<{}>{}", location(dst.location, dst.ty), dst.stride, ty(dst.ty))
}

fn modifiers(src: &Src, logic: bool) -> String {
    let sign = match (src.negate, logic) {
        (true, true) => "~",
        (true, false) => "-",
        _ => "",
    };
    format!("{sign}{}", if src.abs { "(abs)" } else { "" })
}

fn immediate(bits: u64, of: Type) -> String {
    let bits = match of.bytes() {
        _ if matches!(of, Type::V | Type::UV | Type::VF) => bits & 0xffff_ffff,
        8 => bits,
        4 => bits & 0xffff_ffff,
        2 => bits & 0xffff,
        _ => bits & 0xff,
    };
    format!("0x{bits:x}{}", ty(of))
}

fn src(src: &Src, logic: bool) -> String {
    if let Location::Immediate(bits) = src.location {
        return immediate(bits, src.ty);
    }
    let region = match (src.region, src.location) {
        (
            Region::Rows { width, horizontal, .. } | Region::PerRow { width, horizontal },
            Location::Indirect { .. },
        ) if matches!(src.region, Region::PerRow { .. }) => {
            format!("<{width},{horizontal}>")
        }
        (Region::Rows { vertical, width, horizontal }, _) => {
            format!("<{vertical};{width},{horizontal}>")
        }
        (Region::PerRow { width, horizontal }, _) => format!("<{width},{horizontal}>"),
        (Region::Swizzle { vertical, swizzle }, _) => format!("<{vertical}>.{swizzle:#x}"),
    };
    format!("{}{}{region}{}", modifiers(src, logic), location(src.location, src.ty), ty(src.ty))
}

/// A source of three: an element for each channel, or one for all.
fn ternary(src: &Src, last: bool, row: &str) -> String {
    if let Location::Immediate(bits) = src.location {
        return immediate(bits, src.ty);
    }
    let region = match (src.region, last) {
        (Region::SCALAR, true) => "<0>".to_owned(),
        (Region::SCALAR, false) => "<0;0>".to_owned(),
        (Region::Rows { horizontal, .. }, true) => format!("<{horizontal}>"),
        (_, true) => "<1>".to_owned(),
        (_, false) => row.to_owned(),
    };
    format!("{}{}{region}{}", modifiers(src, false), location(src.location, src.ty), ty(src.ty))
}

fn messages(inst: &Inst, parts: &mut Vec<String>) {
    let split = inst.form() == Form::SplitSend;
    let in_name = inst.generation == Generation::Gen12;
    let whole = |location: Location| match location {
        Location::Direct { register: named, .. } => register(named),
        _ => "?".to_owned(),
    };
    let kind = match split {
        _ if in_name => String::new(),
        true => ty(Type::UD),
        false if inst.dst.ty == Type::UD => String::new(),
        false => ty(inst.dst.ty),
    };
    parts.push(whole(inst.dst.location) + &kind);
    parts.push(whole(inst.src[0].location));
    if split {
        parts.push(whole(inst.src[1].location));
    }
    // The extended descriptor has the unit in bits 3:0 and the end of the thread in bit 5.
    let unit = match in_name {
        true => 0,
        false => inst.send.sfid as u32 | u32::from(inst.send.end_of_thread) << 5,
    };
    let bits = |desc, more| match desc {
        Desc::Immediate(bits) => format!("0x{:X}", bits | more),
        Desc::Address(dword) => format!("a0.{dword}"),
    };
    parts.push(bits(if split { inst.send.ex_desc } else { Desc::Immediate(0) }, unit));
    parts.push(match inst.send.desc {
        Desc::Immediate(bits) => format!("0x{bits:08X}"),
        Desc::Address(dword) => format!("a0.{dword}"),
    });
}

fn options(inst: &Inst) -> Option<String> {
    let end = inst.opcode.is_send() && inst.send.end_of_thread;
    let accumulates = inst.acc_write && !inst.opcode.has_branch_control();
    let all = [
        (accumulates, "AccWrEn"),
        (inst.thread_control == 1, "Atomic"),
        (inst.compacted, "Compacted"),
        (end, "EOT"),
        (inst.no_dd_check, "NoDDChk"),
        (inst.no_dd_clear, "NoDDClr"),
        (inst.thread_control == 2, "Switch"),
    ];
    let mut chosen: Vec<String> =
        all.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()).collect();
    let Swsb { distance, token } = inst.swsb;
    if distance > 0 {
        chosen.push(format!("@{distance}"));
    }
    chosen.extend(token.map(|(id, kind)| match kind {
        Token::Set => format!("${id}"),
        Token::Dst => format!("${id}.dst"),
        Token::Src => format!("${id}.src"),
    }));
    (!chosen.is_empty()).then(|| format!("{{{}}}", chosen.join(",")))
}

/// A shared function in the names of Gen12's messages.
fn unit(sfid: Sfid) -> &'static str {
    match sfid {
        Sfid::Sampler => "smpl",
        Sfid::Gateway => "gtwy",
        Sfid::DataCache0 => "dc0",
        Sfid::DataCache1 => "dc1",
        Sfid::RenderCache => "rc",
        Sfid::Urb => "urb",
        Sfid::ThreadSpawner => "ts",
        _ => "?",
    }
}
