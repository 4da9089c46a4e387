//! Contexts: an address space, a list of engines, parameters, and queues of submissions.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tepui_drm::Errno;
use tepui_drm::lock;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::threads::Threads;
use tepui_drm::uapi::i915::{
    self as uapi, ContextParam, ContextParamSseu, EngineClassInstance, context_param as param, exec,
};
use tepui_drm::user::{UserMemory, read_value};
use tepui_intel_chips::Chip;

use crate::chips::VA_BITS;
use crate::device::Device;
use crate::query::ENGINES;
use crate::queue::Queue;
use crate::vm::Vm;

/// Limit on the engines of a context: the ring selector of a submission can name no more.
const MAX_ENGINES: usize = 64;

/// The parameters of a context.
#[derive(Clone)]
pub struct Parameters {
    priority: i64,
    recoverable: bool,
    bannable: bool,
    persistent: bool,
    no_error_capture: bool,
    vm: Arc<Vm>,
    /// The engines by index; without a list, the ring selector names rings, as in the interface before engine
    /// lists.
    engines: Option<Vec<Option<EngineClassInstance>>>,
}

/// A context of an open file.
pub struct Context {
    parameters: Mutex<Parameters>,
    /// The queues of engines that have been used, by index of the engine.
    queues: Mutex<Vec<(usize, Arc<Queue>)>>,
    /// Batches of this context that faulted.
    pub(crate) faults: Arc<AtomicU32>,
    /// Submissions that were cancelled because of an earlier fault.
    pub(crate) cancelled: Arc<AtomicU32>,
    /// Whether the context is banned, so that nothing more is executed.
    pub(crate) banned: Arc<AtomicBool>,
}

impl Parameters {
    /// The parameters of a new context with an address space of its own.
    pub fn new() -> Parameters {
        Parameters {
            priority: 0,
            recoverable: true,
            bannable: true,
            persistent: true,
            no_error_capture: false,
            vm: Arc::default(),
            engines: None,
        }
    }

    /// Sets a parameter. `vm` finds an address space by its id.
    ///
    /// # Errors
    /// `EINVAL` for an unknown parameter or an invalid value, `EPERM` for one that needs privileges, `ENODEV`
    /// for one that the device does not support.
    pub fn set(
        &mut self,
        chip: &Chip,
        user: &dyn UserMemory,
        args: &ContextParam,
        used: bool,
        vm: impl FnOnce(u32) -> Result<Arc<Vm>, Refusal>,
    ) -> Result<(), Refusal> {
        let plain = || require(args.size == 0, "size is not 0");
        let fresh = || require(!used, "the context has executed something already");
        match args.param {
            param::PRIORITY => {
                plain()?;
                let priority = args.value as i64;
                let most = uapi::MAX_USER_PRIORITY;
                require(priority.abs() <= most, "the priority is outside of its range")?;
                // Clients without privileges may not exceed the default.
                if priority > 0 {
                    return Err(Refusal { errno: Errno::PERM, why: "a priority above 0" });
                }
                self.priority = priority;
            }
            param::RECOVERABLE => {
                plain()?;
                self.recoverable = args.value != 0;
            }
            param::BANNABLE => {
                plain()?;
                if args.value == 0 {
                    return Err(Refusal { errno: Errno::PERM, why: "bannable may not be unset" });
                }
                self.bannable = true;
            }
            param::NO_ERROR_CAPTURE => {
                plain()?;
                self.no_error_capture = args.value != 0;
            }
            param::PERSISTENCE => {
                plain()?;
                self.persistent = args.value != 0;
            }
            param::VM => {
                plain()?;
                fresh()?;
                let id = u32::try_from(args.value).map_err(|_| Errno::NOENT)?;
                self.vm = vm(id)?;
            }
            param::ENGINES => {
                fresh()?;
                self.engines = engines(user, args)?;
            }
            param::SSEU => check_sseu(chip, user, args)?,
            param::PROTECTED_CONTENT => return Err(Errno::NODEV.into()),
            _ => require(false, "no such parameter, or one that cannot be set")?,
        }
        Ok(())
    }

    fn engine(&self, flags: u64) -> Result<(usize, EngineClassInstance), Refusal> {
        let selector = (flags & exec::RING_MASK) as usize;
        let missing = Refusal { errno: Errno::INVAL, why: "there is no such engine" };
        let engine = match &self.engines {
            Some(list) => list.get(selector).copied().flatten(),
            // The rings 0 and 1 are render; copy and video rings do not exist.
            None if selector <= 1 => ENGINES.first().copied(),
            None => None,
        };
        let index = if self.engines.is_some() { selector } else { 0 };
        engine.map(|e| (index, e)).ok_or(missing)
    }
}

/// Reads the list of engines of `CONTEXT_PARAM_ENGINES`: a pointer to extensions, followed by pairs of class
/// and instance. An empty argument removes the list.
fn engines(
    user: &dyn UserMemory,
    args: &ContextParam,
) -> Result<Option<Vec<Option<EngineClassInstance>>>, Refusal> {
    const HEAD: usize = size_of::<u64>();
    const EACH: usize = size_of::<EngineClassInstance>();
    let size = args.size as usize;
    if size == 0 {
        return Ok(None);
    }
    require(size >= HEAD && (size - HEAD).is_multiple_of(EACH), "size fits no list of engines")?;
    let count = (size - HEAD) / EACH;
    require(count <= MAX_ENGINES, "more engines than a submission can name")?;
    let extensions: u64 = read_value(user, args.value)?;
    // Load balancing, bonds and parallel submission: no class has two engines.
    require(extensions == 0, "extensions of engines need several engines of a class")?;
    let at = args.value.checked_add(HEAD as u64).ok_or(Errno::FAULT)?;
    let list = tepui_drm::user::read_array::<EngineClassInstance>(user, at, count)?;
    let slot = |engine: EngineClassInstance| {
        let gap = EngineClassInstance {
            engine_class: uapi::ENGINE_INVALID,
            engine_instance: uapi::ENGINE_INVALID,
        };
        match engine {
            e if e == gap => Ok(None),
            e if ENGINES.contains(&e) => Ok(Some(e)),
            _ => Err(Refusal { errno: Errno::NOENT, why: "no engine of this class and instance" }),
        }
    };
    list.into_iter().map(slot).collect::<Result<_, _>>().map(Some)
}

fn sseu(chip: &Chip) -> ContextParamSseu {
    ContextParamSseu {
        slice_mask: (1 << chip.slices) - 1,
        subslice_mask: (1 << chip.subslices_per_slice) - 1,
        min_eus_per_subslice: chip.eus_per_subslice as u16,
        max_eus_per_subslice: chip.eus_per_subslice as u16,
        ..Default::default()
    }
}

/// Checks the configuration of slices: it must be that of the whole chip; others are refused, as the kernel
/// does unless it is told to allow them.
fn check_sseu(chip: &Chip, user: &dyn UserMemory, args: &ContextParam) -> Result<(), Refusal> {
    require(args.size as usize >= size_of::<ContextParamSseu>(), "size is too small")?;
    let mut given: ContextParamSseu = read_value(user, args.value)?;
    given.engine = EngineClassInstance::default();
    given.flags = 0;
    require(given == sseu(chip), "the slices differ from those of the chip")
}

impl Context {
    /// A context with these parameters.
    pub fn new(parameters: Parameters) -> Context {
        Context {
            parameters: Mutex::new(parameters),
            queues: Mutex::default(),
            faults: Arc::default(),
            cancelled: Arc::default(),
            banned: Arc::default(),
        }
    }

    /// The address space.
    pub fn vm(&self) -> Arc<Vm> {
        lock(&self.parameters).vm.clone()
    }

    /// Sets a parameter.
    pub fn set(
        &self,
        chip: &Chip,
        user: &dyn UserMemory,
        args: &ContextParam,
        vm: impl FnOnce(u32) -> Result<Arc<Vm>, Refusal>,
    ) -> Result<(), Refusal> {
        let used = !lock(&self.queues).is_empty();
        let mut parameters = lock(&self.parameters).clone();
        parameters.set(chip, user, args, used, vm)?;
        *lock(&self.parameters) = parameters;
        Ok(())
    }

    /// Gets a parameter. `name` assigns an id to an address space.
    pub fn get(
        &self,
        chip: &Chip,
        user: &dyn UserMemory,
        args: &mut ContextParam,
        name: impl FnOnce(Arc<Vm>) -> u32,
    ) -> Result<(), Refusal> {
        let parameters = lock(&self.parameters);
        let mut size = 0;
        args.value = match args.param {
            param::GTT_SIZE => 1 << VA_BITS,
            param::PRIORITY => parameters.priority as u64,
            param::RECOVERABLE => parameters.recoverable.into(),
            param::BANNABLE => parameters.bannable.into(),
            param::NO_ERROR_CAPTURE => parameters.no_error_capture.into(),
            param::PERSISTENCE => parameters.persistent.into(),
            param::PROTECTED_CONTENT => 0,
            param::VM => name(parameters.vm.clone()).into(),
            param::SSEU => {
                size = size_of::<ContextParamSseu>() as u32;
                if args.size != 0 {
                    require(args.size >= size, "size is too small")?;
                    let asked: ContextParamSseu = read_value(user, args.value)?;
                    let answer =
                        ContextParamSseu { engine: asked.engine, flags: asked.flags, ..sseu(chip) };
                    user.write(args.value, bytemuck::bytes_of(&answer))?;
                }
                args.value
            }
            _ => return require(false, "no such parameter, or one that cannot be read"),
        };
        args.size = size;
        Ok(())
    }

    /// The queue of the engine that a submission's flags select; created at its first use.
    pub fn queue(
        self: &Arc<Self>,
        device: &Arc<Device>,
        file: u64,
        id: u32,
        threads: &Threads,
        flags: u64,
    ) -> Result<Arc<Queue>, Refusal> {
        let (index, _engine) = lock(&self.parameters).engine(flags)?;
        let mut queues = lock(&self.queues);
        if let Some((_, queue)) = queues.iter().find(|(i, _)| *i == index) {
            return Ok(queue.clone());
        }
        let queue = Arc::new(Queue::new(device.clone(), file, [id, index as u32], self, threads)?);
        queues.push((index, queue.clone()));
        Ok(queue)
    }

    /// Whether the context continues after a fault with a fresh state.
    pub fn is_recoverable(&self) -> bool {
        lock(&self.parameters).recoverable
    }

    /// Whether the context is banned, so that nothing more is executed.
    pub fn is_banned(&self) -> bool {
        self.banned.load(Ordering::Acquire)
    }
}
