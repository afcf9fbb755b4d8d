//! Parses templates of inline PTX.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../instrument/src/ptx/lexer.rs"]
#[allow(dead_code)]
mod lexer;
#[path = "../../../instrument/src/ptx/parser.rs"]
#[allow(dead_code)]
mod parser;
#[path = "../../../instrument/src/ptx/scopes.rs"]
#[allow(dead_code)]
mod scopes;
#[path = "../../../instrument/src/ptx/types.rs"]
#[allow(dead_code)]
mod types;

// `scopes` finds these in its parent module.
use parser::{Operand, Register};

fuzz_target!(|text: &str| {
    // Parse each line by itself, because a template ends at its first error; then parse the whole text as one template.
    for template in text.lines().chain([text]) {
        if let Ok(template) = parser::Template::parse(template) {
            for instruction in template.instructions() {
                instruction.kinds();
                instruction.mnemonic();
            }
            template.reads_special("tid");
        }
    }
});
