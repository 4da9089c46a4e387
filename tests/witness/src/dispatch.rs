//! Compute shaders with given memory on a driver: what they leave in their buffers.

use serde::{Deserialize, Serialize};

use crate::gpu::{Bind, Buffer, Gpu, Result};

/// What stands at a binding of set 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// A uniform buffer, else a storage buffer.
    pub uniform: bool,
    /// Bytes of each element.
    pub elements: Vec<Vec<u8>>,
}

/// A dispatch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its name, for messages.
    pub name: String,
    /// The module; its entry point is `main`.
    pub spirv: Vec<u32>,
    /// Workgroups in each direction.
    pub groups: [u32; 3],
    /// Push constants.
    pub push: Vec<u8>,
    /// Bindings 0, 1, 2, … of set 0.
    pub bindings: Vec<Binding>,
}

/// The bytes of each element of each binding.
pub type Left = Vec<Vec<Vec<u8>>>;

/// Dispatches; what it left.
///
/// # Errors
/// What the driver complains about.
pub fn one(gpu: &Gpu, job: &Job) -> Result<Left> {
    let buffers: Vec<Vec<Buffer>> = job
        .bindings
        .iter()
        .map(|b| b.elements.iter().map(|bytes| gpu.buffer(bytes)).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    let mut kernel = gpu.kernel(&job.spirv).push_bytes(job.push.len() as u32);
    for (binding, list) in job.bindings.iter().zip(&buffers) {
        let bind = |b| if binding.uniform { Bind::Uniform(b) } else { Bind::Storage(b) };
        kernel = kernel.bind_array(list.iter().map(bind).collect());
    }
    let kernel = kernel.build()?;
    let [x, y, z] = job.groups;
    gpu.submit(|c| {
        if !job.push.is_empty() {
            c.push(&kernel, &job.push);
        }
        c.dispatch(&kernel, [x, y, z]);
    })?;
    Ok(buffers.iter().map(|l| l.iter().map(Buffer::bytes).collect()).collect())
}
