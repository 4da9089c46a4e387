//! Order of the jobs of a chain.

use tepui_mali_packets::job::{JobHeader, JobType};

use super::{Kind, OrderChecker, OrderState, Report, command_report};
use crate::job::ReportKind;

impl OrderChecker {
    /// Begins a job of the chain; returns what is wrong with its header.
    pub fn job(&self, at: u64, header: &JobHeader) -> Option<Report> {
        self.with(|state| state.job(at, header)).flatten()
    }
}

impl OrderState {
    fn job(&mut self, at: u64, header: &JobHeader) -> Option<Report> {
        let mut waits = Vec::new();
        if header.barrier {
            let before = 0..self.work.count();
            waits.push(self.work.event([before], &[]));
        }
        for index in [header.dependency_1, header.dependency_2] {
            if let Some(items) = self.jobs.get(&index).cloned() {
                waits.push(self.work.event([items], &[]));
            }
        }
        let invalidated: Vec<_> = self.invalidated.into_iter().collect();
        let kind = Kind::Job(header.job_type);
        let items = self.begin((kind, at, 0), &waits, Some(&invalidated));
        self.jobs.insert(header.index, items.clone());
        if header.invalidate_cache || header.job_type == JobType::CacheFlush {
            let event = self.work.event([items], &invalidated);
            self.invalidated = Some(event);
        }
        (header.exception_status != 0).then(|| {
            let what = format!(
                "the {kind} at {at:#x} is executed although its header has the status {:#x} of one that has ended",
                header.exception_status
            );
            command_report(ReportKind::FinishedJob, what, kind.to_string())
        })
    }
}
