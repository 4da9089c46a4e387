//! The clock of a compositor's times, which need not be `CLOCK_MONOTONIC`.

/// A clock that this process can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock(libc::clockid_t);

impl Clock {
    /// The clock of a number of `clock_gettime`, as `wp_presentation.clock_id` has it; nothing if there is no such clock.
    pub(super) fn new(id: u32) -> Option<Clock> {
        let clock = Clock(libc::clockid_t::try_from(id).ok()?);
        clock.now_ns().map(|_| clock)
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` at a time of this clock. The clocks are compared now: where one of them is
    /// adjusted, the result is exact only for times that are not long ago.
    pub(super) fn to_monotonic_ns(self, at_ns: u64) -> u64 {
        if matches!(self.0, libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_COARSE) {
            return at_ns;
        }
        let here = self.now_ns().unwrap_or(0);
        let there = Clock(libc::CLOCK_MONOTONIC).now_ns().unwrap_or(0);
        at_ns.saturating_add(there).saturating_sub(here)
    }

    fn now_ns(self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure outlives the call, which fails for a number that is no clock.
        let failed = unsafe { libc::clock_gettime(self.0, &raw mut time) } != 0;
        let [seconds, ns] = [time.tv_sec, time.tv_nsec].map(|t| u64::try_from(t).unwrap_or(0));
        (!failed).then(|| seconds.saturating_mul(1_000_000_000).saturating_add(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_other_clocks() {
        let clock = |id: libc::clockid_t| Clock::new(id as u32).expect("Linux has this clock");
        let monotonic = clock(libc::CLOCK_MONOTONIC);
        assert_eq!(monotonic.to_monotonic_ns(5), 5);
        for id in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_BOOTTIME] {
            let before = monotonic.now_ns().unwrap();
            let at = clock(id).to_monotonic_ns(clock(id).now_ns().unwrap());
            let after = monotonic.now_ns().unwrap();
            // The clocks are read one after the other.
            let slack = after - before;
            assert!((before - slack..=after + slack).contains(&at), "{id}: {before} {at} {after}");
        }
        assert_eq!(clock(libc::CLOCK_REALTIME).to_monotonic_ns(0), 0, "before the monotonic clock");
        for id in [1000, u32::MAX] {
            assert_eq!(Clock::new(id), None);
        }
    }
}
