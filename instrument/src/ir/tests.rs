//! Tests that handles stay valid, and that calls that would invalidate them panic.

use super::traits::*;
use super::{Builder, Module, Opcode, Type};

const TEXT: &str = "
@old = external global i32
@new = global i32 0
@table = global ptr @old
define i32 @f(i32 %a) {
  %sum = add i32 %a, 1
  %value = load i32, ptr @old
  %both = add i32 %sum, %value
  %odd = trunc i32 %both to i1
  br i1 %odd, label %end, label %end
end:
  ret i32 %both
}
";

fn module() -> Module {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.ll");
    std::fs::write(&path, TEXT).unwrap();
    Module::read(&path).unwrap()
}

#[test]
fn erased_instructions_stay_valid_outside_blocks() {
    let mut module = module();
    let function = module.function("f").unwrap();
    let sum = function.instructions()[0];
    let builder = Builder::before(sum);
    sum.replace_uses_with(Type::int(32).constant(7));
    sum.erase();
    assert_eq!(sum.get_opcode(), Opcode::Add);
    assert_eq!(function.instructions().len(), 5);
    assert!(function.parameters()[0].users().is_empty());
    let seven = Type::int(32).constant(7);
    let assert_panics = |act: &dyn Fn()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_err();
    };
    assert_panics(&|| {
        sum.next();
    });
    assert_panics(&|| sum.erase());
    assert_panics(&|| {
        builder.binary(Opcode::Add, function.parameters()[0], seven);
    });
    drop(builder);
    module.verify("the test").unwrap();
}

#[test]
#[should_panic(expected = "operand 2 of 2")]
fn operand_index_out_of_range_panics() {
    let module = module();
    let sum = module.function("f").unwrap().instructions()[0];
    sum.operand(2);
}

#[test]
fn blocks_are_successors_but_not_operands() {
    let module = module();
    let function = module.function("f").unwrap();
    let [odd, branch, _] = function.instructions()[3..] else {
        panic!("the body has six instructions");
    };
    assert_eq!(branch.operand_count(), 3);
    assert_eq!(branch.operands(), [odd.value()]);
    let end = function.get_last_basic_block().unwrap();
    assert_eq!(branch.parent_block().successors(), [end, end]);
}

#[test]
#[should_panic(expected = "assertion failed")]
fn replacing_uses_of_a_variable_panics() {
    let module = module();
    let [old, new] = ["old", "new"].map(|name| module.variable(name).unwrap());
    old.replace_uses_with(new.value());
}

#[test]
#[should_panic(expected = "a thread reads one module")]
fn reading_a_second_module_panics() {
    let _first = module();
    module();
}

#[test]
fn superseded_variables_are_deleted_by_verify() {
    let mut module = module();
    let [old, new] = ["old", "new"].map(|name| module.variable(name).unwrap());
    module.supersede(old.value(), new.value());
    let load = module.function("f").unwrap().instructions()[1];
    assert_eq!(load.operand(0), new.value());
    assert_eq!(old.users().len(), 1, "the table, a constant");
    assert_eq!(old.name(), "old");
    module.verify("the test").unwrap();
    assert!(module.variable("old").is_none());
    let table = module.variable("table").unwrap();
    let new = module.variable("new").unwrap();
    assert_eq!(table.initial_value(), Some(new.value()));
}
