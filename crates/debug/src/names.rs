//! Names of register contents: values of the compiler's IR, and the source variables that they are.

/// A value.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Name {
    /// The compiler's name, such as `%12` or `%12.y`; empty if only the variable is known.
    pub ir: String,
    /// The variable of the source, such as `count` or `normal.x`; empty if it has none.
    pub variable: String,
}

impl Name {
    /// Whether it is called so, by either name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        !name.is_empty() && (self.ir == name || self.variable == name)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.variable[..], &self.ir[..]) {
            ("", ir) => f.write_str(ir),
            (variable, "") => f.write_str(variable),
            (variable, ir) => write!(f, "{variable} ({ir})"),
        }
    }
}

/// A range of half-registers (of shared registers, see [`RegisterFile`](crate::RegisterFile), of 16 bytes) and the name of its
/// contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RegisterName {
    /// The first half-register.
    pub half: u16,
    /// Number of half-registers.
    pub halves: u8,
    /// Their contents, an index of [`Recording::names`](crate::Recording::names); `None` ends the
    /// previous name.
    pub name: Option<u32>,
    /// They are written whatever lanes execute.
    #[serde(default)]
    pub unmasked: bool,
}

/// The part of a value that a half-register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first half-register of the value.
    pub first: bool,
    /// Half-registers of the whole value.
    pub halves: u8,
}

/// The contents of a half-register from a step on, in some lanes.
#[derive(Clone, Copy, Debug)]
struct Version {
    step: u32,
    lanes: u32,
    name: Option<u32>,
    part: Part,
}

/// History of the contents of each half-register.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    versions: Vec<Vec<Version>>,
}

/// Maximum number of half-registers of a program; names of others are ignored.
const MAX_HALVES: usize = 1024;

impl Names {
    /// Sets the contents of half-registers from a step on, in `lanes`.
    pub(crate) fn set(&mut self, named: &[RegisterName], step: u32, lanes: u32) {
        for n in named {
            let lanes = if n.unmasked { u32::MAX } else { lanes };
            let first = usize::from(n.half);
            let end = first + usize::from(n.halves);
            if end > MAX_HALVES {
                continue;
            }
            if self.versions.len() < end {
                self.versions.resize(end, Vec::new());
            }
            for (k, versions) in self.versions[first..end].iter_mut().enumerate() {
                let part = Part { first: k == 0, halves: n.halves };
                let known = versions
                    .last()
                    .is_some_and(|v| (v.name, v.part) == (n.name, part) && lanes & !v.lanes == 0);
                // Without an earlier name there is nothing to end.
                if known || versions.is_empty() && n.name.is_none() {
                    continue;
                }
                versions.push(Version { step, lanes, name: n.name, part });
            }
        }
    }

    /// Contents of a half-register in a lane before a step: name, part, and the step that wrote it.
    pub(crate) fn at(&self, half: usize, lane: usize, step: usize) -> Option<(u32, Part, u32)> {
        let versions = self.versions.get(half)?;
        let behind = versions.partition_point(|v| v.step as usize <= step);
        let own = versions[..behind].iter().rev().find(|v| v.lanes >> (lane & 31) & 1 != 0)?;
        Some((own.name?, own.part, own.step))
    }
}
