//! Generates the CUDA file around a handler: the header, the handler's `Fields`, the handler itself, and functions with
//! fixed names and types that instrumented code calls.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use superstep_trace::ProbeSpec;
use superstep_trace::probe::{Field, FieldsIn, OncePer, Pass, Per, Point, Word};

/// Returns the whole file. `handler` is the text of the user's file at `path`; compiler messages refer to lines of that
/// file. `definition` is the YAML file: if a handler does not accept the arguments that its point passes, compiler
/// messages name the point.
pub fn source(spec: &ProbeSpec, definition: &Path, handler: &str, path: &Path) -> String {
    let mut text = String::from("#include <superstep/probe.h>\n\nstruct Fields {\n");
    for field in &spec.fields {
        let _ = writeln!(text, "  {} {};", word(field), field.name);
    }
    text.push_str("};\n");
    let _ = write!(
        text,
        "#line 1 \"{}\"\n{handler}\n#line 1 \"generated\"\n",
        quoted(path)
    );
    fields(&mut text, spec);
    for (index, point) in spec.points.iter().enumerate() {
        text.push_str(&line_directive(definition, index, point));
        dispatcher(&mut text, spec, index, point);
    }
    text.push_str("#line 1 \"generated\"\n");
    if spec.groups_lanes() {
        groups(&mut text, spec, definition);
    }
    text
}

/// Returns a `#line` directive for the code of a point, so that compiler messages name the point.
fn line_directive(definition: &Path, index: usize, point: &Point) -> String {
    let (file, number) = (quoted(definition), index + 1);
    let pass: Vec<String> = point.pass.iter().map(Pass::to_string).collect();
    format!(
        "#line 1 \"{file}: point {number}, pass: [{}]\"\n",
        pass.join(", ")
    )
}

/// Returns the whole file for a probe's host code. `code` is the text of the user's file at `path`.
pub fn host_source(code: &str, path: &Path) -> String {
    let name = quoted(path);
    format!("#include <superstep/hooks.h>\n#line 1 \"{name}\"\n{code}\n")
}

fn quoted(path: &Path) -> String {
    path.display().to_string().replace(['"', '\\'], "_")
}

fn word(field: &Field) -> &'static str {
    match field.word {
        Word::U32 => "unsigned int",
        Word::U64 => "unsigned long long",
    }
}

/// Returns the definition, without `const unsigned`, of an argument that the lanes of a warp compute together.
fn warp_argument(pass: &Pass) -> Option<&'static str> {
    match pass {
        Pass::TakenMask => Some("taken_mask = __ballot_sync(active_mask, payload != 0)"),
        Pass::UniqueLines => Some("unique_lines = superstep::unique_lines(active_mask, payload)"),
        Pass::AndBits => {
            Some("long long and_bits = superstep::and_bits(active_mask, payload, width)")
        }
        Pass::OrBits => Some("long long or_bits = superstep::or_bits(active_mask, payload, width)"),
        _ => None,
    }
}

fn dispatcher(text: &mut String, spec: &ProbeSpec, index: usize, point: &Point) {
    let result = if point.replaces {
        "unsigned long long"
    } else {
        "void"
    };
    let no_value = if point.replaces { " payload" } else { "" };
    let _ = writeln!(
        text,
        "extern \"C\" __device__ {result} superstep_point_{index}(void *context, void *fields, unsigned site, unsigned line, \
         unsigned operation, unsigned long long payload, unsigned width, bool test) {{"
    );
    if point.at.iter().any(|at| at.is_memory()) {
        let _ = writeln!(
            text,
            "  if (width == 0 || (test && !__nvvm_isspacep_global((const void *)payload))) return{no_value};"
        );
    }
    match point.once_per {
        OncePer::Thread => {
            let arguments = arguments(spec, point);
            let keyword = if point.replaces { "return " } else { "" };
            let _ = writeln!(text, "  {keyword}{}({arguments});", point.call);
        }
        OncePer::Warp => {
            text.push_str("#ifdef SUPERSTEP_CPU\n  superstep::__superstep_probe_log(site, width, payload);\n#else\n");
            text.push_str("  const unsigned active_mask = superstep::lanes_here(site);\n");
            let lines: BTreeSet<&str> = point.pass.iter().filter_map(warp_argument).collect();
            for line in lines {
                let _ = writeln!(text, "  const unsigned {line};");
            }
            let arguments = arguments(spec, point);
            let shares_tables = point.pass.iter().any(|pass| matches!(pass, Pass::Table(_)));
            let in_memory = spec.fields_in == FieldsIn::Memory;
            if in_memory {
                text.push_str("  Fields own;\n  fields = &own;\n  superstep_begin(fields);\n");
            }
            // With fields in memory, all lanes take the same path, so they need not diverge; only the leader
            // aggregates.
            let leader = if in_memory && !shares_tables {
                ""
            } else {
                "if (superstep::leads(active_mask)) "
            };
            let _ = writeln!(text, "  {leader}{}({arguments});", point.call);
            if in_memory {
                text.push_str("  superstep_keep_now(context, active_mask, site, own);\n");
            }
            text.push_str("#endif\n");
        }
    }
    text.push_str("}\n");
}

fn arguments(spec: &ProbeSpec, point: &Point) -> String {
    let list: Vec<String> = point.pass.iter().map(|pass| argument(spec, pass)).collect();
    list.join(", ")
}

fn argument(spec: &ProbeSpec, pass: &Pass) -> String {
    match pass {
        Pass::Table(name) => {
            let before = spec.tables.iter().take_while(|table| table.name != *name);
            let offset: u64 = before.map(|table| table.words).sum();
            format!("superstep::tables(context) + {offset}")
        }
        Pass::Fields => "*static_cast<Fields *>(fields)".to_owned(),
        Pass::Launch => "superstep::fixed(superstep::context_of(context)->launch)".to_owned(),
        Pass::Parameters => "superstep::in_global_memory<const unsigned long long>(superstep::fixed(superstep::context_of(context)->parameters))".to_owned(),
        Pass::Address | Pass::Value => "payload".to_owned(),
        Pass::Taken => "payload != 0".to_owned(),
        // The generated code has variables for the others.
        other => other.to_string().replace('-', "_"),
    }
}

/// Describes the fields to `superstep/fields.h`, which defines functions that initialise them and move them to memory.
fn fields(text: &mut String, spec: &ProbeSpec) {
    text.push_str("#define SUPERSTEP_FIELDS(superstep_each)");
    for (index, field) in spec.fields.iter().enumerate() {
        // `superstep::Combine` has the same names.
        let (combine, word, name) = (field.combine, word(field), &field.name);
        let _ = write!(
            text,
            " superstep_each({index}, {combine:?}, {word}, {name})"
        );
    }
    let word_bytes = match spec.per {
        Per::Thread if spec.fields.iter().all(|field| field.word == Word::U32) => 4,
        _ => 8,
    };
    let per = match spec.per {
        Per::Thread => "THREAD",
        Per::Cta => "CTA",
        Per::Launch => "LAUNCH",
    };
    let count = spec.fields.len();
    let _ = writeln!(
        text,
        "\n#define SUPERSTEP_FIELD_COUNT {count}\n#define SUPERSTEP_PER_{per}\n#define SUPERSTEP_WORD_BYTES {word_bytes}"
    );
    if spec.fields_in == FieldsIn::Memory {
        text.push_str("#define SUPERSTEP_FIELDS_IN_MEMORY\n");
    }
    text.push_str("#include <superstep/fields.h>\n");
}

/// Defines the function that calls handlers for the groups of lanes that the CPU backend has collected, with the same
/// argument names as in [`dispatcher`].
fn groups(text: &mut String, spec: &ProbeSpec, definition: &Path) {
    text.push_str(
        "#ifdef SUPERSTEP_CPU\nextern \"C\" __device__ void superstep_group(const superstep::Group *groups, unsigned count) {\n  \
         for (const superstep::Group *group = groups; group != groups + count; group++) {\n    \
         const auto &[context, and_bits, or_bits, site, point, line, operation, width, active_mask, taken_mask, unique_lines] = *group;\n    \
         Fields own;\n    void *const fields = &own;\n    superstep_begin(fields);\n    switch (point) {\n",
    );
    for (index, point) in spec.points.iter().enumerate() {
        if point.once_per == OncePer::Warp {
            let arguments = arguments(spec, point);
            let call = &point.call;
            let line = line_directive(definition, index, point);
            let _ = writeln!(text, "{line}    case {index}: {call}({arguments}); break;");
        }
    }
    text.push_str("    }\n    superstep_flush(context, site, fields, false);\n  }\n}\n#endif\n");
}
