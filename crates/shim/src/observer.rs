//! Who watches the requests. A tracer is chosen here, by the environment.

use std::sync::Arc;

use rustix::io::Errno;
use tepui_agx_capture::{real_recorder_from_environment, recorder_from_environment};
use tepui_agx_kernel::Observer;
use tepui_drm::device::{Call, CallObserver};

use crate::config::{Config, Gpu};

/// The observer that the environment asks for, of a virtual GPU as of a real one.
pub fn of(config: &Config) -> Option<Arc<dyn Observer>> {
    let recorder: Option<Arc<dyn Observer>> = match config.gpu {
        Gpu::Virtual(chip) => recorder_from_environment(chip).map(|r| Arc::new(r) as _),
        Gpu::Real => real_recorder_from_environment().map(|r| Arc::new(r) as _),
    };
    if recorder.is_some() {
        return recorder;
    }
    config.log_calls.then(|| Arc::new(CallLog) as Arc<dyn Observer>)
}

/// Writes each request as it is answered to standard error: the open file, the name, the
/// argument after the call, the result.
struct CallLog;

impl CallObserver for CallLog {
    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        let (name, fields) = match call.info {
            Some(info) => (info.name.to_owned(), info.describe(after)),
            None => (format!("{:?}", call.request), String::new()),
        };
        let result = match result {
            Ok(value) => value.to_string(),
            Err(errno) => errno.to_string(),
        };
        eprintln!("tepui: file {}: {name}{fields} = {result}", call.file);
    }
}

impl Observer for CallLog {}
