//! A device of this process, or the machine's own, as the environment asks for.

use std::sync::Arc;

use tepui_drm::call_log::CallLog;
use tepui_drm::device::CallObserver;
use tepui_gpus::device::{self, DeviceOptions};
use tepui_transport::{Host, free_minor};

use crate::config::{Config, Gpu};
use crate::node::{Device, Virtual};
use crate::passthrough::PassThrough;
use crate::state::State;
use crate::tree::Tree;

/// The state of a process with a device. `None` means that the library does nothing.
pub fn state() -> Option<State> {
    let config = Config::from_environment()?;
    let log = || config.log_calls.then(|| Arc::new(CallLog) as Arc<dyn CallObserver>);
    let gpu = match config.gpu {
        Gpu::Virtual(gpu) => gpu,
        Gpu::Real => {
            let observer = device::real_recorder().or_else(log)?;
            return Some(State::Real(PassThrough::new(observer)));
        }
    };
    let options = DeviceOptions {
        threads: config.threads,
        check: config.check,
        relaxed: config.relaxed,
        report_refusals: config.verbose,
        abort_on_fault: config.abort_on_fault,
        coverage: config.coverage.clone(),
        counts: config.counts.clone(),
        observer: log(),
        ..DeviceOptions::default()
    };
    let device = device::device(gpu, &options).inspect_err(|e| eprintln!("tepui: {e}")).ok()?;
    let tree = Tree::new(&device.node(), free_minor());
    Some(State::Virtual(Virtual { device: Device::Here(Host::new(device)), tree }))
}
