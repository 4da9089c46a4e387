//! Counts of what a virtual GPU executes, and how long it takes, written to a file command by command.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use tepui_agx_kernel as agx;
use tepui_agx_model::JobStats as AgxStats;
use tepui_drm::device::{Call, CallObserver};
use tepui_intel_kernel as intel;
use tepui_intel_model::JobStats as IntelStats;
use tepui_mali_kernel as mali;
use tepui_mali_model::JobStats as MaliStats;

/// Names the file to which the counts of each command are appended.
pub const COUNTS_VARIABLE: &str = "TEPUI_COUNTS";

/// The file that the environment names.
#[must_use]
pub fn file_of_environment() -> Option<PathBuf> {
    std::env::var_os(COUNTS_VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Counts with their names.
pub type Counts = Vec<(&'static str, u64)>;

/// The counts of an AGX command.
#[must_use]
pub fn agx_counts(stats: &AgxStats) -> Counts {
    vec![
        ("launches", stats.launches),
        ("threads", stats.threads),
        ("instructions", stats.instructions),
        ("cycles", stats.cycles()),
    ]
}

/// The counts of an Intel batch.
#[must_use]
pub fn intel_counts(stats: &IntelStats) -> Counts {
    vec![
        ("commands", stats.commands),
        ("dispatches", stats.dispatches),
        ("draws", stats.draws),
        ("threads", stats.threads),
        ("instructions", stats.instructions),
    ]
}

/// The counts of a Mali stream.
#[must_use]
pub fn mali_counts(stats: &MaliStats) -> Counts {
    vec![
        ("commands", stats.commands),
        ("dispatches", stats.dispatches),
        ("draws", stats.draws),
        ("threads", stats.threads),
        ("instructions", stats.instructions),
    ]
}

thread_local! {
    /// Time at which this thread, which executes commands one after the other, began the last one.
    static STARTED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Writes the counts of each command that ends without a fault and the nanoseconds that the model took for it, a line of JSON each,
/// and passes everything on to another observer.
pub struct Counting<O: ?Sized> {
    log: File,
    inner: Option<Arc<O>>,
}

impl<O: ?Sized> Counting<O> {
    /// Appends to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: &Path, inner: Option<Arc<O>>) -> std::io::Result<Counting<O>> {
        Ok(Counting { log: OpenOptions::new().create(true).append(true).open(file)?, inner })
    }

    fn write(&self, mut counts: Counts) {
        // The time of streams that ran together is attributed to the first.
        let took = STARTED.take().map_or(0, |started| started.elapsed().as_nanos() as u64);
        counts.push(("nanoseconds", took));
        let fields: Vec<String> =
            counts.iter().map(|(n, count)| format!("\"{n}\":{count}")).collect();
        let line = format!("{{{}}}\n", fields.join(","));
        // One write a line: several processes may append to the file.
        let _ = (&self.log).write_all(line.as_bytes());
    }
}

impl<O: CallObserver + ?Sized> CallObserver for Counting<O> {
    fn opened(&self, file: u64) {
        self.inner.iter().for_each(|o| o.opened(file));
    }

    fn entered(&self, call: &Call<'_>) {
        self.inner.iter().for_each(|o| o.entered(call));
    }

    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        self.inner.iter().for_each(|o| o.answered(call, after, result));
    }

    fn closed(&self, file: u64) {
        self.inner.iter().for_each(|o| o.closed(file));
    }
}

impl<O: agx::Observer + ?Sized> agx::Observer for Counting<O> {
    fn starting(&self, execution: &agx::Execution<'_>) {
        self.inner.iter().for_each(|o| o.starting(execution));
        STARTED.set(Some(Instant::now()));
    }

    fn finished(
        &self,
        execution: &agx::Execution<'_>,
        result: &Result<AgxStats, tepui_agx_model::JobFault>,
    ) {
        if let Ok(stats) = result {
            self.write(agx_counts(stats));
        }
        self.inner.iter().for_each(|o| o.finished(execution, result));
    }
}

impl<O: intel::Observer + ?Sized> intel::Observer for Counting<O> {
    fn starting(&self, execution: &intel::Execution<'_>) {
        self.inner.iter().for_each(|o| o.starting(execution));
        STARTED.set(Some(Instant::now()));
    }

    fn finished(
        &self,
        execution: &intel::Execution<'_>,
        result: &Result<IntelStats, tepui_intel_model::JobFault>,
    ) {
        if let Ok(stats) = result {
            self.write(intel_counts(stats));
        }
        self.inner.iter().for_each(|o| o.finished(execution, result));
    }
}

impl<O: mali::Observer + ?Sized> mali::Observer for Counting<O> {
    fn starting(&self, execution: &mali::Execution<'_>) {
        self.inner.iter().for_each(|o| o.starting(execution));
        STARTED.set(Some(Instant::now()));
    }

    fn finished(&self, execution: &mali::Execution<'_>, ended: &[tepui_mali_model::Completion]) {
        for stats in ended.iter().filter_map(|completion| completion.outcome.as_ref().ok()) {
            self.write(mali_counts(stats));
        }
        self.inner.iter().for_each(|o| o.finished(execution, ended));
    }
}
