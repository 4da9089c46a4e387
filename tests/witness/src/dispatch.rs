//! Compute shaders with given memory on a driver: what they leave in their buffers.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::gpu::{Bind, Buffer, Gpu, Result, Robustness};

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

/// What a dispatch left: the bytes of each element of each binding, or the driver's complaint.
pub type Done = Result<Vec<Vec<Vec<u8>>>, String>;

fn one(gpu: &Gpu, job: &Job) -> Result<Vec<Vec<Vec<u8>>>> {
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

/// Runs the jobs of a file one after the other; the answer to job `n` is written to `n.done` in a directory before the next begins.
///
/// # Errors
/// When files or the device cannot be had.
pub fn run(device: &str, jobs: &Path, out: &Path) -> Result<(), String> {
    let bytes = std::fs::read(jobs).map_err(|e| format!("{}: {e}", jobs.display()))?;
    let jobs: Vec<Job> = postcard::from_bytes(&bytes).map_err(|e| e.to_string())?;
    let mut open: Option<Gpu> = None;
    for (n, job) in jobs.iter().enumerate() {
        let path = out.join(format!("{n}.done"));
        if path.exists() {
            continue;
        }
        // Objects live as long as the device: a new one now and then.
        if n % 64 == 0 {
            open = None;
        }
        let gpu = match open.take() {
            Some(gpu) => gpu,
            None => Gpu::open(device, Robustness::On).map_err(|e| e.to_string())?,
        };
        // A job that ends the process is known by what it leaves here.
        let failed: Done = Err("the driver's process ended".to_owned());
        let save = |done: &Done| -> Result<(), String> {
            let bytes = postcard::to_stdvec(done).map_err(|e| e.to_string())?;
            std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
        };
        save(&failed)?;
        let done: Done = one(&gpu, job).map_err(|e| e.to_string());
        save(&done)?;
        if done.is_ok() {
            open = Some(gpu);
        }
    }
    Ok(())
}
