//! Fusing multiplications and additions, once and for all builds alike.
//!
//! CUDA lets a compiler fuse `a * b + c` into one operation with one rounding. Code generation decides that block by
//! block, so a probe between the multiplication and the addition would change which are fused, and with it the
//! program's results. Here every permitted pair is fused in the IR, in the native build as in the traced ones, and the
//! permission is withdrawn from what remains: all builds then compute the same bits.

use crate::ir::{Builder, Module, Opcode, Value};

/// Fuses what may be fused in every function.
pub fn fuse(module: &Module) {
    for function in module.defined_functions() {
        let fused: Vec<Value> = function
            .instructions()
            .into_iter()
            .filter_map(|i| fuse_one(module, i))
            .collect();
        // Only now: the list above may have named a multiplication that stands after its sum in the layout.
        fused.into_iter().for_each(Value::erase);
        for instruction in function.instructions() {
            withdraw(module, instruction);
        }
    }
}

/// Replaces an addition or subtraction whose operand is a multiplication that nothing else uses, and returns the
/// multiplication, which nothing uses any more.
fn fuse_one(module: &Module, sum: Value) -> Option<Value> {
    let subtraction = match sum.opcode() {
        Some(Opcode::LLVMFAdd) => false,
        Some(Opcode::LLVMFSub) => true,
        _ => return None,
    };
    if !sum.allows_contraction() {
        return None;
    }
    let product = |value: Value| {
        value.opcode() == Some(Opcode::LLVMFMul)
            && value.is_instruction()
            && value.allows_contraction()
            && value.users().len() == 1
    };
    let (left, right) = (sum.operand(0), sum.operand(1));
    let builder = Builder::before(module, sum);
    let (multiplication, factors) = if product(left) {
        let addend = if subtraction {
            builder.negate(right)
        } else {
            right
        };
        (left, [left.operand(0), left.operand(1), addend])
    } else if product(right) {
        let factor = right.operand(0);
        let factor = if subtraction {
            builder.negate(factor)
        } else {
            factor
        };
        (right, [factor, right.operand(1), left])
    } else {
        return None;
    };
    let fma = module.intrinsic("llvm.fma", &[sum.ty()]);
    let fused = builder.call(fma.ty(), fma.value(), &factors);
    let name = sum.name();
    sum.replace_all_uses_with(fused);
    sum.set_name("");
    fused.set_name(&name);
    sum.erase();
    Some(multiplication)
}

/// Builds the operation anew without the permission (LLVM's C interface can set the flag, but not clear it).
fn withdraw(module: &Module, operation: Value) {
    let Some(opcode @ (Opcode::LLVMFAdd | Opcode::LLVMFSub | Opcode::LLVMFMul)) =
        operation.opcode()
    else {
        return;
    };
    if !operation.is_instruction() || !operation.allows_contraction() {
        return;
    }
    let rebuilt = Builder::before(module, operation).binary(
        opcode,
        operation.operand(0),
        operation.operand(1),
    );
    operation.copy_fast_math_but_contraction(rebuilt);
    let name = operation.name();
    operation.replace_all_uses_with(rebuilt);
    operation.set_name("");
    rebuilt.set_name(&name);
    operation.erase();
}
