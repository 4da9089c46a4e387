//! A test case: shaders, a function that runs them on a device, and outputs with the rules that judge them.

use serde::{Deserialize, Serialize};

use crate::gpu::{Gpu, Result, Robustness};
use crate::number::{Elem, Number};

/// A GLSL compute shader with the macros that it is compiled with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shader {
    /// File name in `shaders/`.
    pub file: &'static str,
    /// Macros, in order.
    pub defines: Vec<(String, String)>,
}

impl Shader {
    /// A shader without macros.
    pub fn new(file: &'static str) -> Shader {
        Shader { file, defines: Vec::new() }
    }

    /// Adds a macro.
    pub fn define(mut self, name: &str, value: impl ToString) -> Shader {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A running case.
pub struct Bench<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// The case's compiled shaders, in the order of [`Case::shaders`].
    pub spirv: &'a [Vec<u32>],
}

/// The function of a case that runs on a device.
pub type Run = Box<dyn Fn(&Bench) -> Result<Vec<Output>> + Send + Sync>;

/// A test that runs on each driver.
pub struct Case {
    /// `group/name`; cases of a group share a process.
    pub name: String,
    /// A short description.
    pub about: String,
    /// Its shaders.
    pub shaders: Vec<Shader>,
    /// Whether the device is opened with robust access.
    pub robustness: Robustness,
    /// Whether the reference driver supports the case; if not, only the CPU judges it.
    pub on_lavapipe: bool,
    /// Whether Honeykrisp supports the case, with deterministic results.
    pub on_honeykrisp: bool,
    /// The function that runs it.
    pub run: Run,
}

impl Case {
    /// A case without robust access.
    pub fn new(
        name: impl Into<String>,
        about: impl Into<String>,
        shaders: Vec<Shader>,
        run: impl Fn(&Bench) -> Result<Vec<Output>> + Send + Sync + 'static,
    ) -> Case {
        Case {
            name: name.into(),
            about: about.into(),
            shaders,
            robustness: Robustness::Off,
            on_lavapipe: true,
            on_honeykrisp: true,
            run: Box::new(run),
        }
    }

    /// The case on a device with robust access.
    pub fn robust(mut self) -> Case {
        self.robustness = Robustness::On;
        self
    }

    /// Excludes lavapipe, which lacks a feature of the case.
    pub fn without_lavapipe(mut self) -> Case {
        self.on_lavapipe = false;
        self
    }

    /// Excludes Honeykrisp, which lacks an extension of the case, or is not deterministic.
    pub fn without_honeykrisp(mut self) -> Case {
        self.on_honeykrisp = false;
        self
    }

    /// The part of the name before the slash.
    pub fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or(&self.name)
    }
}

/// The allowed distance of two elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rule {
    /// Equal bits (any NaN equals any NaN).
    Bits,
    /// At most this many units in the last place of the expected value.
    Ulp(f64),
    /// At most this far.
    Abs(f64),
    /// At most this absolute distance for each element; the text says where the limits come from.
    Each(String, Vec<f64>),
    /// An image: `permille` of the elements may differ by more than `abs`.
    Mostly {
        /// Allowed difference.
        abs: f64,
        /// Allowed share of elements beyond it, in thousandths.
        permille: f64,
    },
}

/// The reference of an output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Check {
    /// The other driver's output.
    Peer(Rule),
    /// A calculation on the CPU, which both drivers must meet.
    Cpu {
        /// Accepted answers, each a whole buffer; an element must meet one of them.
        accepted: Vec<Vec<u8>>,
        /// Elements that the specification defines; `None` if it defines all.
        defined: Option<Vec<bool>>,
        /// The allowed distance.
        rule: Rule,
    },
}

/// Input values that belong to an output's elements, for messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    /// The input's name.
    pub name: String,
    /// Its type.
    pub elem: Elem,
    /// Its values; element i of the output came from element i / `repeat` of these.
    pub data: Vec<u8>,
    /// Output elements for each input element.
    pub repeat: usize,
}

/// A buffer that a case produced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    /// Its name within the case.
    pub name: String,
    /// Its elements' type.
    pub elem: Elem,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Its reference.
    pub check: Check,
    /// Inputs, for messages.
    pub columns: Vec<Column>,
    /// Width and height in pixels, if the bytes are an RGBA picture.
    pub picture: Option<[u32; 2]>,
}

impl Output {
    /// An output that the other driver's must equal under `rule`.
    pub fn peer<T: Number>(name: &str, data: &[T], rule: Rule) -> Output {
        Output {
            name: name.to_owned(),
            elem: T::ELEM,
            data: T::to_bytes(data),
            check: Check::Peer(rule),
            columns: Vec::new(),
            picture: None,
        }
    }

    /// An output that must equal `expected` under `rule`.
    pub fn cpu<T: Number>(name: &str, data: &[T], expected: &[T], rule: Rule) -> Output {
        assert_eq!(data.len(), expected.len(), "{name}: the expectation has another length");
        Output {
            name: name.to_owned(),
            elem: T::ELEM,
            data: T::to_bytes(data),
            check: Check::Cpu { accepted: vec![T::to_bytes(expected)], defined: None, rule },
            columns: Vec::new(),
            picture: None,
        }
    }

    /// Marks the bytes as an RGBA picture, which is also written as PNG.
    pub fn picture(mut self, size_px: [u32; 2]) -> Output {
        self.picture = Some(size_px);
        self
    }

    /// Adds another accepted answer.
    pub fn or<T: Number>(mut self, other: &[T]) -> Output {
        if let Check::Cpu { accepted, .. } = &mut self.check {
            accepted.push(T::to_bytes(other));
        }
        self
    }

    /// Sets the elements that the specification defines.
    pub fn defined(mut self, which: Vec<bool>) -> Output {
        if let Check::Cpu { defined, .. } = &mut self.check {
            *defined = Some(which);
        }
        self
    }

    /// Adds the input values of the elements, for messages.
    pub fn column<T: Number>(mut self, name: &str, values: &[T]) -> Output {
        let data = T::to_bytes(values);
        let count = data.len() / T::ELEM.size_bytes();
        let repeat = (self.data.len() / self.elem.size_bytes()).div_ceil(count.max(1)).max(1);
        self.columns.push(Column { name: name.to_owned(), elem: T::ELEM, data, repeat });
        self
    }
}

/// The outputs of a case on one driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The device's name.
    pub device: String,
    /// Invocations in a sub-group.
    pub subgroup_size: u32,
    /// The outputs, or the reason why there are none.
    pub outputs: Result<Vec<Output>, String>,
}
