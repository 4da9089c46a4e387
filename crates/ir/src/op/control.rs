//! Structured control flow and terminators.

macro_rules! control_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Runs the first region when the condition holds, else the second; the results are the operands of the `yield` that ends the region taken.
    If "if" (B1) -> (Rest) : If [REGIONS] = Fold::None;
    /// Runs the body until `break`. Operands are the first values of the body's parameters, `continue` gives the next, `break` the results.
    Loop "loop" (Rest) -> (Rest) : Loop [REGIONS] = Fold::None;
    /// Ends a region of an `if` (operands: its results) or the whole shader (no operands).
    Yield "yield" (Rest) -> () [TERM] = Fold::None;
    /// Leaves the innermost loop; from any depth of `if`s.
    Break "break" (Rest) -> () [TERM] = Fold::None;
    /// Starts the next iteration of the innermost loop; from any depth of `if`s.
    Continue "continue" (Rest) -> () [TERM] = Fold::None;
] $($rest)* } }; }
pub(super) use control_ops;
