//! Tests for `opcode`.

use super::*;

fn global(opcode: &str) -> Option<(Op, u32, bool)> {
    match meaning(opcode) {
        Meaning::Global {
            op,
            width_bytes,
            generic,
        } => Some((op, width_bytes, generic)),
        _ => None,
    }
}

#[test]
fn global_memory_opcodes_have_an_operation_and_a_width() {
    assert_eq!(global("LDG.E"), Some((Op::Load, 4, false)));
    assert_eq!(global("LDG.E.64.CONSTANT"), Some((Op::Load, 8, false)));
    assert_eq!(global("LDG.E.U8.CONSTANT"), Some((Op::Load, 1, false)));
    assert_eq!(global("STG.E.128"), Some((Op::Store, 16, false)));
    assert_eq!(global("LDGSTS.E.BYPASS.128"), Some((Op::Load, 16, false)));
    assert_eq!(
        global("RED.E.ADD.F32.FTZ.RN.STRONG.GPU"),
        Some((Op::AtomicAdd, 4, false))
    );
    assert_eq!(
        global("ATOMG.E.CAS.64.STRONG.GPU"),
        Some((Op::AtomicCas, 8, false))
    );
    assert_eq!(global("ATOM.E.EXCH"), Some((Op::AtomicExch, 4, true)));
}

#[test]
fn opcodes_for_other_memory_are_not_global() {
    for opcode in ["LDS.U.32", "STS", "LDL", "STL.64", "ATOMS.ADD", "LDC"] {
        assert_eq!(meaning(opcode), Meaning::OtherMemory, "{opcode}");
    }
    assert_eq!(meaning("UTMALDG.2D"), Meaning::Unknown);
}
