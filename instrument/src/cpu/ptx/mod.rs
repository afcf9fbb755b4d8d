//! Lowers inline PTX to LLVM IR: registers become values, or stack slots if there are branches; guards and branches
//! become blocks. Instructions without an equivalent in LLVM become calls to the support library, which are inlined
//! later.

mod barriers;
mod compare;
mod convert;
mod float;
mod integer;
mod matrix;
mod memory;
mod moves;
mod video;
mod warp;

use super::intrinsics::{PREFIX, PTX_PREFIX};
use crate::ir::{Block, Builder, Call, Module, Opcode, Type, Value, traits::*};
use crate::ptx::{Class, Guard, Instruction, Kind, Operand, Register, Statement, Template};
use anyhow::{Result, anyhow, bail};
use std::collections::HashMap;

pub fn lower(module: &Module, call: Call, template: &str, constraints: &str) -> Result<()> {
    let parsed = Template::parse(template)
        .map_err(|error| anyhow!("the CPU backend cannot read the PTX near `{error}`"));
    let lowered = parsed.and_then(|parsed| Code::new(module, call, &parsed, constraints).build());
    lowered.map_err(|error| {
        let text = template.split_whitespace().collect::<Vec<_>>().join(" ");
        let location = call.location();
        anyhow!("{location}: {error}, in asm \"{text}\"; run this program with --backend cuda")
    })
}

/// Operands of the call: results first, then arguments, some of which share a register with a result.
struct Operands<'m> {
    results: Vec<Type>,
    arguments: Vec<Value<'m>>,
    bits: Vec<u32>,
    registers: Vec<usize>,
}

impl<'m> Operands<'m> {
    fn new(call: Call<'m>, constraints: &str) -> Self {
        let results = match call.ty() {
            ty if ty.is_void_type() => Vec::new(),
            ty if ty.is_struct_type() => ty.members(),
            ty => vec![ty],
        };
        let arguments = call.arguments();
        let types = arguments.iter().map(|a| a.ty());
        let types: Vec<Type> = results.iter().copied().chain(types).collect();
        let mut operands = Operands {
            results,
            arguments,
            bits: Vec::new(),
            registers: Vec::new(),
        };
        for (index, (constraint, ty)) in constraints.split(',').zip(types).enumerate() {
            let letter = constraint.trim_start_matches(['=', '&', '+']);
            let tied = letter.parse().ok().filter(|tied| *tied < index);
            operands.registers.push(tied.unwrap_or(index));
            let bits = match (letter, tied) {
                (_, Some(tied)) => operands.bits[tied],
                ("b", _) => 1,
                ("h", _) => 16,
                ("r" | "f", _) => 32,
                ("l" | "d", _) => 64,
                ("q", _) => 128,
                _ if ty.is_int_type() => ty.scalar_bits(),
                _ => 64,
            };
            operands.bits.push(bits);
        }
        operands
    }
}

struct Code<'m, 't> {
    module: &'m Module,
    call: Call<'m>,
    builder: Builder<'m>,
    template: &'t Template,
    instruction: &'t Instruction,
    operands: Operands<'m>,
    /// Values of the registers written so far, as integers of the registers' widths, or the registers' stack slots.
    cells: HashMap<Register, Value<'m>>,
    /// The current block, if the code has more than one.
    block: Option<Block<'m>>,
    labels: HashMap<&'t str, Block<'m>>,
}

impl<'m, 't> Code<'m, 't> {
    fn new(module: &'m Module, call: Call<'m>, template: &'t Template, constraints: &str) -> Self {
        let mut code = Code {
            module,
            call,
            builder: Builder::before(call),
            template,
            instruction: &NONE,
            operands: Operands::new(call, constraints),
            cells: HashMap::new(),
            block: None,
            labels: HashMap::new(),
        };
        let needs_blocks = |statement: &Statement| match statement {
            Statement::Label(_) => true,
            Statement::Instruction(i) => i.guard.is_some() || i.opcode == "bra",
        };
        if template.statements.iter().any(needs_blocks) {
            code.make_blocks();
        }
        // An argument that shares a register with a result is the register's initial value.
        for index in code.operands.results.len()..code.operands.registers.len() {
            let register = code.operands.registers[index];
            if register != index {
                let value = code.operands.arguments[index - code.operands.results.len()];
                let bits = code.operands.bits[register];
                let value = code.integer(code.bits_of(value), bits, false);
                code.write(Register::Argument(register), value);
            }
        }
        code
    }

    fn make_blocks(&mut self) {
        let declared = (0..self.template.declared.len()).map(Register::Declared);
        let results = (0..self.operands.results.len()).map(Register::Argument);
        let entry = Builder::at_entry(self.call.parent_function());
        for register in declared.chain(results).chain([Register::Carry]) {
            let slot = entry.alloca(Type::int(self.width(register))).value();
            self.cells.insert(register, slot);
        }
        let rest = self.call.parent_block();
        self.enter(rest.split_before(self.call.instruction()));
        for statement in &self.template.statements {
            if let Statement::Label(name) = statement {
                let block = self.new_block();
                self.labels.insert(name, block);
            }
        }
    }

    fn new_block(&self) -> Block<'m> {
        self.call.parent_function().append_block("ptx")
    }

    fn enter(&mut self, block: Block<'m>) {
        self.block = Some(block);
        self.builder = Builder::at_end_for(block, self.call.instruction());
    }

    fn build(mut self) -> Result<()> {
        for statement in &self.template.statements {
            match statement {
                Statement::Label(name) => {
                    let target = self.labels[name.as_str()];
                    self.builder.branch(target);
                    self.enter(target);
                }
                Statement::Instruction(instruction) => self.guarded_instruction(instruction)?,
            }
        }
        if self.block.is_some() {
            self.builder.branch(self.call.parent_block());
            self.builder = Builder::before(self.call);
        }
        let result = |index: usize, ty: Type| {
            let value = self.read(Register::Argument(index));
            self.builder.with_bits(value, ty)
        };
        let ty = self.call.ty();
        if ty.is_struct_type() {
            let members = self.operands.results.iter().enumerate();
            let members = members.map(|(index, member)| result(index, *member));
            self.call
                .replace_uses_with(self.builder.structure(ty, members));
        } else if !ty.is_void_type() {
            self.call.replace_uses_with(result(0, ty));
        }
        self.call.erase();
        Ok(())
    }

    fn guarded_instruction(&mut self, instruction: &'t Instruction) -> Result<()> {
        let Some(Guard { predicate, negated }) = instruction.guard else {
            return self.instruction(instruction);
        };
        let condition = self.integer(self.read(predicate), 1, false);
        let (body, rest) = (self.new_block(), self.new_block());
        let (then, otherwise) = if negated { (rest, body) } else { (body, rest) };
        self.builder.branch_if(condition, then, otherwise);
        self.enter(body);
        self.instruction(instruction)?;
        self.builder.branch(rest);
        self.enter(rest);
        Ok(())
    }

    fn instruction(&mut self, instruction: &'t Instruction) -> Result<()> {
        self.instruction = instruction;
        let is_float = self.kinds().is_ok_and(|(_, kind)| kind.is_float());
        match instruction.opcode.as_str() {
            "bra" => self.branch(),
            "mov" | "selp" | "slct" | "cvta" | "isspacep" | "mapa" | "getctarank" => {
                moves::build(self)
            }
            "set" | "setp" | "testp" => compare::build(self),
            "cvt" => convert::build(self),
            "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "discard"
            | "applypriority" | "createpolicy" | "membar" | "fence" => memory::build(self),
            "cp" | "mbarrier" => barriers::build(self),
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "bar" | "barrier"
            | "nanosleep" | "exit" | "trap" | "brkpt" | "pmevent" | "griddepcontrol"
            | "setmaxnreg" => warp::build(self),
            "mma" | "wmma" | "ldmatrix" | "stmatrix" => matrix::build(self),
            name if name.starts_with('v') => video::build(self),
            "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh"
            | "copysign" => float::build(self),
            _ if is_float => float::build(self),
            _ => integer::build(self),
        }
    }

    fn branch(&mut self) -> Result<()> {
        let Some(Operand::Name(name)) = self.instruction.operands.first() else {
            return self.unknown();
        };
        let target = *self.known(self.labels.get(name.as_str()))?;
        self.builder.branch(target);
        // Code from here to the next label is unreachable.
        let block = self.new_block();
        self.enter(block);
        Ok(())
    }

    fn unknown<T>(&self) -> Result<T> {
        bail!(
            "the CPU backend does not support the PTX instruction `{}`",
            self.instruction.mnemonic()
        )
    }

    /// Unwraps a part of the instruction, which is unknown if it lacks that part.
    fn known<T>(&self, part: Option<T>) -> Result<T> {
        part.map_or_else(|| self.unknown(), Ok)
    }

    fn require(&self, condition: bool) -> Result<()> {
        self.known(condition.then_some(()))
    }

    fn has(&self, word: &str) -> bool {
        self.instruction.has(word)
    }

    fn one_of(&self, words: &[&'static str]) -> Result<&'static str> {
        self.known(words.iter().copied().find(|word| self.has(word)))
    }

    fn exactly<'a, T, const N: usize>(&self, items: &'a [T]) -> Result<&'a [T; N]> {
        items.try_into().or_else(|_| self.unknown())
    }

    fn kinds(&self) -> Result<(Kind, Kind)> {
        match self.instruction.kinds()[..] {
            [first, .., last] => Ok((first, last)),
            [kind] => Ok((kind, kind)),
            [] => self.unknown(),
        }
    }

    /// Returns the first operand, which is the result in most instructions.
    fn to(&self) -> Result<&'t Operand> {
        self.known(self.instruction.operands.first())
    }

    /// Returns the first `N` operands, and the others.
    fn first_operands<const N: usize>(&self) -> Result<(&'t [Operand; N], &'t [Operand])> {
        self.known(self.instruction.operands.split_first_chunk())
    }

    fn ftz(&self) -> &'static str {
        if self.has("ftz") { "_ftz" } else { "" }
    }

    /// Calls the support-library function with the instruction's name.
    fn same_named_function(&self, result: Type, arguments: &[Value<'m>]) -> Value<'m> {
        let name = self.instruction.mnemonic().replace('.', "_");
        self.support(&name, result, arguments)
    }

    fn width(&self, register: Register) -> u32 {
        match register {
            Register::Argument(index) => self.operands.bits.get(index).copied().unwrap_or(32),
            Register::Declared(index) => self.template.declared[index].register_bits(),
            Register::Carry => 1,
        }
    }

    /// Maps an operand that shares a register with a result to that result.
    fn shared(&self, register: Register) -> Register {
        match register {
            Register::Argument(index) => {
                let registers = &self.operands.registers;
                Register::Argument(registers.get(index).copied().unwrap_or(index))
            }
            other => other,
        }
    }

    /// Returns the argument in a register that is not written.
    fn argument(&self, register: Register) -> Option<Value<'m>> {
        let Register::Argument(index) = self.shared(register) else {
            return None;
        };
        let index = index.checked_sub(self.operands.results.len())?;
        self.operands.arguments.get(index).copied()
    }

    /// Returns the value of a register as an integer of its width.
    fn read(&self, register: Register) -> Value<'m> {
        let register = self.shared(register);
        let ty = Type::int(self.width(register));
        if let Some(argument) = self.argument(register) {
            return self.integer(self.bits_of(argument), self.width(register), false);
        }
        match self.cells.get(&register) {
            Some(slot) if self.block.is_some() => self.builder.load(ty, *slot),
            Some(value) => *value,
            None => ty.undef(),
        }
    }

    fn write(&mut self, register: Register, value: Value<'m>) {
        let register = self.shared(register);
        match self.cells.get(&register) {
            Some(slot) if self.block.is_some() => drop(self.builder.store(value, *slot)),
            _ => drop(self.cells.insert(register, value)),
        }
    }

    fn bits_of(&self, value: Value<'m>) -> Value<'m> {
        self.builder.bits_of(value)
    }

    fn integer(&self, value: Value<'m>, bits: u32, signed: bool) -> Value<'m> {
        self.builder.resize(value, bits, signed)
    }

    fn number(&self, bits: u32, value: u64) -> Value<'m> {
        Type::int(bits).constant(value)
    }

    fn binary(&self, operation: Opcode, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        self.builder.binary(operation, left, right)
    }

    /// Returns an operand as a value of a PTX type; 16-bit numbers are represented as integers.
    fn operand(&self, operand: &Operand, kind: Kind) -> Result<Value<'m>> {
        let bits = kind.register_bits();
        let value = match operand {
            Operand::Register(register) => self.integer(self.read(*register), bits, false),
            Operand::Not(register) => {
                let value = self.integer(self.read(*register), bits, false);
                self.binary(Opcode::Xor, value, self.number(bits, u64::MAX))
            }
            Operand::Special(name) => self.integer(self.special(name), bits, false),
            Operand::Name(name) if name == "WARP_SZ" => self.number(bits, 32),
            Operand::Integer(value) => self.integer(self.number(64, *value), bits, true),
            Operand::Single(value) if bits == 32 => self.number(32, u64::from(*value)),
            Operand::Single(value) if bits == 64 => {
                self.number(64, f64::from(f32::from_bits(*value)).to_bits())
            }
            Operand::Double(value) if bits == 32 => {
                self.number(32, u64::from((*value as f32).to_bits()))
            }
            Operand::Double(value) if bits == 64 => self.number(64, value.to_bits()),
            _ => bail!("the CPU backend does not support the operand {operand:?}"),
        };
        Ok(self.typed(value, kind))
    }

    fn typed(&self, bits: Value<'m>, kind: Kind) -> Value<'m> {
        self.builder.cast(Opcode::BitCast, bits, type_of(kind))
    }

    /// Writes a value to an operand's register, extending the value if the register is wider.
    fn define(&mut self, operand: &Operand, value: Value<'m>, signed: bool) -> Result<()> {
        match operand {
            Operand::Register(register) if self.argument(*register).is_none() => {
                let value = self.integer(self.bits_of(value), self.width(*register), signed);
                self.write(*register, value);
                Ok(())
            }
            Operand::Sink => Ok(()),
            _ => bail!("the CPU backend does not support the result {operand:?}"),
        }
    }

    /// Calls the support-library function for the PTX instruction `name`.
    fn support(&self, name: &str, result: Type, arguments: &[Value<'m>]) -> Value<'m> {
        self.call_named(&format!("{PTX_PREFIX}{name}"), result, arguments)
    }

    /// Calls a support-library function that performs the accesses at the inline assembly's sites.
    fn access(&self, name: &str, result: Type, arguments: &[Value<'m>]) -> Value<'m> {
        let access = self.support(name, result, arguments);
        let call = access.as_call().expect("a call is never folded");
        call.add_sites(&self.call.sites());
        access
    }

    fn intrinsic(&self, name: &str, result: Type, arguments: &[Value<'m>]) -> Value<'m> {
        self.call_named(&format!("{PREFIX}{name}"), result, arguments)
    }

    /// Calls the support library's implementation of an intrinsic without a result.
    fn act(&self, name: &str, arguments: &[Value<'m>]) -> Result<()> {
        self.intrinsic(name, Type::void(), arguments);
        Ok(())
    }

    fn call_named(&self, name: &str, result: Type, arguments: &[Value<'m>]) -> Value<'m> {
        let call = (self.builder).call_named(self.module, name, result, arguments);
        call.value()
    }

    fn special(&self, name: &str) -> Value<'m> {
        let name = name.trim_start_matches('%').replace('.', "_");
        if let Some(whole) = name.strip_suffix("_hi") {
            let whole = if whole == "clock" { "clock64" } else { whole };
            let high = self.binary(Opcode::LShr, self.special(whole), self.number(64, 32));
            return self.integer(high, 32, false);
        }
        let bits = match name.as_str() {
            "clock64" | "globaltimer" => 64,
            "is_explicit_cluster" => return self.intrinsic(&name, Type::int(1), &[]),
            "current_graph_exec" => return self.number(64, 0),
            "reserved_smem_offset_1" => return self.support("reserved_shared", Type::int(32), &[]),
            _ => 32,
        };
        let register = format!("read_ptx_sreg_{name}");
        self.intrinsic(&register, Type::int(bits), &[])
    }

    fn inputs(&self, kind: Kind) -> Result<Vec<Value<'m>>> {
        self.values(self.instruction.operands.get(1..).unwrap_or_default(), kind)
    }

    fn values(&self, operands: &[Operand], kind: Kind) -> Result<Vec<Value<'m>>> {
        let values = operands.iter().map(|operand| self.operand(operand, kind));
        values.collect()
    }

    fn define_all(
        &mut self,
        operands: &[Operand],
        values: Vec<Value<'m>>,
        signed: bool,
    ) -> Result<()> {
        let mut results = operands.iter().zip(values);
        results.try_for_each(|(operand, value)| self.define(operand, value, signed))
    }

    fn lanes(&self, value: Value<'m>, kind: Kind) -> Vec<Value<'m>> {
        if kind.lanes == 1 {
            return vec![value];
        }
        let lane = |index: u32| {
            let amount = self.number(kind.register_bits(), u64::from(index * kind.bits));
            let low = self.binary(Opcode::LShr, value, amount);
            self.integer(low, kind.bits, false)
        };
        (0..kind.lanes).map(lane).collect()
    }

    /// Packs lanes into a register.
    fn join(&self, lanes: &[Value<'m>], kind: Kind) -> Value<'m> {
        if let [lane] = lanes {
            return *lane;
        }
        let bits = kind.register_bits();
        (0..)
            .zip(lanes)
            .fold(self.number(bits, 0), |whole, (index, lane)| {
                let wide = self.integer(self.bits_of(*lane), bits, false);
                let amount = self.number(bits, index * u64::from(kind.bits));
                let shifted = self.binary(Opcode::Shl, wide, amount);
                self.binary(Opcode::Or, whole, shifted)
            })
    }

    fn map_lanes(
        &self,
        inputs: &[Value<'m>],
        kind: Kind,
        operation: impl Fn(&[Value<'m>]) -> Result<Value<'m>>,
    ) -> Result<Value<'m>> {
        let inputs: Vec<Vec<Value>> = inputs.iter().map(|v| self.lanes(*v, kind)).collect();
        let results = (0..kind.lanes as usize).map(|lane| {
            let numbers: Vec<Value> = inputs.iter().map(|lanes| lanes[lane]).collect();
            operation(&numbers)
        });
        Ok(self.join(&results.collect::<Result<Vec<_>>>()?, kind))
    }
}

static NONE: Instruction = Instruction {
    guard: None,
    opcode: String::new(),
    modifiers: Vec::new(),
    operands: Vec::new(),
};

/// Returns the type that the support library uses for values of a PTX type.
fn type_of(kind: Kind) -> Type {
    match (kind.class, kind.register_bits()) {
        (Class::Float, 32) if kind.lanes == 1 => Type::float(),
        (Class::Float, 64) if kind.lanes == 1 => Type::double(),
        (_, bits) => Type::int(bits),
    }
}
