//! The entry of an open file's ioctls: the checks, observers and reports around a driver's dispatch.

use crate::Errno;
use crate::device::{Call, CallObserver};
use crate::refusal::Refusal;
use crate::uapi::{IoctlInfo, Request};
use crate::user::UserMemory;

/// Answers ioctls of one open file through the driver's dispatch.
pub struct Entry<'a> {
    /// The open file, numbered from 1 within the device.
    pub file: u64,
    /// Name and fields of a request; `None` for an unknown number.
    pub info: fn(Request) -> Option<&'static IoctlInfo>,
    /// Observer of requests.
    pub observer: Option<&'a dyn CallObserver>,
    /// Writes each refused request, with its reason, to standard error.
    pub report_refusals: bool,
}

impl Entry<'_> {
    /// Executes an ioctl by `dispatch`, which updates `arg` in place. `arg` holds as many bytes as the
    /// request word encodes; pointers in it are followed through `user`.
    ///
    /// # Errors
    /// `ENOTTY` for a request that is not DRM's or whose argument has another size, else those of
    /// `dispatch`.
    pub fn answer(
        &self,
        user: &dyn UserMemory,
        request: Request,
        arg: &mut [u8],
        dispatch: impl FnOnce(&mut [u8]) -> Result<(), Refusal>,
    ) -> Result<u32, Errno> {
        let Some(observer) = self.observer else {
            return self.checked(request, arg, dispatch);
        };
        let before = arg.to_vec();
        let info = (self.info)(request);
        let call = Call { file: self.file, request, info, before: &before, user, real_node: None };
        observer.entered(&call);
        let result = self.checked(request, arg, dispatch);
        observer.answered(&call, arg, result);
        result
    }

    fn checked(
        &self,
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
                if self.report_refusals && errno != Errno::TIME {
                    let name = (self.info)(request).map_or("an unknown request", |info| info.name);
                    let colon = if why.is_empty() { "" } else { ": " };
                    eprintln!("tepui: {name} of open file {}: {errno}{colon}{why}", self.file);
                }
                Err(errno)
            }
        }
    }
}
