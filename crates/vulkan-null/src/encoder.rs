//! Commands as text. Those that write memory of the host do so at submission.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tepui_vulkan::backend::{Blit, BufferPixels, Dispatch, Draw, ImageCopy, ImageRef, Rendering};
use tepui_vulkan::command::{BindPoint, CommandState};
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::DrawEncoder;
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::{Error, Result, backend, vk};

use crate::{Device, Null, Queries, Shader, kind};

/// A recorded command.
struct Step {
    text: String,
    /// Its effect on memory.
    effect: Option<Box<dyn Fn() + Send + Sync>>,
}

/// A recorder of commands.
pub struct Encoder {
    device: Arc<Device>,
    queue_family: u32,
    steps: Vec<Step>,
    is_finished: bool,
}

impl Encoder {
    /// An empty one for a queue family.
    pub fn new(device: &Arc<Device>, queue_family: u32) -> Encoder {
        Encoder { device: device.clone(), queue_family, steps: Vec::new(), is_finished: false }
    }

    fn say(&mut self, text: String) -> Result<()> {
        self.steps.push(Step { text, effect: None });
        Ok(())
    }

    fn act(&mut self, text: String, effect: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.steps.push(Step { text, effect: Some(Box::new(effect)) });
        Ok(())
    }

    fn at(&self, address: u64) -> String {
        self.device.shared.text(address)
    }

    /// Executes the commands.
    pub(crate) fn execute(&self) {
        if !self.is_finished {
            self.device.shared.say("a command buffer that is not finished".to_owned());
        }
        for step in &self.steps {
            self.device.shared.say(step.text.clone());
            if let Some(effect) = &step.effect {
                effect();
            }
        }
    }

    /// Descriptors of the bound sets, as they are now.
    fn sets(&self, point: &BindPoint) -> String {
        let mut text = String::new();
        for (n, set) in point.sets.iter().enumerate() {
            let pushed = set.pushed.iter().any(|p| !p.is_empty());
            let bytes = |k: usize| match pushed {
                true => &set.pushed[k][..],
                // SAFETY: bound sets live, and the test writes none of them meanwhile.
                false => unsafe { set.host[k].bytes() },
            };
            let words =
                |k: usize| bytes(k).as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w));
            let surfaces: Vec<u64> = words(kind::SURFACES).collect();
            let surfaces = surfaces.as_chunks::<2>().0.iter().filter(|s| s[0] != 0);
            let surfaces: Vec<_> =
                surfaces.map(|[at, size]| format!("{}:{size}", self.at(*at))).collect();
            let numbers = |k: usize| -> Vec<String> {
                words(k).filter(|w| *w != 0).map(|w| w.to_string()).collect()
            };
            let (samplers, types) = (numbers(kind::SAMPLERS), numbers(kind::TYPES));
            let dynamic = set.dynamic.iter().map(|(at, size)| format!("{}:{size}", self.at(*at)));
            let dynamic: Vec<_> = dynamic.collect();
            let parts =
                [("", surfaces), ("samplers ", samplers), ("types ", types), ("dynamic ", dynamic)];
            if parts.iter().all(|p| p.1.is_empty()) {
                continue;
            }
            let _ = write!(text, "; set {n}:");
            for (name, list) in parts.iter().filter(|p| !p.1.is_empty()) {
                let _ = write!(text, " {name}[{}]", list.join(" "));
            }
        }
        text
    }

    fn attachments<const FAMILY: u8>(&self, r: &Rendering<Null<FAMILY>>) -> String {
        let mut text = format!("{}x{}", r.area.extent.width, r.area.extent.height);
        for (name, list) in [
            ("colour", r.colours.iter().flatten().collect::<Vec<_>>()),
            ("depth", r.depth.iter().collect()),
            ("stencil", r.stencil.iter().collect()),
        ] {
            for a in list {
                let at = self.at(a.image.addresses[0]);
                let (load, store) = (a.load.as_raw(), a.store.as_raw());
                let resolve = if a.resolve.is_some() { " resolve" } else { "" };
                let _ = write!(text, ", {name} {at} load {load} store {store}{resolve}");
            }
        }
        text
    }

    fn image(
        &self,
        (_, info, addresses): (&Arc<crate::Image>, &backend::ImageInfo, backend::Addresses),
    ) -> String {
        format!("{:?} {}", info.format, self.at(addresses[0]))
    }
}

fn name(shader: &Option<Arc<Shader>>) -> &str {
    shader.as_ref().map_or("-", |s| &s.stage)
}

impl<const FAMILY: u8> DrawEncoder<Null<FAMILY>> for Encoder {
    fn draw(&mut self, state: &mut CommandState<Null<FAMILY>>, draw: &Draw) -> Result<()> {
        let b = &state.bound;
        let stages = [
            &b.vertex,
            &b.between.control,
            &b.between.evaluation,
            &b.between.geometry,
            &b.fragment,
        ];
        let stages: Vec<_> = stages.into_iter().filter(|s| s.is_some()).map(name).collect();
        let count = match draw {
            Draw::Direct(c) => format!("{}x{}", c.count, c.instances),
            Draw::Indirect { address, count, .. } => format!("{count} of {}", self.at(*address)),
        };
        let topology = state.graphics.topology.as_raw();
        let sets = self.sets(&state.graphics_sets);
        self.say(format!("draw {count} {} topology {topology}{sets}", stages.join(" ")))
    }
}

impl<const FAMILY: u8> backend::Encoder<Null<FAMILY>> for Encoder {
    fn reset(&mut self) {
        self.steps.clear();
        self.is_finished = false;
    }

    fn finish(&mut self) -> Result<()> {
        self.is_finished = true;
        Ok(())
    }

    fn begin_rendering(&mut self, rendering: &Rendering<Null<FAMILY>>) -> Result<()> {
        if self.queue_family != 0 {
            return Err(Error::unsupported("renderings on a queue without graphics"));
        }
        self.say(format!("begin {}", self.attachments(rendering)))
    }

    fn end_rendering(&mut self, _rendering: &Rendering<Null<FAMILY>>) -> Result<u8> {
        self.say("end".to_owned())?;
        Ok(0)
    }

    fn dispatch(
        &mut self,
        state: &mut CommandState<Null<FAMILY>>,
        dispatch: &Dispatch,
    ) -> Result<()> {
        let count = match dispatch {
            Dispatch::Direct(_, [x, y, z]) => format!("{x}x{y}x{z}"),
            Dispatch::Indirect(_, address) => self.at(*address),
        };
        let sets = self.sets(&state.compute_sets);
        self.say(format!("dispatch {count} {}{sets}", name(&state.compute)))
    }

    fn barrier(
        &mut self,
        _dependency: &Dependency<Null<FAMILY>>,
        within: Within,
    ) -> Result<Ordering> {
        let inside = if within == Within::CommandBuffer { "" } else { " inside" };
        self.say(format!("barrier{inside}"))?;
        Ok(Ordering::Done)
    }

    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()> {
        let text = format!("copy {size} {} to {}", self.at(from), self.at(to));
        self.act(text, move || unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, size as usize);
        })
    }

    fn copy_arguments(&mut self, address: u64, _size: u64) -> Result<u64> {
        Ok(address)
    }

    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()> {
        let text = format!("fill {size} {} {word:#x}", self.at(address));
        self.act(text, move || unsafe {
            std::slice::from_raw_parts_mut(address as *mut u32, (size / 4) as usize).fill(word);
        })
    }

    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()> {
        let text = format!("update {} {}", data.len(), self.at(address));
        let data = data.to_vec();
        self.act(text, move || unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), address as *mut u8, data.len());
        })
    }

    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, Null<FAMILY>>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        let to = if to_image { "from" } else { "to" };
        let (image, buffer) = (self.image(image.image), self.at(buffer.address));
        self.say(format!("copy {extent:?} of {image} {to} {buffer}"))
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Null<FAMILY>>,
        to: &ImageCopy<'_, Null<FAMILY>>,
        extent: [u32; 3],
    ) -> Result<()> {
        let (from, to) = (self.image(from.image), self.image(to.image));
        self.say(format!("copy {extent:?} of {from} to {to}"))
    }

    fn blit(&mut self, blit: &Blit<'_, Null<FAMILY>>) -> Result<()> {
        let (from, to) = (self.image(blit.source), self.image(blit.target));
        self.say(format!("blit {from} to {to}"))
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Null<FAMILY>>,
        to: &ImageRef<Null<FAMILY>>,
        _region: &vk::ImageResolve2,
        _mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        let (from, to) = (self.at(from.addresses[0]), self.at(to.addresses[0]));
        self.say(format!("resolve {from} to {to}"))
    }

    fn clear_attachments(
        &mut self,
        _state: &mut CommandState<Null<FAMILY>>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        self.say(format!("clear {} attachments in {} rectangles", attachments.len(), rects.len()))
    }

    fn begin_feedback(&mut self, _counters: &Counters) -> Result<()> {
        Err(Error::unsupported("transform feedback of the null family"))
    }

    fn end_feedback(&mut self, _counters: &Counters) -> Result<()> {
        Err(Error::unsupported("transform feedback of the null family"))
    }

    fn byte_count(
        &mut self,
        _counter: u64,
        _start: u32,
        _stride: u32,
        _instances: u32,
        _first_instance: u32,
    ) -> Result<u64> {
        Err(Error::unsupported("transform feedback of the null family"))
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        let pool = pool.clone();
        self.act(format!("reset {count} queries"), move || {
            for q in &pool[first as usize..(first + count) as usize] {
                q.store(u64::MAX, Relaxed);
            }
        })
    }

    fn begin_query(
        &mut self,
        _pool: &Queries,
        query: u32,
        _precise: bool,
        _stream: u8,
    ) -> Result<()> {
        self.say(format!("begin query {query}"))
    }

    fn end_query(&mut self, pool: &Queries, query: u32, _stream: u8) -> Result<()> {
        let pool = pool.clone();
        self.act(format!("end query {query}"), move || pool[query as usize].store(0, Relaxed))
    }

    fn write_timestamp(&mut self, pool: &Queries, query: u32) -> Result<()> {
        let pool = pool.clone();
        self.act(format!("timestamp {query}"), move || {
            pool[query as usize].store(tepui_drm::monotonic_ns(), Relaxed);
        })
    }

    fn copy_query_results(
        &mut self,
        _pool: &Queries,
        _first: u32,
        count: u32,
        address: u64,
        _stride: u64,
        _flags: vk::QueryResultFlags,
    ) -> Result<()> {
        self.say(format!("copy {count} results to {}", self.at(address)))
    }

    fn write_event(
        &mut self,
        address: u64,
        value: u32,
        _after: &Dependency<Null<FAMILY>>,
    ) -> Result<()> {
        self.act(format!("event {value}"), move || unsafe { *(address as *mut u32) = value })
    }
}
