//! Constants and the building and taking apart of vectors.

macro_rules! vector_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// A scalar constant. Vectors of constants are built with `vec`.
    Const "const" () -> (T) : Const [PURE] = Fold::Whole(|w, o| if let Attrs::Const(c) = w.attrs { o.push(*c) });
    /// Any bits; each use may see other bits.
    Undef "undef" () -> (T) [PURE] = Fold::None;
    /// The same value.
    Copy "copy" (T) -> (T) [PURE] = uint!(n; a => a);
    /// A vector from scalars of its component type, one operand per component.
    Vec "vec" (Rest) -> (Any) [PURE] = Fold::Whole(|w, o| o.extend(w.args.iter().map(|a| a.1[0])));
    /// One component, by constant index.
    Extract "extract" (Any) -> (Any) : Index [PURE] = Fold::Whole(|w, o| if let Attrs::Index(i) = w.attrs { o.push(w.args[0].1[*i as usize]) });
    /// One component, by index; 0 when the index is out of range.
    ExtractDyn "extract_dyn" (T, S32) -> (E) [PURE] = Fold::Whole(|w, o| o.push(w.args[0].1.get(w.args[1].1[0] as usize).copied().unwrap_or(0)));
    /// The vector with one component replaced, by index; unchanged when the index is out of range: (vector, scalar, index).
    InsertDyn "insert_dyn" (T, E, S32) -> (T) [PURE] = Fold::Whole(|w, o| { let at = o.len(); o.extend(w.args[0].1); if let Some(c) = o.get_mut(at..).and_then(|s| s.get_mut(w.args[2].1[0] as usize)) { *c = w.args[1].1[0]; } });
    /// Sum of the products of the components.
    FDot "fdot" (F, F) -> (E) [PURE, COMM, FLOAT] = Fold::Whole($crate::op::lanes::fdot);
    /// Any component true.
    BAny "bany" (B) -> (B1) [PURE] = Fold::Whole(|w, o| o.push(u64::from(w.args[0].1.iter().any(|c| c & 1 != 0))));
    /// All components true.
    BAll "ball" (B) -> (B1) [PURE] = Fold::Whole(|w, o| o.push(u64::from(w.args[0].1.iter().all(|c| c & 1 != 0))));
] $($rest)* } }; }
pub(super) use vector_ops;
