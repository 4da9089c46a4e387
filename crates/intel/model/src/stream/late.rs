//! Relaxed execution of a batch: begins draws, dispatches and writes, and performs them when a wait asks for it, or earlier.

use tepui_intel_packets::media::GpgpuWalker;
use tepui_intel_packets::state::PipeControl;
use tepui_intel_packets::vertex::Primitive3d;
use tepui_order::Event;
use tepui_order::relaxed::Until;

use super::Stream;
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::order::SHADER_UNITS;
use crate::relaxed::Work;
use crate::restrictions::effective;

impl Stream<'_> {
    /// Performs work that nothing waits for, some of the time.
    pub(super) fn age(&mut self) -> Result<(), JobFault> {
        let Some(schedule) = &mut self.schedule else { return Ok(()) };
        let work = schedule.spontaneous();
        if let Some(memory) = &self.gpu.relaxed {
            memory.age(self.vm);
        }
        work.map_or(Ok(()), |work| self.perform(work))
    }

    /// Performs the work that a wait is for.
    pub(super) fn settle(&mut self, until: Until) -> Result<(), JobFault> {
        while let Some(work) = self.schedule.as_mut().and_then(|schedule| schedule.next(until)) {
            self.perform(work)?;
        }
        Ok(())
    }

    /// Performs the draws and dispatches so far: a command changes state that they read while they run.
    pub(super) fn settle_shaders(&mut self) -> Result<(), JobFault> {
        self.settle(Until::Units(SHADER_UNITS))
    }

    /// Begins a draw, or executes it at once.
    pub(super) fn begin_draw(&mut self, primitive: &Primitive3d) -> Result<(), JobFault> {
        if self.schedule.is_none() {
            return self.run_draw(primitive);
        }
        self.begin(Work::Draw(Box::new((self.context.clone(), *primitive))));
        Ok(())
    }

    /// Begins a dispatch, or executes it at once.
    pub(super) fn begin_dispatch(&mut self, walker: &GpgpuWalker) -> Result<(), JobFault> {
        if self.schedule.is_none() {
            return self.run_dispatch(walker);
        }
        self.begin(Work::Dispatch(Box::new((self.context.clone(), *walker))));
        Ok(())
    }

    /// Begins the write of a PIPE_CONTROL, or executes it at once.
    pub(super) fn begin_write(&mut self, control: PipeControl) -> Result<(), JobFault> {
        if self.schedule.is_none() {
            return self.run_write(&control);
        }
        self.begin(Work::Write(Box::new(control)));
        Ok(())
    }

    /// Handles the flushes, invalidations and stalls of a PIPE_CONTROL.
    pub(super) fn relaxed_events(&mut self, control: &PipeControl) -> Result<(), JobFault> {
        let Some(memory) = &self.gpu.relaxed else { return Ok(()) };
        let selected = self.context.pipeline;
        let control = effective(self.gpu.chip.generation, selected, control);
        for event in memory.events(&control) {
            match event {
                Event::Invalidate(caches) => memory.invalidate(self.vm, caches),
                Event::Flush(caches, to) => self.begin(Work::Flush(caches, to)),
                Event::Wait(units) => self.settle(Until::Units(units))?,
                Event::Finish => self.settle(Until::Empty)?,
                Event::Poll(address) => self.settle(Until::Written(address))?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, work: Work) {
        if let Some(schedule) = &mut self.schedule {
            schedule.begin(work.item());
        }
    }

    fn perform(&mut self, work: Work) -> Result<(), JobFault> {
        match work {
            Work::Draw(draw) => {
                let (context, primitive) = *draw;
                self.with_context(context, |stream| stream.run_draw(&primitive))
            }
            Work::Dispatch(dispatch) => {
                let (context, walker) = *dispatch;
                self.with_context(context, |stream| stream.run_dispatch(&walker))
            }
            Work::Write(control) => self.run_write(&control),
            Work::Flush(caches, to) => {
                if let Some(memory) = &self.gpu.relaxed {
                    memory.flush(self.vm, caches, to);
                }
                Ok(())
            }
        }
    }

    /// Runs work with the state that it was begun with. Registers that the pipeline itself counts in are the same for
    /// all work.
    fn with_context(
        &mut self,
        mut context: HardwareContext,
        run: impl FnOnce(&mut Self) -> Result<(), JobFault>,
    ) -> Result<(), JobFault> {
        context.registers.copy_counters(&self.context.registers);
        std::mem::swap(self.context, &mut context);
        let result = run(self);
        std::mem::swap(self.context, &mut context);
        self.context.registers.copy_counters(&context.registers);
        result
    }
}
