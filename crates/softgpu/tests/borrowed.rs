//! Memory that a client owns. The only test of its process: another thread could map pages where the
//! client's were.

use tepui_softgpu::Memory;

#[test]
fn borrowed_pages_stay_and_may_go() {
    let own = Memory::new(4 << 12).expect("memory");
    // SAFETY: the block outlives the mapping that borrows it, except for the last check.
    let borrowed = unsafe { Memory::borrowed(own.base(), 2 << 12) }.expect("whole pages");
    // SAFETY: inside of the block.
    unsafe { *borrowed.base() = 7 };
    assert!(borrowed.is_mapped() && borrowed.is_borrowed());
    for (offset, size) in [(1, 4096), (0, 100), (0, 0)] {
        // SAFETY: refused.
        let made = unsafe { Memory::borrowed(own.base().wrapping_add(offset), size) };
        assert!(made.is_err());
    }
    // SAFETY: inside of the block, which the borrowed one has not unmapped.
    assert_eq!(unsafe { *own.base() }, 7);
    drop(own);
    assert!(!borrowed.is_mapped());
}
