//! Records a real render node of the `asahi` driver.

use std::os::fd::BorrowedFd;

use tepui_capture::real::{self, Change, Contents, Requests, Submission};
use tepui_capture::{Call, ClientMemory, Process, Start};
use tepui_drm::device;
use tepui_drm::uapi::Request;
use tepui_drm::uapi::asahi::{GemMmapOffset, GetParams, Ioctl, ParamsGlobal};
use tepui_drm::user::UserMemory;

use crate::client;
use crate::tracker::{Tracker, commands, submission};

/// Queries of a node for state that the calls do not show.
pub(crate) trait Node: Send {
    /// The driver's parameter block.
    fn parameters(&self, node: Option<BorrowedFd<'_>>) -> Option<ParamsGlobal>;
    /// The memory of a buffer of an open file.
    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>>;
}

/// The requests of `asahi`.
pub(crate) struct AsahiRequests<N> {
    tracker: Tracker,
    node: N,
}

impl<N> AsahiRequests<N> {
    pub fn new(node: N) -> AsahiRequests<N> {
        AsahiRequests { tracker: Tracker::default(), node }
    }
}

/// The requests of the kernel's own nodes, for a recorder of them.
pub fn requests() -> Box<dyn Requests> {
    Box::new(AsahiRequests::new(Kernel))
}

fn is_submit(request: Request) -> bool {
    request.family() == Request::DRM && Ioctl::from_nr(request.nr()) == Some(Ioctl::Submit)
}

impl<N: Node> Requests for AsahiRequests<N> {
    fn describe(&self, node: Option<BorrowedFd<'_>>) -> Process {
        let params = self.node.parameters(node);
        Process {
            driver: tepui_agx_kernel::DRIVER.name.into(),
            gpu: params.map_or_else(|| "a real GPU".into(), |params| gpu_name(&params)),
            parameters: params.map_or_else(Vec::new, |p| bytemuck::bytes_of(&p).to_vec()),
            ..Process::default()
        }
    }

    fn memory(&self, user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
        client::memory(user, request, after)
    }

    fn answered(&mut self, call: &Call) -> Option<Change> {
        self.tracker.answered(call)
    }

    fn closed(&mut self, file: u64) {
        self.tracker.closed(file);
    }

    fn submission(
        &self,
        call: &device::Call<'_>,
        _: &dyn Fn(u32) -> Option<u64>,
    ) -> Option<Submission> {
        if !is_submit(call.request) {
            return None;
        }
        let (queue, buffer, length) = submission(call.before);
        let (vm, base) = self.tracker.queue(call.file, queue)?;
        let mut bytes = vec![0; usize::try_from(length.min(1 << 24)).ok()?];
        call.user.read(buffer, &mut bytes).ok()?;
        let start = |command: crate::tracker::Command| Start {
            queue,
            kind: command.kind.into(),
            base,
            payload: command.payload,
            ..Start::default()
        };
        Some(Submission {
            space: vm,
            mappings: self.tracker.mappings(call.file, vm).copied().collect(),
            commands: commands(&bytes).into_iter().map(start).collect(),
        })
    }

    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>> {
        self.node.buffer(node, handle, size)
    }
}

/// `Apple G13G B1` and the like.
fn gpu_name(params: &ParamsGlobal) -> String {
    let variant = char::from_u32(params.gpu_variant).unwrap_or('?');
    let revision = params.gpu_revision;
    let letter = char::from(b'A' + (revision >> 4 & 0xf) as u8);
    format!("Apple G{}{variant} {letter}{}", params.gpu_generation, revision & 0xf)
}

/// The kernel's own node.
struct Kernel;

impl Node for Kernel {
    fn parameters(&self, node: Option<BorrowedFd<'_>>) -> Option<ParamsGlobal> {
        let mut params = ParamsGlobal::default();
        let mut args = GetParams {
            pointer: &raw mut params as u64,
            size: size_of::<ParamsGlobal>() as u64,
            ..Default::default()
        };
        let known = real::request(node?, Ioctl::GetParams.info(), &mut args).is_ok();
        known.then_some(params)
    }

    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>> {
        let node = node?;
        let mut args = GemMmapOffset { handle, ..Default::default() };
        real::request(node, Ioctl::GemMmapOffset.info(), &mut args).ok()?;
        real::map(node, args.offset, size)
    }
}
