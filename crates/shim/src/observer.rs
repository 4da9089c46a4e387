//! Who watches the requests. A tracer is chosen here, by the environment.

use std::sync::Arc;

use rustix::io::Errno;
use tepui_agx_capture::recorder_from_environment;
use tepui_agx_kernel::Observer;
use tepui_drm::device::{Call, CallObserver};

use crate::config::{Config, Gpu};

/// The observer that the environment asks for, of a virtual GPU as of a real one.
pub fn of(config: &Config) -> Option<Arc<dyn Observer>> {
    // What a capture says of a real GPU's parameters has to be asked of it first, which the
    // pass-through mode does not do yet: it logs calls only.
    if let Gpu::Virtual(chip) = config.gpu
        && let Some(recorder) = recorder_from_environment(chip)
    {
        return Some(Arc::new(recorder));
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
