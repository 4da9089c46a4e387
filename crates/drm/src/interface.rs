//! The part of a kernel interface that is the same for all drivers: options of a device, its open files and their numbers,
//! the checks and reports around ioctls, and faults.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tepui_check::{Finding, Log};

use crate::core::{CoreDevice, CoreFile, DriverInfo, Import};
use crate::device::{Call, CallObserver};
use crate::refusal::Refusal;
use crate::threads::Threads;
use crate::uapi::{IoctlInfo, Request};
use crate::user::UserMemory;
use crate::{Errno, lock};

/// Options of a device: `M` are those of its model, `O` observes requests and executions.
pub struct Options<M, O: ?Sized> {
    /// Options of the model.
    pub model: M,
    /// Observer of requests and executions.
    pub observer: Option<Arc<O>>,
    /// Log of the checker's findings; standard error if none.
    pub findings: Option<Arc<Log>>,
    /// Writes a report of each fault to standard error.
    pub report_faults: bool,
    /// Ends the process after the report, for clients that do not notice a lost device.
    pub abort_on_fault: bool,
    /// Writes each refused request, with its reason, to standard error.
    pub report_refusals: bool,
    /// The buffer object with this number, counted from 1, cannot be made: for tests of what drivers do then.
    pub failing_allocation: Option<u64>,
    /// Whether each buffer has a file, so that other processes can map it.
    pub shareable: bool,
}

impl<M: Clone, O: ?Sized> Clone for Options<M, O> {
    fn clone(&self) -> Self {
        Options {
            model: self.model.clone(),
            observer: self.observer.clone(),
            findings: self.findings.clone(),
            ..*self
        }
    }
}

impl<M: Default, O: ?Sized> Default for Options<M, O> {
    fn default() -> Self {
        Options {
            model: M::default(),
            observer: None,
            findings: None,
            report_faults: true,
            abort_on_fault: false,
            report_refusals: false,
            failing_allocation: None,
            shareable: false,
        }
    }
}

impl<M, O: ?Sized> Options<M, O> {
    /// Logs a finding of the checker, or writes its text to standard error where there is no log but reports are wanted.
    pub fn report(&self, finding: impl FnOnce() -> Finding, text: impl FnOnce() -> String) {
        match &self.findings {
            Some(log) => log.add(finding()),
            None if self.report_faults => eprintln!("tepui: check: {}", text()),
            None => {}
        }
    }
}

/// A device's state that all kernel interfaces have. `R` is the record of a fault.
pub struct Interface<M, O: ?Sized, R> {
    /// The DRM core's state.
    pub core: Arc<CoreDevice>,
    /// Options.
    pub options: Options<M, O>,
    files: AtomicU64,
    submissions: AtomicU64,
    /// Buffer objects that were asked for; counted only where one is to fail.
    allocations: AtomicU64,
    faults: Mutex<Vec<R>>,
}

/// The state of an open file that all kernel interfaces have.
pub struct OpenFile {
    /// Number of the open file, from 1 within the device.
    pub id: u64,
    /// GEM handles and sync objects.
    pub core: CoreFile,
    /// Threads of the file's queues, destroyed ones included, which cancel what they have not begun when it is closed.
    ///
    /// They end when this is dropped: make it the last field of a file.
    pub threads: Threads,
}

impl<M, O: CallObserver + ?Sized, R: Clone> Interface<M, O, R> {
    /// Number of faults that are kept: a client that goes on after faults fills no memory with them.
    pub const FAULTS_KEPT: usize = 256;

    /// A device that nobody has opened.
    pub fn new(driver: DriverInfo, options: Options<M, O>) -> Self {
        Interface {
            core: Arc::new(CoreDevice::new(driver)),
            options,
            files: AtomicU64::new(0),
            submissions: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            faults: Mutex::default(),
        }
    }

    /// A new open file, of which the observer is told.
    pub fn open(&self, import: Import) -> OpenFile {
        let id = self.files.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(observer) = &self.options.observer {
            observer.opened(id);
        }
        OpenFile { id, core: CoreFile::new(self.core.clone(), import), threads: Threads::default() }
    }

    /// Begins to close a file: its threads cancel what they have not begun, and the observer is told.
    pub fn close(&self, file: &OpenFile) {
        file.threads.close();
        if let Some(observer) = &self.options.observer {
            observer.closed(file.id);
        }
    }

    /// The number of the next submission, from 1.
    pub fn next_submission(&self) -> u64 {
        self.submissions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// `ENOMEM` if the buffer object that is being made is the one that must fail.
    pub fn may_allocate(&self) -> Result<(), Errno> {
        let Some(number) = self.options.failing_allocation else { return Ok(()) };
        if self.allocations.fetch_add(1, Ordering::Relaxed) + 1 != number {
            return Ok(());
        }
        eprintln!("tepui: allocation {number} fails, as it was asked to");
        Err(Errno::NOMEM)
    }

    /// Keeps a fault, after `text` of it went to standard error where that is wanted.
    pub fn record(&self, fault: R, text: impl FnOnce(&R) -> String) {
        if self.options.report_faults {
            eprint!("{}", text(&fault));
        }
        if self.options.abort_on_fault {
            std::process::abort();
        }
        let mut faults = lock(&self.faults);
        if faults.len() < Self::FAULTS_KEPT {
            faults.push(fault);
        }
    }

    /// The first [`Interface::FAULTS_KEPT`] faults, oldest first.
    pub fn faults(&self) -> Vec<R> {
        lock(&self.faults).clone()
    }

    /// Executes an ioctl of a file by `dispatch`, which updates `arg` in place. `arg` holds as many bytes as the request
    /// word encodes; pointers in it are followed through `user`. `info` names requests.
    ///
    /// # Errors
    /// `ENOTTY` for a request that is not DRM's or whose argument has another size, else those of `dispatch`.
    pub fn answer(
        &self,
        file: &OpenFile,
        info: Option<&'static IoctlInfo>,
        (user, request): (&dyn UserMemory, Request),
        arg: &mut [u8],
        dispatch: impl FnOnce(&mut [u8]) -> Result<(), Refusal>,
    ) -> Result<u32, Errno> {
        let Some(observer) = &self.options.observer else {
            return self.checked(file.id, info, request, arg, dispatch);
        };
        let before = arg.to_vec();
        let call = Call { file: file.id, request, info, before: &before, user, real_node: None };
        observer.entered(&call);
        let result = self.checked(file.id, info, request, arg, dispatch);
        observer.answered(&call, arg, result);
        result
    }

    fn checked(
        &self,
        file: u64,
        info: Option<&'static IoctlInfo>,
        request: Request,
        arg: &mut [u8],
        dispatch: impl FnOnce(&mut [u8]) -> Result<(), Refusal>,
    ) -> Result<u32, Errno> {
        if request.family() != Request::DRM || request.size() != arg.len() {
            return Err(Errno::NOTTY);
        }
        match dispatch(arg) {
            Ok(()) => Ok(0),
            Err(Refusal { errno, why }) => {
                // A wait that reaches its deadline is not a refused request.
                if self.options.report_refusals && errno != Errno::TIME {
                    let name = info.map_or("an unknown request", |info| info.name);
                    let colon = if why.is_empty() { "" } else { ": " };
                    eprintln!("tepui: {name} of open file {file}: {errno}{colon}{why}");
                }
                Err(errno)
            }
        }
    }
}

/// Name and fields of a request that is a driver's `own` or else one of the DRM core; `None` for an unknown number.
pub fn request_info(
    own: Option<&'static IoctlInfo>,
    request: Request,
) -> Option<&'static IoctlInfo> {
    own.or_else(|| crate::uapi::core::Ioctl::from_nr(request.nr()).map(|core| core.info()))
}
