//! Reads and links a program's translation units, and rejects incomplete programs.

use crate::ir::{Builder, Module, Type, Variable, space, traits::*};
use crate::semantics::assembly;
use anyhow::{Result, bail};
use std::collections::HashMap;
use std::path::PathBuf;
use superstep_trace::display_name;

/// Reads and links the device IR of all units. Also returns the names of their sources.
pub fn link(inputs: &[PathBuf]) -> Result<(Module, Vec<String>)> {
    let mut module = Module::read(&inputs[0])?;
    let mut sources = vec![module.source()];
    prepare(&module);
    for path in &inputs[1..] {
        module.link("reading the input", path, |other| {
            sources.push(other.source());
            prepare(other);
        })?;
    }
    Ok((module, sources))
}

/// Corrects the IR of a unit, in case it has not been prepared yet.
fn prepare(module: &Module) {
    assembly::declare(module);
    assembly::drop_unused(module);
    join_static_variables(module);
}

/// Joins the declarations and definitions of static variables. If the host also uses a static variable, Clang gives it
/// a unique name; device code that has already used the variable then refers to an undefined declaration under the old
/// name.
fn join_static_variables(module: &Module) {
    let (declared, defined): (Vec<Variable>, Vec<Variable>) =
        (module.variables().into_iter()).partition(|v| v.is_declaration());
    let definitions: HashMap<String, Variable> = (defined.into_iter())
        .filter_map(|v| Some((v.name().split_once(STATIC)?.0.to_owned(), v)))
        .collect();
    for variable in declared {
        if let Some(definition) = definitions.get(&variable.name())
            && definition.ty() == variable.ty()
        {
            module.supersede(variable.value(), definition.value());
        }
    }
}

/// Separator between a static variable's name and its unique suffix.
const STATIC: &str = "__static__";

/// Describes the unsupported feature behind `name`, a function of CUDA's device runtime; returns `None` for other
/// functions.
fn unsupported_feature(name: &str) -> Option<&'static str> {
    let suffix = name.strip_prefix("__cudaCDP2");
    let suffix = suffix.or(name.strip_prefix("cuda"))?;
    Some(match suffix {
        "GraphSetConditional" => {
            "conditional graph nodes; let the host decide which graphs it launches"
        }
        "GraphLaunch" => "graphs launched from the device; launch the graph from the host",
        _ if suffix.starts_with(|first: char| first.is_ascii_uppercase()) => {
            "this function of CUDA's device runtime; call it from the host"
        }
        _ => return None,
    })
}

/// Rejects shuffles and votes without a mask, for which newer GPUs have no instruction.
pub fn reject_unmasked(module: &Module, arch: u32) -> Result<()> {
    let removed = |name: &str| {
        ["llvm.nvvm.shfl.", "llvm.nvvm.vote."].iter().any(|start| {
            // The position of `sync` varies: `shfl.sync.down.i32`, but `vote.any.sync`.
            let rest = name.strip_prefix(start);
            rest.is_some_and(|rest| rest.split('.').all(|word| word != "sync"))
        })
    };
    let functions = module.functions().into_iter();
    for function in functions.filter(|f| arch >= 70 && f.is_intrinsic() && removed(&f.name())) {
        if let Some(user) = function.users_in_code().first() {
            bail!(
                "{}: {} uses {}, which GPUs from sm_70 on do not support, and is compiled for sm_{arch}; call the function whose name \
                 ends in _sync instead, or compile for an older architecture",
                user.location(),
                display_name(&user.parent_function().name()),
                function.name()
            );
        }
    }
    Ok(())
}

/// Entries of virtual-function tables for pure and deleted functions.
const UNCALLABLE: [&str; 2] = ["__cxa_pure_virtual", "__cxa_deleted_virtual"];

/// Defines pure and deleted virtual functions as traps if they are used, as nvcc does.
pub fn define_missing_virtuals(module: &Module) {
    let functions = UNCALLABLE.into_iter();
    let functions = functions.filter_map(|name| module.function(name));
    for function in functions.filter(|f| f.is_declaration()) {
        let trap = module.declare("llvm.trap", Type::void().function(&[]));
        let builder = Builder::at_end(function.append_block("entry"));
        builder.call(trap, &[]);
        builder.unreachable();
        function.make_internal();
    }
}

/// Functions that CUDA defines.
const CUDA_FUNCTIONS: &[&str] = &["vprintf", "malloc", "free", "__assertfail", "__assert_fail"];

/// Rejects a module that uses a function or variable without a definition. `units` names the module's sources;
/// `is_provided` is true for functions that the backend defines.
pub fn reject_undefined(
    module: &Module,
    units: &str,
    is_provided: impl Fn(&str) -> bool,
) -> Result<()> {
    let is_defined = |name: &str| CUDA_FUNCTIONS.contains(&name) || is_provided(name);
    let functions = (module.functions().into_iter())
        .filter(|f| f.is_declaration() && !f.is_intrinsic() && !is_defined(&f.name()));
    // Dynamic shared memory is declared without a size, and allocated by each launch.
    let variables = module.variables().into_iter();
    let variables =
        variables.filter(|v| v.is_declaration() && v.ty().address_space() != space::SHARED);
    let missing = functions
        .map(|f| ("function", f.value()))
        .chain(variables.map(|v| ("variable", v.value())));
    for (kind, value) in missing {
        if let Some(user) = value.users_in_code().first() {
            let location = user.location();
            let user = display_name(&user.parent_function().name());
            let name = display_name(&value.name());
            let feature = unsupported_feature(&value.name());
            if let Some(feature) = feature.filter(|_| kind == "function") {
                bail!("{location}: {user} calls {name}: Superstep does not support {feature}");
            }
            bail!(
                "{location}: {user} uses the device {kind} {name}, which is not defined in {units}; add the file that defines it, and \
                 compile with -fgpu-rdc (nvcc: -rdc=true) if a file uses device code from another"
            );
        }
    }
    Ok(())
}
