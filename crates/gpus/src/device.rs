//! Virtual devices: a GPU's model with its kernel interface.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tepui_agx_kernel as agx;
use tepui_capture::Sink;
use tepui_drm::device::{Call, CallObserver, VirtualDevice};
use tepui_drm::uapi::{IoctlInfo, Request};
use tepui_intel_kernel as intel;
use tepui_mali_kernel as mali;

use crate::counts::Counting;
use crate::{Feature, Gpu, Unsupported};

/// The seed of relaxed execution, a number.
pub const RELAXED_VARIABLE: &str = "TEPUI_RELAXED";

/// The seed that [`RELAXED_VARIABLE`] names. Text that is no number is said on standard error.
#[must_use]
pub fn relaxed_of_environment() -> Option<u64> {
    let text = std::env::var(RELAXED_VARIABLE).ok().filter(|text| !text.is_empty())?;
    let complain = |_: &_| {
        eprintln!("tepui: {RELAXED_VARIABLE}={text}: not a number; executing in the usual order");
    };
    text.parse().inspect_err(complain).ok()
}

/// Options of a virtual device.
#[derive(Clone, Default)]
pub struct DeviceOptions {
    /// Worker threads of the model; 0 takes one for each core of the host.
    pub threads: usize,
    /// The model reports errors that silicon would hide: reads of memory and registers that were never
    /// written, uses of loads that were not waited for.
    pub check: bool,
    /// The seed of relaxed execution: in another order that the hardware may take.
    pub relaxed: Option<u64>,
    /// Each refused request is reported on standard error, with the reason.
    pub report_refusals: bool,
    /// The buffer object with this number, counted from 1, cannot be made.
    pub failing_allocation: Option<u64>,
    /// A fault ends the process (SIGABRT).
    pub abort_on_fault: bool,
    /// A file to which the name of each row of the GPU's instruction table is appended, a line
    /// each, when the first program that has it is decoded.
    pub coverage: Option<PathBuf>,
    /// A file to which the counts of each command are appended ([`crate::counts`]).
    pub counts: Option<PathBuf>,
    /// A file to which the checker's findings are appended, unless [`tepui_check::FILE_VARIABLE`] names one.
    pub findings: Option<PathBuf>,
    /// Clients are other processes, which map the buffers.
    pub shareable: bool,
    /// Destination of a capture, unless [`tepui_capture::CAPTURE_VARIABLE`] names one.
    pub capture: Option<PathBuf>,
    /// Observes the requests, unless a capture is written.
    pub observer: Option<Arc<dyn CallObserver>>,
}

impl DeviceOptions {
    /// The destination of a capture.
    fn sink(&self) -> Option<Sink> {
        let own = || Some(Sink::to(self.capture.clone()?.into_os_string()));
        Sink::from_environment().or_else(own)
    }

    /// The file that `tepui check` has named for findings. One that cannot be written is said on standard error.
    fn findings(&self) -> Option<Arc<tepui_check::Log>> {
        let named = std::env::var_os(tepui_check::FILE_VARIABLE).filter(|v| !v.is_empty());
        let path = named.map(PathBuf::from).or_else(|| self.findings.clone())?;
        let complain = |e: &std::io::Error| eprintln!("tepui: {}: {e}", path.display());
        tepui_check::Log::append_to(&path).inspect_err(complain).ok().map(Arc::new)
    }

    /// An observer that writes counts, where they are wanted, and passes everything on to another. A file that cannot be written
    /// is said on standard error.
    fn counting<O: ?Sized>(&self, inner: Option<&Arc<O>>) -> Option<Counting<O>> {
        let file = self.counts.as_deref()?;
        Counting::new(file, inner.cloned())
            .inspect_err(|e| eprintln!("tepui: {}: {e}", file.display()))
            .ok()
    }
}

/// Hands requests to an observer that does not look at what the GPU executes.
struct Requests(Arc<dyn CallObserver>);

impl CallObserver for Requests {
    fn opened(&self, file: u64) {
        self.0.opened(file);
    }

    fn entered(&self, call: &Call<'_>) {
        self.0.entered(call);
    }

    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        self.0.answered(call, after, result);
    }

    fn closed(&self, file: u64) {
        self.0.closed(file);
    }
}

impl agx::Observer for Requests {}

impl intel::Observer for Requests {}

impl mali::Observer for Requests {}

/// A virtual device of a GPU, fresh from reset. Where the environment (`TEPUI_CAPTURE`) or the options
/// ask for a capture, a recorder watches it.
///
/// # Errors
/// There is no model of the GPU.
pub fn device(gpu: Gpu, options: &DeviceOptions) -> Result<Arc<dyn VirtualDevice>, Unsupported> {
    match gpu.require(Feature::Model)? {
        Gpu::Agx(chip) => Ok(agx_device(chip, options)),
        Gpu::Intel(chip) => Ok(intel_device(chip, options)),
        Gpu::Mali(chip) => Ok(mali_device(chip, options)),
    }
}

fn mali_device(
    chip: &'static crate::mali::Chip,
    options: &DeviceOptions,
) -> Arc<dyn VirtualDevice> {
    let requests = || options.observer.clone().map(|o| Arc::new(Requests(o)) as _);
    let has_streams = chip.arch.0 >= 10;
    let recorder =
        options.sink().map(|sink| Arc::new(tepui_mali_capture::Recorder::new(sink, chip)) as _);
    let observer: Option<Arc<dyn mali::Observer>> = recorder.or_else(requests);
    let counting = options.counting(observer.as_ref()).map(|c| Arc::new(c) as _);
    let findings = options.findings();
    let options = mali::Options {
        model: tepui_mali_model::Options {
            threads: options.threads,
            clock: tepui_drm::monotonic_ns,
            check: options.check || findings.is_some(),
            relaxed: options.relaxed,
            ..Default::default()
        },
        observer: counting.or(observer),
        findings,
        report_faults: true,
        abort_on_fault: options.abort_on_fault,
        report_refusals: options.report_refusals,
        shareable: options.shareable,
        failing_allocation: options.failing_allocation,
    };
    // Command streams came with v10; before, there was a job manager.
    match has_streams {
        true => mali::Device::new(chip, options),
        false => mali::panfrost::Device::new(chip, options),
    }
}

fn intel_device(
    chip: &'static crate::intel::Chip,
    options: &DeviceOptions,
) -> Arc<dyn VirtualDevice> {
    let requests = || options.observer.clone().map(|o| Arc::new(Requests(o)) as _);
    let recorder =
        options.sink().map(|sink| Arc::new(tepui_intel_capture::Recorder::new(sink, chip)) as _);
    let observer: Option<Arc<dyn intel::Observer>> = recorder.or_else(requests);
    let counting = options.counting(observer.as_ref()).map(|c| Arc::new(c) as _);
    let findings = options.findings();
    let options = intel::Options {
        model: tepui_intel_model::Options {
            threads: options.threads,
            clock: tepui_drm::monotonic_ns,
            check: options.check || findings.is_some(),
            relaxed: options.relaxed,
            ..Default::default()
        },
        observer: counting.or(observer),
        findings,
        report_faults: true,
        abort_on_fault: options.abort_on_fault,
        report_refusals: options.report_refusals,
        failing_allocation: options.failing_allocation,
        shareable: options.shareable,
    };
    intel::Device::new(chip, options)
}

fn agx_device(chip: &'static crate::agx::Chip, options: &DeviceOptions) -> Arc<dyn VirtualDevice> {
    let requests = || options.observer.clone().map(|o| Arc::new(Requests(o)) as _);
    let recorder =
        options.sink().map(|sink| Arc::new(tepui_agx_capture::recorder(sink, chip)) as _);
    let observer: Option<Arc<dyn agx::Observer>> = recorder.or_else(requests);
    let counting = options.counting(observer.as_ref()).map(|c| Arc::new(c) as _);
    let findings = options.findings();
    let audit = findings.is_some();
    let options = agx::Options {
        model: tepui_agx_model::Options {
            threads: options.threads,
            check: options.check || audit,
            audit,
            relaxed: options.relaxed,
            coverage: options.coverage.as_deref().and_then(agx_coverage),
            ..Default::default()
        },
        observer: counting.or(observer),
        findings,
        report_faults: true,
        abort_on_fault: options.abort_on_fault,
        report_refusals: options.report_refusals,
        failing_allocation: options.failing_allocation,
        shareable: options.shareable,
    };
    agx::Device::new(chip, options)
}

/// Appends the rows' names to a file. One that cannot be written is said on standard error, and
/// nothing is collected.
fn agx_coverage(file: &Path) -> Option<tepui_agx_model::Coverage> {
    let complain = |e: &std::io::Error| eprintln!("tepui: {}: {e}", file.display());
    let log = OpenOptions::new().create(true).append(true).open(file);
    let log = log.inspect_err(complain).ok()?;
    Some(tepui_agx_model::Coverage::new(move |row| {
        // One write a line: several processes may append to the file.
        let _ = (&log).write_all(format!("{}\n", row.name).as_bytes());
    }))
}

/// Observer of the machine's own render nodes, if the environment asks for a capture. For drivers
/// without a decoder, it understands only the requests that all drivers share.
pub fn real_recorder() -> Option<Arc<dyn CallObserver>> {
    let sink = tepui_capture::Sink::from_environment()?;
    let choose = |driver: &str| match driver {
        "asahi" => Some(tepui_agx_capture::requests()),
        "i915" => Some(tepui_intel_capture::requests()),
        _ => None,
    };
    Some(Arc::new(tepui_capture::real::RealRecorder::new(sink, Box::new(choose))))
}

/// Description of a request of any family's kernel driver.
pub fn request_info(request: Request) -> Option<&'static IoctlInfo> {
    agx::File::info(request)
}
