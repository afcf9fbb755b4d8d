//! The units of a program: read, linked into one module, and refused when something is missing.

use crate::ir::{Function, Module, ModuleError, Value};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use superstep_trace::display_name;
use thiserror::Error;

/// Reads the device IR of all units and links it. Returns the names of their sources too.
pub fn link(first: &Path, rest: &[PathBuf]) -> Result<(Module, Vec<String>), ModuleError> {
    let module = Module::read(first)?;
    let mut sources = vec![module.source()];
    join_static_variables(&module);
    for path in rest {
        let other = module.read_other(path)?;
        sources.push(other.source());
        join_static_variables(&other);
        module.link(other)?;
    }
    Ok((module, sources))
}

/// Clang gives a static variable that the host names too a name of its own in the whole program. Where device code named it
/// first, that code is left with a declaration under the old name, which nothing defines: both are one variable.
fn join_static_variables(module: &Module) {
    let (declared, defined): (Vec<Value>, Vec<Value>) =
        (module.globals().into_iter()).partition(|v| v.is_declaration());
    let definitions: HashMap<String, Value> = (defined.into_iter())
        .filter_map(|v| Some((v.name().split_once(STATIC)?.0.to_owned(), v)))
        .collect();
    for variable in declared {
        if let Some(definition) = definitions.get(&variable.name()) {
            variable.replace_all_uses_with(*definition);
            variable.erase_variable();
        }
    }
}

/// What stands between a static variable's name and what tells it from those of other units.
const STATIC: &str = "__static__";

/// A symbol that would be missing when the program is linked.
#[derive(Debug, Error)]
#[error(
    "{location}: {user} uses the device {kind} {name}, which is defined in none of {units}; add the file that defines it, and \
     compile with -fgpu-rdc (nvcc: -rdc=true) if device code of several files belongs together"
)]
pub struct Undefined {
    location: crate::ir::Location,
    user: String,
    kind: &'static str,
    name: String,
    units: String,
}

/// What CUDA itself brings to device code.
const PROVIDED: &[&str] = &["vprintf", "malloc", "free", "__assertfail", "__assert_fail"];

/// Refuses a module in which something is only declared. `units` names its sources.
pub fn refuse(module: &Module, units: &str) -> Result<(), Undefined> {
    let functions = module.functions().into_iter().filter(|f| {
        f.is_declaration() && !f.is_intrinsic() && !PROVIDED.contains(&f.name().as_str())
    });
    // The array of dynamic shared memory is declared without a size and defined by each launch.
    let variables = module
        .globals()
        .into_iter()
        .filter(|g| g.is_declaration() && g.ty().address_space() != 3);
    let missing = functions
        .map(|f| ("function", f.value()))
        .chain(variables.map(|v| ("variable", v)));
    for (kind, value) in missing {
        if let Some(user) = instruction_with(value, &mut HashSet::new()) {
            let function: Function = user.parent_function();
            return Err(Undefined {
                location: user.location(),
                user: display_name(&function.name()),
                kind,
                name: display_name(&value.name()),
                units: units.to_owned(),
            });
        }
    }
    Ok(())
}

/// An instruction that uses a value, directly or through constants.
fn instruction_with(value: Value, seen: &mut HashSet<Value>) -> Option<Value> {
    value.users().into_iter().find_map(|user| {
        if user.is_instruction() {
            Some(user)
        } else if seen.insert(user) {
            instruction_with(user, seen)
        } else {
            None
        }
    })
}
