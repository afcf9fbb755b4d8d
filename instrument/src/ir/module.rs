//! Reads, links, verifies, optimises and writes the module.

use super::traits::*;
use super::{Function, Instruction, Linkage, Signature, Type, Value, Variable, context, ext};
use anyhow::{Context as _, Result, anyhow, bail};
use inkwell::intrinsics::Intrinsic;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::support::LLVMString;
use inkwell::targets::*;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, PointerValue, UnnamedAddress};
use inkwell::{AddressSpace, OptimizationLevel};
use std::cell::{Cell, RefCell};
use std::path::Path;

/// Describes a failure with LLVM's reason, without the quotes that its `Display` adds.
fn failed(what: &str, reason: &LLVMString) -> anyhow::Error {
    anyhow!("{what}: {}", reason.to_string_lossy().trim())
}

pub struct Machine(TargetMachine);

impl Machine {
    pub fn nvptx(gpu: &str) -> Result<Self> {
        Target::initialize_nvptx(&PASSES_ONLY);
        Self::new("nvptx64-nvidia-cuda", gpu)
    }

    /// Creates the machine for the x86-64 processor that LLVM calls `cpu`, such as `x86-64-v3`.
    pub fn x86(cpu: &str) -> Result<Self> {
        Target::initialize_x86(&PASSES_ONLY);
        Self::new("x86_64-pc-linux-gnu", cpu)
    }

    fn new(name: &str, cpu: &str) -> Result<Self> {
        let triple = TargetTriple::create(name);
        let target = Target::from_triple(&triple).map_err(|reason| {
            let what = format!("this LLVM cannot generate code for {name}");
            let reason = failed(&what, &reason);
            anyhow!("{reason}; repair it with `cargo xtask setup`")
        })?;
        let (level, model) = (OptimizationLevel::Aggressive, CodeModel::Default);
        let machine = target.create_target_machine(&triple, cpu, "", level, RelocMode::PIC, model);
        let machine = machine.unwrap_or_else(|| panic!("LLVM has no machine {name} {cpu}"));
        Ok(Machine(machine))
    }
}

/// Initialises a target for optimising code, but not for emitting it.
const PASSES_ONLY: InitializationConfig = InitializationConfig {
    asm_parser: false,
    asm_printer: false,
    base: true,
    disassembler: false,
    info: true,
    machine_code: true,
};

pub struct Module {
    inner: inkwell::module::Module<'static>,
    /// Names of superseded functions and variables, and of their replacements.
    superseded: RefCell<Vec<(String, String)>>,
}

impl Module {
    /// Reads bitcode or IR text; can be called once per thread.
    pub fn read(path: &Path) -> Result<Self> {
        thread_local! {
            static READ: Cell<bool> = const { Cell::new(false) };
        }
        assert!(!READ.replace(true), "a thread reads one module");
        Self::parse(path)
    }

    fn parse(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("failed to read {name}"))?;
        let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, &name);
        let parsed = context().create_module_from_ir(buffer);
        let module = Module {
            inner: parsed.map_err(|reason| failed(&format!("failed to read {name}"), &reason))?,
            superseded: RefCell::default(),
        };
        for function in module.defined_functions() {
            if let Some(ty) = ext::unsupported_type(function) {
                let function = function.name();
                bail!(
                    "failed to read {name}: {function} has a value of LLVM's type `{ty}`, which is not supported"
                );
            }
        }
        Ok(module)
    }

    /// Returns the name of the (first) source file from which the module was compiled.
    pub fn source(&self) -> String {
        let name = self.inner.get_source_file_name();
        name.to_string_lossy().into_owned()
    }

    /// Links a file's module into this one, after calling `prepare` on it. `stage` names this module's preceding step.
    pub fn link(&mut self, stage: &str, path: &Path, prepare: impl FnOnce(&Module)) -> Result<()> {
        self.verify(stage)?;
        let mut other = Self::parse(path)?;
        prepare(&other);
        // The flag has already been applied to each unit's code: as with nvcc, units with and without `-use_fast_math`
        // can be linked.
        ext::copy_flag(&other.inner, &self.inner, "nvvm-reflect-ftz");
        other.verify("reading the input")?;
        let unit = other.source();
        ext::link(&mut self.inner, other.inner, unit)
    }

    /// Replaces `old` with `new`, immediately in instructions; deletes `old` once no handle can point to it.
    pub fn supersede<'m>(&'m self, old: Value<'m>, new: Value<'m>) {
        assert!(old != new && old.ty() == new.ty());
        for user in old.using_instructions() {
            user.replace_operand(old, new);
        }
        if old.name().is_empty() {
            old.rename("superstep.superseded");
        }
        let pair = (old.name(), new.name());
        self.superseded.borrow_mut().push(pair);
    }

    fn global(&self, name: &str) -> Option<Value<'_>> {
        let function = self.function(name).map(|function| function.value());
        function.or_else(|| Some(self.variable(name)?.value()))
    }

    /// Deletes superseded functions and variables, after replacing their remaining uses in constants.
    pub(super) fn settle(&mut self) {
        for (old, new) in self.superseded.take() {
            let [old_address, new_address] = [&old, &new].map(|name| {
                let global = self.global(name).map(|global| global.basic());
                let global = global.expect("a superseded global keeps its name");
                global.into_pointer_value()
            });
            Self::replace_address(old_address, new_address);
            self.delete(|module| module.global(&old));
        }
    }

    /// Replaces `old` with `new`. This frees constants that refer to `old`, so only functions that take the module by
    /// `&mut` may call it.
    #[expect(clippy::disallowed_methods, reason = "no handles to constants exist")]
    pub(super) fn replace_address<'m>(old: PointerValue<'m>, new: PointerValue<'m>) {
        old.replace_all_uses_with(new);
    }

    pub fn delete_unused(&mut self, name: &str) {
        self.settle();
        self.delete(|module| module.global(name));
    }

    /// Runs LLVM's verifier; `stage` names the preceding step.
    pub fn verify(&mut self, stage: &str) -> Result<()> {
        self.settle();
        let what = format!("{stage} produced IR that LLVM rejects");
        self.inner.verify().map_err(|reason| failed(&what, &reason))
    }

    pub fn functions(&self) -> Vec<Function<'_>> {
        self.inner.get_functions().collect()
    }

    pub fn defined_functions(&self) -> Vec<Function<'_>> {
        let functions = self.functions().into_iter();
        functions.filter(|f| !f.is_declaration()).collect()
    }

    /// Iterates over the functions' instructions, which are collected one function at a time.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        let functions = self.defined_functions().into_iter();
        functions.flat_map(|function| function.instructions())
    }

    pub fn kernels(&self) -> Vec<Function<'_>> {
        let functions = self.defined_functions().into_iter();
        functions.filter(|f| f.is_kernel()).collect()
    }

    pub fn variables(&self) -> Vec<Variable<'_>> {
        self.inner.get_globals().collect()
    }

    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        self.inner.get_function(name)
    }

    pub fn variable(&self, name: &str) -> Option<Variable<'_>> {
        self.inner.get_global(name)
    }

    pub fn add_function(&self, name: &str, signature: Signature) -> Function<'_> {
        self.inner.add_function(name, signature, None)
    }

    pub fn declare(&self, name: &str, signature: Signature) -> Function<'_> {
        self.function(name)
            .unwrap_or_else(|| self.add_function(name, signature))
    }

    /// Whether the module has the mark `name`: named metadata, which passes, linking and writing preserve.
    pub fn is_marked(&self, name: &str) -> bool {
        self.inner.get_global_metadata_size(name) > 0
    }

    pub fn mark(&self, name: &str) {
        let node = context().metadata_node(&[]);
        let added = self.inner.add_global_metadata(name, &node);
        added.expect("an empty list is a node");
    }

    pub fn add_variable(&self, name: &str, ty: Type) -> Variable<'_> {
        self.add_variable_in(name, ty, 0)
    }

    pub fn add_variable_in(&self, name: &str, ty: Type, space: u32) -> Variable<'_> {
        let space = AddressSpace::try_from(space).expect("an address space");
        self.inner.add_global(ty.basic(), Some(space), name)
    }

    /// Adds a private constant variable.
    pub fn add_constant<'m>(&'m self, name: &str, value: Value<'m>) -> Variable<'m> {
        let variable = self.add_variable(name, value.ty());
        variable.set_initial_value(value);
        variable.set_constant(true);
        variable.set_linkage(Linkage::Private);
        variable.set_unnamed_address(UnnamedAddress::Global);
        variable
    }

    pub fn add_string(&self, name: &str, bytes: &[u8]) -> Variable<'_> {
        self.add_constant(name, context().const_string(bytes, true).value())
    }

    pub fn constant_struct<'m>(&'m self, members: &[Value<'m>]) -> Value<'m> {
        assert!(members.iter().all(|member| member.is_known()));
        let members: Vec<BasicValueEnum> = members.iter().map(|member| member.basic()).collect();
        context().const_struct(&members, false).value()
    }

    pub fn constant_array<'m>(&'m self, element: Type, values: &[Value<'m>]) -> Value<'m> {
        assert!(values.iter().all(|v| v.is_known() && v.ty() == element));
        let values = values.iter();
        match element {
            Type::StructType(ty) => {
                let values: Vec<_> = values.map(|value| value.into_struct_value()).collect();
                ty.const_array(&values).value()
            }
            ty => {
                let values: Vec<_> = values.map(|value| value.into_int_value()).collect();
                ty.into_int_type().const_array(&values).value()
            }
        }
    }

    /// Returns the number of bytes that storing a value of `ty` writes.
    pub fn store_size_bytes(&self, ty: Type) -> u64 {
        ext::layout(&self.inner).get_store_size(&ty.basic())
    }

    /// Returns the size of a global variable of `ty`.
    pub fn allocated_size_bytes(&self, ty: Type) -> u64 {
        ext::layout(&self.inner).get_abi_size(&ty.basic())
    }

    pub fn member_offset_bytes(&self, ty: Type, index: u32) -> u64 {
        let offset = ext::layout(&self.inner).offset_of_element(&ty.into_struct_type(), index);
        offset.expect("a member of the structure")
    }

    pub fn alignment_bytes(&self, ty: Type) -> u64 {
        u64::from(ext::layout(&self.inner).get_abi_alignment(&ty.basic()))
    }

    /// Runs a pass pipeline in LLVM's notation. `stage` names the preceding step.
    pub fn run_passes(&mut self, stage: &str, passes: &str, machine: &Machine) -> Result<()> {
        self.verify(stage)?;
        let options = PassBuilderOptions::create();
        pass_result(passes, self.inner.run_passes(passes, &machine.0, options))
    }

    pub fn run_function_passes(
        &mut self,
        name: &str,
        passes: &str,
        machine: &Machine,
    ) -> Result<()> {
        self.settle();
        let Some(function) = self.function(name).filter(|f| !f.is_declaration()) else {
            return Ok(());
        };
        if !function.verify(false) {
            return self.verify("preparing a function for passes");
        }
        let options = PassBuilderOptions::create();
        pass_result(passes, function.run_passes(passes, &machine.0, options))
    }

    pub fn set_target(&self, machine: &Machine) {
        self.inner.set_triple(&machine.0.get_triple());
        let layout = machine.0.get_target_data().get_data_layout();
        self.inner.set_data_layout(&layout);
    }

    pub fn write(&mut self, stage: &str, path: &Path) -> Result<()> {
        self.verify(stage)?;
        let bitcode = self.inner.write_bitcode_to_memory();
        std::fs::write(path, bitcode.as_slice())
            .with_context(|| format!("failed to write {}", path.display()))
    }

    pub fn print(&self) -> String {
        self.inner.print_to_string().to_string_lossy().into_owned()
    }

    pub fn intrinsic(&self, name: &str, overloads: &[Type]) -> Function<'_> {
        let types: Vec<BasicTypeEnum> = overloads.iter().map(|ty| ty.basic()).collect();
        let intrinsic = Intrinsic::find(name);
        let declared = intrinsic.and_then(|found| found.get_declaration(&self.inner, &types));
        declared.unwrap_or_else(|| panic!("LLVM has no intrinsic {name}"))
    }
}

fn pass_result(passes: &str, outcome: std::result::Result<(), LLVMString>) -> Result<()> {
    outcome.map_err(|reason| failed(&format!("failed to run the passes {passes}"), &reason))
}
