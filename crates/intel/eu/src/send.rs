//! Messages of a thread to the units.

use tepui_intel_isa::Desc;

use crate::fault::FaultKind;
use crate::memory::{self, read32};
use crate::message::Message;
use crate::op::{Message as OpMessage, Op};
use crate::shadow::Checker;
use crate::state::{Stop, Thread};
use crate::unit::{MessageUnit, Outcome, ThreadView};

impl Thread {
    /// The message of an operation, with its descriptors.
    #[inline(always)]
    pub(crate) fn message(&self, op: &Op, constant: &OpMessage) -> Message {
        let mut message = constant.message;
        message.channels = self.enabled(op) & self.predicated(op);
        if let Some([desc, ex_desc]) = constant.registers {
            let resolve = |desc: Desc| match desc {
                Desc::Immediate(bits) => bits,
                Desc::Address(dword) => {
                    read32(&self.memory, memory::ADDRESS + usize::from(dword & 7) * 4)
                }
            };
            message.describe(resolve(desc), resolve(ex_desc));
        }
        message
    }

    /// Lets the checker examine an operation, in checked threads.
    #[inline(always)]
    pub(crate) fn check(&mut self, look: impl FnOnce(&mut Checker, &Thread)) {
        if let Some(mut checker) = self.checker.take() {
            look(&mut checker, self);
            self.checker = Some(checker);
        }
    }

    /// Sends the message of an operation.
    #[inline]
    pub(crate) fn send(&mut self, op: &Op, units: &mut (impl MessageUnit + ?Sized)) -> SendOutcome {
        match self.try_send(op, units) {
            Ok((true, _)) => SendOutcome::Stops(Stop::EndOfThread),
            Ok((false, Outcome::Yield)) => SendOutcome::Stops(Stop::Yielded),
            Ok((false, Outcome::Done)) => SendOutcome::GoesOn,
            Err(kind) => {
                self.host.fault = Some(kind);
                SendOutcome::Failed
            }
        }
    }

    /// Sends the message of an operation; returns whether the thread ends with it, and the unit's outcome.
    #[inline(always)]
    fn try_send(
        &mut self,
        op: &Op,
        units: &mut (impl MessageUnit + ?Sized),
    ) -> Result<(bool, Outcome), FaultKind> {
        let Some(constant) = &op.message else {
            return Err(FaultKind::Unsupported("a message without descriptor"));
        };
        let message = self.message(op, constant);
        self.check(|checker, _| checker.message(op, &message));
        let outcome = units.send(&mut ThreadView::new(self, &message), &message);
        self.check(|checker, _| checker.response(&message));
        let outcome =
            outcome.map_err(|refusal| FaultKind::Message { sfid: message.sfid, refusal })?;
        Ok((message.end_of_thread, outcome))
    }
}

/// The continuation of a thread after a message, in a form for translated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// The thread continues.
    GoesOn,
    /// The thread ends, or stops after the message.
    Stops(Stop),
    /// The thread cannot continue: its host state contains the fault. A fault in this type would be returned through
    /// memory.
    Failed,
}
