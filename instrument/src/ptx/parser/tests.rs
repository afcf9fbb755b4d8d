//! Tests for `parser`.

use super::*;

fn parse(template: &str) -> Vec<Statement> {
    Template::parse(template).unwrap().statements
}

fn instruction(template: &str) -> Instruction {
    match &parse(template)[..] {
        [Statement::Instruction(instruction)] => instruction.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operands_of_every_kind_are_parsed() {
    use Operand::*;
    let argument = |n| Register(super::Register::Argument(n));
    let address =
        |base, offset: i64| Address(Box::new(base), Box::new(Integer(offset as u64)), Vec::new());
    for (text, expected) in [
        (
            "add.u32 $0, $1, -1",
            vec![argument(0), argument(1), Integer(u64::MAX)],
        ),
        (
            "mov.b64 {$0,_}, 0X1fU;",
            vec![Vector(vec![argument(0), Sink]), Integer(31)],
        ),
        (
            "ld.u8 $0, [ $1 + -16 ];",
            vec![argument(0), address(argument(1), -16)],
        ),
        (
            "ld.u8 $0, [$1-16]",
            vec![argument(0), address(argument(1), -16)],
        ),
        (
            "mov.f32 $0, 0f3F800000",
            vec![argument(0), Single(0x3f80_0000)],
        ),
        ("mov.f64 $0, -1.5", vec![argument(0), Double(-1.5)]),
        (
            "mov.u32 $0, %tid.x // comment",
            vec![argument(0), Special("%tid.x".to_owned())],
        ),
        ("bra L${:uid}", vec![Name("L${:uid}".to_owned())]),
        ("mov.u32 $0, 010", vec![argument(0), Integer(8)]),
    ] {
        assert_eq!(instruction(text).operands, expected, "{text}");
    }
    let shuffle = instruction("shfl.sync.idx.b32 $0|_, $1, $2, 31, $3");
    assert_eq!(
        shuffle.operands[0],
        Pair(Box::new(argument(0)), Box::new(Sink))
    );
    assert!(instruction("st.shared::cta.b32 [$0], $1").has("shared"));
}

#[test]
fn scopes_guards_and_labels_are_parsed() {
    let text = "{ .reg .pred p; .reg.b32 r<2>; setp.ne.b32 p, $1, 0; @!p bra DONE; { .reg .b64 p; mov.b64 p, $2; } DONE: }";
    let template = Template::parse(text).unwrap();
    assert_eq!(template.declared.len(), 4);
    let guard = Guard {
        predicate: Register::Declared(0),
        negated: true,
    };
    let branch = template.instructions().nth(1).unwrap();
    assert_eq!(
        (branch.guard, branch.mnemonic().as_str()),
        (Some(guard), "bra")
    );
    let inner = template.instructions().nth(2).unwrap();
    assert_eq!(inner.operands[0], Operand::Register(Register::Declared(3)));
    assert_eq!(template.statements[3], Statement::Label("DONE".to_owned()));
}

#[test]
fn vectors_become_consecutive_registers() {
    let text = "{ .reg .v2 .b32 q; .reg.v4 .f32 r<2>; ld.global.v2.b32 q, [$1]; mov.v4.f32 {_, _, _, $0}, r1; add.u32 $0, q.x, q.y; }";
    let template = Template::parse(text).unwrap();
    assert_eq!(template.declared.len(), 10);
    let register = |number| Operand::Register(Register::Declared(number));
    let operands = |index| template.instructions().nth(index).unwrap().operands.clone();
    assert_eq!(
        operands(0)[0],
        Operand::Vector(vec![register(0), register(1)])
    );
    let last = (6..10).map(register).collect();
    assert_eq!(operands(1)[1], Operand::Vector(last));
    assert_eq!(operands(2)[1..], [register(0), register(1)]);
}

#[test]
fn invalid_ptx_is_an_error() {
    for text in [
        "add.u32 $0, ;",
        "}",
        "ld.u32 $0, [$1",
        ".shared .b32 x;",
        "@p exit;",
        "1: bra 1b;;@",
        "mov.f32 $0, 0f3F8",
    ] {
        assert!(Template::parse(text).is_err(), "{text}");
    }
}
