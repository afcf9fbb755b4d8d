//! Registers a unit's device code before its global objects are constructed, as their constructors can launch kernels.
//!
//! nvcc registers device code in a constructor function of the unit, which runs before the unit's initialisers; Clang
//! registers it after them. Therefore, a header puts an empty function first in `.init_array`, and [`register_first`]
//! swaps it with Clang's.

use object::elf::{FileHeader64, Rela64, SHT_SYMTAB, STT_SECTION, SymbolSection};
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use object::{Endianness, SymbolIndex, read};

pub(crate) const FIRST_ENTRY: &str = "__asm__(\".pushsection .text\\nsuperstep_first: ret\\n.popsection\\n\
     .pushsection .init_array,\\\"aw\\\",@init_array\\n.p2align 3\\n.quad superstep_first\\n.popsection\");\n";

/// Clang's function that registers a unit's kernels and variables.
const CLANG_CTOR: &[u8] = b"__cuda_module_ctor";

/// Swaps an object's first initialiser with Clang's; files that register nothing are left unchanged.
pub(crate) fn register_first(object: &mut [u8]) {
    if let Ok(Some([first, second])) = target_offsets(object) {
        for byte in 0..TARGET_BYTES {
            object.swap(first + byte, second + byte);
        }
    }
}

/// Size of a relocation's target, which follows its offset.
const TARGET_BYTES: usize = size_of::<Rela64<Endianness>>() - size_of::<u64>();

fn target_offsets(object: &[u8]) -> read::Result<Option<[usize; 2]>> {
    let header = FileHeader64::<Endianness>::parse(object)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, object)?;
    let symbols = sections.symbols(endian, object, SHT_SYMTAB)?;
    let mut all = symbols.iter();
    let Some(ctor) = all.find(|symbol| symbol.name(endian, symbols.strings()) == Ok(CLANG_CTOR))
    else {
        return Ok(None);
    };
    let ctor = (ctor.st_shndx(endian), ctor.st_value(endian));
    for section in sections.iter() {
        let Some((entries, _)) = section.rela(endian, object)? else {
            continue;
        };
        let initialised = sections.section(section.info_link(endian))?;
        if sections.section_name(endian, initialised)? != b".init_array" {
            continue;
        }
        let target = |entry: &Rela64<Endianness>| -> read::Result<(SymbolSection, u64)> {
            let symbol = symbols.symbol(entry.symbol(endian, false).unwrap_or(SymbolIndex(0)))?;
            let value = match symbol.st_type() {
                STT_SECTION => 0,
                _ => symbol.st_value(endian),
            };
            let address = value.wrapping_add_signed(entry.r_addend(endian));
            Ok((symbol.st_shndx(endian), address))
        };
        let targets: Vec<_> = entries.iter().map(target).collect::<read::Result<_>>()?;
        let first = entries.iter().position(|entry| entry.r_offset(endian) == 0);
        let second = targets.iter().position(|target| *target == ctor);
        if let (Some(first), Some(second)) = (first, second) {
            let table = section.sh_offset(endian) as usize;
            let entry = |index| table + index * size_of::<Rela64<Endianness>>();
            let target_offset = |index| entry(index) + size_of::<u64>();
            return Ok(Some([target_offset(first), target_offset(second)]));
        }
    }
    Ok(None)
}
