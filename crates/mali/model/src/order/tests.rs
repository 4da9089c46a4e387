//! Streams and chains with a wait each, and without.

use std::sync::Arc;

use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::*;
use tepui_mali_packets::job::{JobHeader, JobType};
use tepui_mali_streams::FrontEnd;
use tepui_softgpu::{Access, AccessObserver, AddressSpace, Memory, Protection, Reports};

use super::*;

const BUFFER: u64 = 0x8000;
const SYNC: u64 = 0x4000;

/// Queues of which instructions are told to the checker, with the accesses that tests make up.
struct Bench {
    checker: Arc<OrderChecker>,
    fronts: Vec<FrontEnd>,
    vm: AddressSpace,
    at: u64,
    reports: Vec<Report>,
}

impl Bench {
    /// Reports of the instructions of two queues.
    fn judge(body: impl FnOnce(&mut Bench)) -> Vec<Report> {
        let vm = crate::address_space();
        let memory = Arc::new(Memory::new(1 << 16).expect("memory"));
        vm.bind(0, memory, 0, 1 << 16, Protection::READ | Protection::WRITE).expect("a range");
        let (fronts, checker) = (vec![FrontEnd::default(); 2], Arc::new(OrderChecker::default()));
        let mut bench =
            Bench { checker: checker.clone(), fronts, vm, at: 0x100, reports: Vec::new() };
        let mut state = OrderState::of_queues(2);
        (0..2).for_each(|queue| state.start(queue));
        let all = Reports::default();
        let running = checker.begin(state);
        body(&mut bench);
        (0..2).for_each(|queue| checker.finish(queue));
        running.end(&all);
        let mut reports = bench.reports;
        reports.extend(all.take());
        reports
    }

    /// Tells of an instruction of a queue, and changes sync objects as it does.
    fn run<P: Packet>(&mut self, queue: usize, packet: &P) -> &mut Bench {
        let mut bytes = [0; 8];
        packet.pack_into(&mut bytes).expect("fields");
        let opcode = opcode(u64::from_le_bytes(bytes)).expect("an opcode");
        self.at += 8;
        let front = &self.fronts[queue];
        let report = self.checker.instruction(queue, self.at, opcode, &bytes, front, &self.vm);
        self.reports.extend(report);
        if opcode == CsOpcode::SyncAdd64 {
            let mut value = [0; 8];
            self.vm.read(SYNC, &mut value).expect("memory");
            let new = u64::from_le_bytes(value) + 1;
            self.vm.write(SYNC, &new.to_le_bytes()).expect("memory");
        }
        self
    }

    fn access(&mut self, unit: u8, access: Access) -> &mut Bench {
        self.checker.access(unit, access, BUFFER, 4);
        self
    }

    fn write(&mut self) -> &mut Bench {
        self.access(unit::SHADER, Access::Write)
    }

    fn read(&mut self) -> &mut Bench {
        self.access(unit::SHADER, Access::Read)
    }

    fn sample(&mut self) -> &mut Bench {
        self.access(unit::TEXTURE, Access::Read)
    }

    /// A queue adds one to a sync object after work with entries of a mask; the other waits for it.
    fn sync(&mut self, from: usize, wait_mask: u32, to: usize, wanted: u64) -> &mut Bench {
        for front in &mut self.fronts {
            (front.registers[80], front.registers[82]) = (SYNC as u32, 1);
            front.registers[84] = wanted as u32;
        }
        self.run(from, &CsSyncAdd64 { wait_mask, address: 80, data: 82, ..Default::default() });
        let condition = CsCondition::Greater;
        self.run(to, &CsSyncWait64 { condition, address: 80, data: 84, ..Default::default() })
    }
}

fn dispatch() -> CsRunCompute {
    CsRunCompute::default()
}

fn wait(mask: u32) -> CsWait {
    CsWait { wait_mask: mask, ..Default::default() }
}

fn entry(endpoint_entry: u32) -> CsSetSbEntry {
    CsSetSbEntry { endpoint_entry, other_entry: 0 }
}

fn kinds(reports: Vec<Report>) -> Vec<ReportKind> {
    reports.iter().map(|report| report.kind).collect()
}

#[test]
fn dispatches_of_a_queue_wait_for_their_entries() {
    let stream = |entries: u32| {
        Bench::judge(|bench| {
            bench.run(0, &entry(3)).run(0, &dispatch()).write().run(0, &entry(4));
            bench.run(0, &wait(entries)).run(0, &dispatch()).read();
        })
    };
    assert_eq!(stream(1 << 3), []);
    let reports = stream(1 << 4);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(
        report.what,
        "memory at 0x8000: between the write by the RUN_COMPUTE at 0x110 of queue 0 and the read by the RUN_COMPUTE at 0x128 of \
         queue 0, a wait is missing"
    );
}

#[test]
fn queues_wait_for_sync_objects() {
    // The change waits for the work, or it does not. A queue may wait for a change of its own that is deferred.
    for (mask, expected) in [(1, vec![]), (0, vec![ReportKind::MissingWait])] {
        for queue in 0..2 {
            let found = Bench::judge(|bench| {
                bench.run(0, &dispatch()).write().sync(0, mask, queue, 0);
                bench.run(queue, &dispatch()).read();
            });
            assert_eq!(kinds(found), expected, "{queue}");
        }
    }
    // Only the first of two changes ends the wait.
    let found = Bench::judge(|bench| {
        bench.sync(0, 1, 0, 0).run(0, &dispatch()).write().sync(0, 1, 1, 0);
        bench.run(1, &dispatch()).read();
    });
    assert_eq!(kinds(found), [ReportKind::MissingWait]);
}

#[test]
fn texture_units_see_writes_after_an_invalidation() {
    let flush = |other_invalidate, wait_mask| CsFlushCache2 {
        other_invalidate,
        wait_mask,
        signal_slot: 2,
        ..Default::default()
    };
    let stream = |samples_before: bool, invalidates: bool, waits: bool| {
        let found = Bench::judge(|bench| {
            if samples_before {
                bench.run(0, &dispatch()).sample().run(0, &wait(1));
            }
            bench.run(0, &dispatch()).write().run(0, &flush(invalidates, 1));
            bench.run(0, &wait(if waits { 0b101 } else { 1 })).run(0, &dispatch()).sample();
        });
        kinds(found)
    };
    assert_eq!(stream(true, true, true), []);
    assert_eq!(stream(true, false, true), [ReportKind::MissingInvalidate]);
    assert_eq!(stream(true, true, false), [ReportKind::MissingInvalidate]);
    // Nothing is in the caches that could be old.
    assert_eq!(stream(false, false, true), []);
}

/// An invalidation of one queue holds for another that has waited for it.
#[test]
fn invalidations_pass_through_sync_objects() {
    let stream = |other_invalidate| {
        let found = Bench::judge(|bench| {
            bench.run(1, &dispatch()).sample().sync(1, 1, 0, 0);
            bench.run(0, &dispatch()).write().run(0, &wait(1));
            bench
                .run(0, &CsFlushCache2 { other_invalidate, ..Default::default() })
                .run(0, &wait(1));
            bench.sync(0, 0, 1, 1).run(1, &dispatch()).sample();
        });
        kinds(found)
    };
    assert_eq!(stream(true), []);
    assert_eq!(stream(false), [ReportKind::MissingInvalidate]);
}

#[test]
fn draws_of_a_context_are_in_order_and_fragments_wait_for_them() {
    let stream = |mask: u32| {
        let found = Bench::judge(|bench| {
            for _ in 0..2 {
                bench.run(0, &CsRunIdvs::default());
                bench.access(unit::TILER, Access::Read).access(unit::TILER, Access::Write);
            }
            bench.sync(0, mask, 1, 0).run(1, &CsRunFragment::default()).read();
        });
        kinds(found)
    };
    assert_eq!(stream(1), []);
    assert_eq!(stream(0), [ReportKind::MissingWait]);
}

#[test]
fn chunks_are_given_back_after_the_fragments() {
    let stream = |wait_mask: u32| {
        let found = Bench::judge(|bench| {
            bench.run(1, &CsRunFragment::default()).read();
            bench.run(1, &CsFinishFragment { wait_mask, ..Default::default() });
            bench.access(unit::SHADER, Access::Write);
        });
        kinds(found)
    };
    assert_eq!(stream(1), []);
    assert_eq!(stream(0), [ReportKind::MissingWait]);
}

/// Instructions of a stream.
type Part<'a> = &'a dyn Fn(&mut Bench);

#[test]
fn registers_of_loads_are_waited_for() {
    let load = CsLoadMultiple { mask: 1, address: 40, base_register: 50, offset: 0 };
    let store = CsStoreMultiple { mask: 1, address: 40, base_register: 50, offset: 0 };
    let set = CsMove32 { destination: 50, immediate: 0 };
    let add = CsAddImmediate32 { source: 50, destination: 51, immediate: 0 };
    let loads = |b: &mut Bench| _ = b.run(0, &load);
    let stores = |b: &mut Bench| _ = b.run(0, &store);
    let sets = |b: &mut Bench| _ = b.run(0, &set);
    let adds = |b: &mut Bench| _ = b.run(0, &add);
    let stream = |first: Part<'_>, mask: u32, second: Part<'_>| {
        let reports = Bench::judge(|bench| {
            bench.run(0, &CsSetSbEntry { endpoint_entry: 2, other_entry: 3 });
            first(bench);
            bench.run(0, &wait(mask));
            second(bench);
        });
        reports.iter().map(|report| report.what.clone()).collect::<Vec<_>>()
    };
    let text = |what: &str, user: &str| {
        vec![format!(
            "r50 is {what} by the {user} at 0x120 of queue 0 before a WAIT for the LOAD_MULTIPLE at 0x110"
        )]
    };
    assert_eq!(stream(&loads, 0, &adds), text("read", "ADD_IMMEDIATE32"));
    assert_eq!(stream(&loads, 1 << 2, &sets), text("written", "MOVE32"));
    // A store has read its registers when it is issued.
    let right: [(Part<'_>, u32, Part<'_>); 4] = [
        (&loads, 1 << 3, &adds),
        (&loads, 1 << 3, &sets),
        (&stores, 0, &sets),
        (&stores, 0, &adds),
    ];
    for (first, mask, second) in right {
        assert_eq!(stream(first, mask, second), Vec::<String>::new());
    }
}

/// Jobs that write and read a buffer; the second one waits as its header says.
#[test]
fn jobs_wait_for_those_that_they_name() {
    let chain = |second: JobHeader, status: u32| {
        let checker = OrderChecker::default();
        let reports = Reports::default();
        let running = checker.begin(OrderState::default());
        let first = JobHeader { index: 1, job_type: JobType::Compute, ..Default::default() };
        assert_eq!(checker.job(0x100, &first), None);
        checker.access(unit::SHADER, Access::Write, BUFFER, 4);
        let second =
            JobHeader { index: 2, job_type: JobType::Compute, exception_status: status, ..second };
        checker.job(0x200, &second).into_iter().for_each(|report| reports.add(report));
        checker.access(unit::SHADER, Access::Read, BUFFER, 4);
        running.end(&reports);
        reports.take().iter().map(|report| report.kind).collect::<Vec<_>>()
    };
    let none = JobHeader::default();
    assert_eq!(chain(none, 0), [ReportKind::MissingWait]);
    assert_eq!(chain(JobHeader { dependency_1: 1, ..none }, 0), []);
    assert_eq!(chain(JobHeader { dependency_2: 1, ..none }, 0), []);
    assert_eq!(chain(JobHeader { barrier: true, ..none }, 0), []);
    assert_eq!(chain(JobHeader { dependency_1: 1, ..none }, 1), [ReportKind::FinishedJob]);
}
