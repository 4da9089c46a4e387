//! Names of WGSL's `let`: naga knows them, but writes names of variables alone as SPIR-V. So each named value is stored to a variable of
//! its name, which nothing reads: the compiler's passes take the name and drop the variable.

use std::collections::HashMap;

use naga::proc::TypeResolution;
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    Block, Expression, Function, Handle, LocalVariable, Module, Span, Statement, Type, TypeInner,
    UniqueArena,
};

/// Gives each `let` of a module a variable. The module has to be validated again.
pub fn store(module: &mut Module, info: &ModuleInfo) {
    let types = &mut module.types;
    for (handle, function) in module.functions.iter_mut() {
        store_in(function, &info[handle], types);
    }
    for (number, entry) in module.entry_points.iter_mut().enumerate() {
        store_in(&mut entry.function, info.get_entry_point(number), types);
    }
}

fn store_in(function: &mut Function, info: &FunctionInfo, types: &mut UniqueArena<Type>) {
    let mut places: HashMap<Handle<Expression>, Handle<Expression>> = HashMap::new();
    for (&value, name) in &function.named_expressions {
        let ty = match &info[value].ty {
            TypeResolution::Handle(ty) => *ty,
            TypeResolution::Value(inner) => {
                types.insert(Type { name: None, inner: inner.clone() }, Span::UNDEFINED)
            }
        };
        if !matches!(types[ty].inner, TypeInner::Scalar(_) | TypeInner::Vector { .. }) {
            continue;
        }
        let span = function.expressions.get_span(value);
        let variable = LocalVariable { name: Some(name.clone()), ty, init: None };
        let variable = function.local_variables.append(variable, span);
        let pointer = function.expressions.append(Expression::LocalVariable(variable), span);
        places.insert(value, pointer);
    }
    if !places.is_empty() {
        store_below(&mut function.body, &places);
    }
}

/// Adds the stores to a block and those inside of it.
fn store_below(block: &mut Block, places: &HashMap<Handle<Expression>, Handle<Expression>>) {
    for (mut statement, span) in std::mem::take(block).span_into_iter() {
        match &mut statement {
            Statement::Block(inner) => store_below(inner, places),
            Statement::If { accept, reject, .. } => {
                store_below(accept, places);
                store_below(reject, places);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| store_below(&mut case.body, places));
            }
            Statement::Loop { body, continuing, .. } => {
                store_below(body, places);
                store_below(continuing, places);
            }
            _ => {}
        }
        let made: Vec<Handle<Expression>> = match &statement {
            Statement::Emit(range) => range.clone().collect(),
            Statement::Call { result: Some(result), .. } => vec![*result],
            _ => Vec::new(),
        };
        block.push(statement, span);
        for value in made {
            if let Some(&pointer) = places.get(&value) {
                block.push(Statement::Store { pointer, value }, span);
            }
        }
    }
}
