//! Pointer arguments that naga's SPIR-V writer cannot write: pointers to a part of a variable.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Block, Expression, Function, Handle, Module, Statement, TypeInner};

use super::place;
use crate::source::SourceError;

/// Checks the arguments of all calls.
///
/// # Errors
/// An argument is a pointer to a member, a component or an element.
pub fn check(module: &Module, info: &ModuleInfo, text: &str) -> Result<(), SourceError> {
    let functions = module.functions.iter().map(|(handle, f)| (f, &info[handle]));
    let entries = module.entry_points.iter().enumerate();
    let entries = entries.map(|(n, entry)| (&entry.function, info.get_entry_point(n)));
    for (function, info) in functions.chain(entries) {
        let Some((argument, callee)) = find(function, info, module, &function.body) else {
            continue;
        };
        let part = match function.expressions[argument] {
            Expression::AccessIndex { .. } => "a member or an element",
            _ => "an element",
        };
        let callee = module.functions[callee].name.as_deref().unwrap_or("a function");
        let message = format!(
            "a pointer to {part} of a variable as an argument of `{callee}`: naga writes no SPIR-V for it. \
             Pass a pointer to a variable, or the value"
        );
        let span = function.expressions.get_span(argument);
        let error = std::io::Error::other(message.clone());
        let error = naga::WithSpan::new(error).with_span(span, "this argument");
        let place = span.is_defined().then(|| place(span.location(text)));
        let whole = format!("naga: {}", error.emit_to_string(text));
        return Err(SourceError { message, place, whole });
    }
    Ok(())
}

/// The first such argument in a block, and the function that is called.
fn find(
    f: &Function,
    info: &FunctionInfo,
    module: &Module,
    block: &Block,
) -> Option<(Handle<Expression>, Handle<Function>)> {
    block.iter().find_map(|statement| match statement {
        Statement::Call { function, arguments, .. } => {
            let part = |&&a: &&Handle<Expression>| {
                matches!(
                    f.expressions[a],
                    Expression::Access { .. } | Expression::AccessIndex { .. }
                ) && matches!(
                    info[a].ty.inner_with(&module.types),
                    TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. }
                )
            };
            arguments.iter().find(part).map(|&a| (a, *function))
        }
        Statement::Block(inner) => find(f, info, module, inner),
        Statement::If { accept, reject, .. } => {
            find(f, info, module, accept).or_else(|| find(f, info, module, reject))
        }
        Statement::Switch { cases, .. } => {
            cases.iter().find_map(|case| find(f, info, module, &case.body))
        }
        Statement::Loop { body, continuing, .. } => {
            find(f, info, module, body).or_else(|| find(f, info, module, continuing))
        }
        _ => None,
    })
}
