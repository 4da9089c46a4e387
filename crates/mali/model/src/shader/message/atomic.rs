//! Atomics. The lanes of a warp take their turn in order.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{AtomicOperation as With, AtomicOperation1 as WithOne};
use tepui_softgpu::Access;

use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::Row;
use crate::warp::trap::{Trap, failed};

/// Modifier in [`Op::flags`] above the operation: exchanges only if memory holds the compared value.
pub const COMPARE: u32 = 1 << 8;

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::ATOM_I32 | Isa::ATOM_RETURN_I32 => |l, op| atomic32(l, op, with),
            Isa::ATOM_I64 | Isa::ATOM_RETURN_I64 => |l, op| atomic64(l, op, with),
            Isa::ATOM1_RETURN_I32 => |l, op| atomic32(l, op, with_one),
            Isa::ATOM1_RETURN_I64 => |l, op| atomic64(l, op, with_one),
            _ => return None,
        })
    }
}

/// A type of atomics.
trait Integer: Copy + Ord {
    fn add(self, other: Self) -> Self;
    fn signed_min(self, other: Self) -> Self;
    fn signed_max(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn one() -> Self;
    fn minus_one() -> Self;
}

macro_rules! integer {
    ($type:ty, $signed:ty) => {
        impl Integer for $type {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn signed_min(self, other: Self) -> Self {
                (self as $signed).min(other as $signed) as $type
            }
            fn signed_max(self, other: Self) -> Self {
                (self as $signed).max(other as $signed) as $type
            }
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            fn one() -> Self {
                1
            }
            fn minus_one() -> Self {
                <$type>::MAX
            }
        }
    };
}

integer!(u32, i32);
integer!(u64, i64);

/// The new value of memory, from the old one, the operand and the compared value.
fn with<T: Integer>(flags: u32, old: T, operand: T, compared: T) -> T {
    if flags & COMPARE != 0 {
        return if old == compared { operand } else { old };
    }
    match flags & 0xff {
        o if o == With::Aadd as u32 => old.add(operand),
        o if o == With::Asmin as u32 => old.signed_min(operand),
        o if o == With::Asmax as u32 => old.signed_max(operand),
        o if o == With::Aumin as u32 => old.min(operand),
        o if o == With::Aumax as u32 => old.max(operand),
        o if o == With::Aand as u32 => old.and(operand),
        o if o == With::Aor as u32 => old.or(operand),
        o if o == With::Axor as u32 => old.xor(operand),
        _ => operand,
    }
}

/// The new value of memory, from the old one.
fn with_one<T: Integer>(flags: u32, old: T, _: T, _: T) -> T {
    match flags & 0xff {
        o if o == WithOne::Ainc as u32 => old.add(T::one()),
        o if o == WithOne::Adec as u32 => old.add(T::minus_one()),
        o if o == WithOne::Aumax1 as u32 => old.max(T::one()),
        o if o == WithOne::Asmax1 as u32 => old.signed_max(T::one()),
        _ => old.or(T::one()),
    }
}

/// The value of a staging register that the message reads; zero if it reads fewer.
fn read(l: &Lanes<'_, '_>, op: &Op, index: u8, lane: usize) -> u32 {
    let (register, count) = op.staging[1];
    match index < count {
        true => l.raw(u16::from(register + index)).0[lane],
        false => 0,
    }
}

fn atomic32(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    change: fn(u32, u32, u32, u32) -> u32,
) -> Result<(), Box<Trap>> {
    let addresses = l.get64(&op.src[0]);
    let mut old = Row::splat(0);
    for lane in l.writing() {
        let address = addresses[lane].wrapping_add(op.immediate.into());
        let address = l.port.address(address, lane, 4, Access::Atomic)?;
        let Some(address) = address else { continue };
        // The new value comes first, followed by the compared one.
        let (operand, compared) = (read(l, op, 0, lane), read(l, op, 1, lane));
        let change = |old| change(op.flags, old, operand, compared);
        old.0[lane] = l.port.memory.update_u32(address, change).map_err(failed)?;
    }
    if op.staging[0].1 > 0 {
        l.put_register(op.staging[0].0, &old);
    }
    Ok(())
}

fn atomic64(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    change: fn(u32, u64, u64, u64) -> u64,
) -> Result<(), Box<Trap>> {
    let addresses = l.get64(&op.src[0]);
    let mut old = [Row::splat(0); 2];
    for lane in l.writing() {
        let address = addresses[lane].wrapping_add(op.immediate.into());
        let address = l.port.address(address, lane, 8, Access::Atomic)?;
        let Some(address) = address else { continue };
        let pair = |l: &Lanes<'_, '_>, first| {
            u64::from(read(l, op, first, lane)) | u64::from(read(l, op, first + 1, lane)) << 32
        };
        let (operand, compared) = (pair(l, 0), pair(l, 2));
        let change = |old| change(op.flags, old, operand, compared);
        let value = l.port.memory.update_u64(address, change).map_err(failed)?;
        [old[0].0[lane], old[1].0[lane]] = [value as u32, (value >> 32) as u32];
    }
    l.put_staging(op, &old);
    Ok(())
}
