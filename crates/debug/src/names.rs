//! What registers hold: values of the compiler's IR and the variables of the source that they are.

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

/// Half-registers and what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Named {
    /// The first half-register.
    pub half: u16,
    /// How many.
    pub halves: u8,
    /// What they hold, an index of [`Recording::names`](crate::Recording::names); nothing that has a name without it.
    pub name: Option<u32>,
}

/// Which part of a value a half-register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first half-register of the value.
    pub first: bool,
    /// Half-registers of the whole value.
    pub halves: u8,
}

/// What a half-register holds from a step on, in some lanes.
#[derive(Clone, Copy, Debug)]
struct Version {
    step: u32,
    lanes: u32,
    name: Option<u32>,
    part: Part,
}

/// What each half-register held when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    versions: Vec<Vec<Version>>,
}

/// Half-registers that a program may have: what names others is not noted.
const MAX_HALVES: usize = 1024;

impl Names {
    /// From a step on, lanes hold this.
    pub(crate) fn set(&mut self, named: &[Named], step: u32, lanes: u32) {
        for n in named {
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
                // Where nothing had a name, there is none to take away.
                if known || versions.is_empty() && n.name.is_none() {
                    continue;
                }
                versions.push(Version { step, lanes, name: n.name, part });
            }
        }
    }

    /// What a lane holds before a step, and since which step.
    pub(crate) fn at(&self, half: usize, lane: usize, step: usize) -> Option<(u32, Part, u32)> {
        let versions = self.versions.get(half)?;
        let behind = versions.partition_point(|v| v.step as usize <= step);
        let own = versions[..behind].iter().rev().find(|v| v.lanes >> (lane & 31) & 1 != 0)?;
        Some((own.name?, own.part, own.step))
    }
}
