//! SPIR-V to the IR.
