//! Ways to store an address in memory that an analysis might easily overlook.

use super::body::Body;
use super::pointers::PAIR;
use super::scope::pick;
use superstep_trace::Op;

impl Body<'_> {
    /// Stores the address of shared, local or constant memory in a table that otherwise contains global pointers, then
    /// reads the address back and dereferences it. `choice` selects how the address is stored.
    pub fn smuggle(&mut self, choice: u16) {
        self.stack_data([choice; 4]);
        let local = self.scope.pointers.last().map(|p| p.text.clone());
        let prefix = &self.objects.prefix;
        let shared = format!("addrspacecast (ptr addrspace(3) @{prefix}_s0 to ptr)");
        let table = format!("addrspacecast (ptr addrspace(1) @{prefix}_t0 to ptr)");
        let secret = pick(&[shared.clone(), local.unwrap_or_default()], choice / 9);
        let constant = format!("addrspacecast (ptr addrspace(4) @{prefix}_c0 to ptr)");
        let (op, bytes, ty, value) = match choice % 9 {
            0 => (Op::Store, 8, "ptr", secret),
            1 => (
                Op::Store,
                8,
                "i64",
                format!("ptrtoint (ptr {shared} to i64)"),
            ),
            2 => {
                let number = self.define(&format!("ptrtoint ptr {secret} to i64"));
                (Op::Store, 8, "i64", number)
            }
            3 => {
                let pair = self.define(&format!(
                    "insertvalue {PAIR} zeroinitializer, ptr {secret}, 0"
                ));
                (Op::Store, 24, PAIR, pair)
            }
            4 => {
                let both = self.define(&format!(
                    "insertelement <2 x ptr> zeroinitializer, ptr {secret}, i32 0"
                ));
                (Op::Store, 16, "<2 x ptr>", both)
            }
            5 => {
                let both = self.define(&format!(
                    "insertelement <2 x ptr> zeroinitializer, ptr {secret}, i32 0"
                ));
                let numbers = self.define(&format!("ptrtoint <2 x ptr> {both} to <2 x i64>"));
                (Op::Store, 16, "<2 x i64>", numbers)
            }
            6 => {
                let numbers = format!("<i64 ptrtoint (ptr {constant} to i64), i64 0>");
                (Op::Store, 16, "<2 x i64>", numbers)
            }
            7 => (Op::AtomicExch, 8, "ptr", secret),
            _ => {
                let number = self.define(&format!("ptrtoint ptr {secret} to i64"));
                (Op::AtomicExch, 8, "i64", number)
            }
        };
        self.access(op, "ptr", &table, &bytes.to_string());
        if op == Op::Store {
            self.line(&format!("store {ty} {value}, ptr {table}"));
        } else {
            self.define(&format!("atomicrmw xchg ptr {table}, {ty} {value} seq_cst"));
        }
        self.access(Op::Load, "ptr", &table, "8");
        let found = self.define(&format!("load ptr, ptr {table}"));
        self.access(Op::Load, "ptr", &found, "4");
        self.define(&format!("load volatile i32, ptr {found}"));
    }
}
