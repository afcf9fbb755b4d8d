//! Device code in host objects. A host object contains its module's device code as a record, and a NUL-terminated
//! module ID in place of the GPU binary. `superstep nvcc` and suites produce the same objects.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::compile::device::gpu::Waits;
use crate::compile::object::record::{self, DeviceCodeRecord, Head, SECTION};
use crate::compile::object::registration;
use crate::compile::source::arithmetic;
use crate::compile::steps::depfile;
use crate::compile::steps::hash::KeyHasher;
use crate::compile::steps::stage::{Args, DEPENDENCIES, MESSAGES, OBJECT, Subject};
use crate::compile::unit::{Module, Unit, own_flags};
use crate::compile::{BuildError, Builder, Program, Result};
use crate::manifest::Language;

const PREPROCESSED: &str = "out.ii";

pub struct HostObject {
    pub object: PathBuf,
    pub dependencies: Vec<PathBuf>,
    pub messages: String,
}

pub(crate) struct EmbeddedDeviceCode<'a> {
    pub(crate) unit: Unit<'a>,
    /// Output of Clang's front end, stored next to the list of the headers that were read.
    front_end: PathBuf,
    pub(crate) ir: PathBuf,
    pub(crate) record: DeviceCodeRecord,
}

impl Builder {
    /// Compiles the device half of `unit`; `folder` distinguishes modules with the same content.
    pub(crate) fn device_code<'a>(
        &self,
        unit: Unit<'a>,
        folder: String,
    ) -> Result<EmbeddedDeviceCode<'a>> {
        let [front_end, ir] = self.device_ir(&unit)?;
        let bitcode = match self.runner.dry_run {
            Some(_) => Vec::new(),
            None => fs::read(&ir).map_err(BuildError::io("read", &ir))?,
        };
        let head = Head {
            name: unit.unit.file.display().to_string(),
            folder,
            relocatable: unit.linked,
            units: vec![bitcode.len()],
        };
        Ok(EmbeddedDeviceCode {
            unit,
            front_end,
            ir,
            record: DeviceCodeRecord { head, bitcode },
        })
    }

    pub(crate) fn embed(&self, embedded: &EmbeddedDeviceCode<'_>) -> Result<PathBuf> {
        let mut args = self.section(&embedded.record)?;
        // Linked units do not register the module: it is registered once for all of them.
        if embedded.unit.linked {
            args = args
                .text(format!("-DSUPERSTEP_UNIT={}", embedded.record.symbol()))
                .and(self.header("unit.h", include_str!("unit.h"))?);
        } else {
            args = args
                .texts(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"])
                .input(self.image(&embedded.record)?)
                .and(self.header("first.h", registration::FIRST_ENTRY)?);
        }
        self.host_object(&embedded.unit, args)
    }

    fn with_early_registration(&self, object: &Path) -> Result<PathBuf> {
        if self.runner.dry_run.is_some() {
            return Ok(object.to_owned());
        }
        let mut bytes = fs::read(object).map_err(BuildError::io("read", object))?;
        registration::register_first(&mut bytes);
        self.runner.text_file(OBJECT, &bytes)
    }

    pub(crate) fn objects(
        &self,
        program: &Program,
        embedded: &[EmbeddedDeviceCode<'_>],
    ) -> Result<Vec<PathBuf>> {
        let hosts = embedded.par_iter();
        let hosts = hosts.map(|embedded| self.with_early_registration(&self.embed(embedded)?));
        let mut objects: Vec<PathBuf> = hosts.collect::<Result<_, _>>()?;
        if embedded.iter().any(|embedded| embedded.unit.linked) {
            let records = embedded.iter().map(|embedded| &embedded.record);
            objects.push(self.linked_object(&program.folder, String::new(), records)?);
        }
        let helpers = (program.units.par_iter())
            .filter(|unit| unit.language != Language::Cuda)
            .map(|unit| self.helper_object(program, unit));
        objects.extend(helpers.collect::<Result<Vec<_>>>()?);
        Ok(objects)
    }

    /// Compiles the only unit of `program` to an object that contains its device code.
    pub fn object_with_device_code(
        &self,
        program: &Program,
        relocatable: bool,
    ) -> Result<HostObject> {
        let folder = text(&program.folder)?;
        let embedded = self.device_code(only_unit(program, relocatable), folder)?;
        let object = self.embed(&embedded)?;
        let read_sibling = |file: &Path, name: &str| {
            let path = file.parent().unwrap_or(Path::new(".")).join(name);
            fs::read_to_string(path).unwrap_or_default()
        };
        let lists = [&object, &embedded.front_end].map(|file| read_sibling(file, DEPENDENCIES));
        let mut dependencies = lists.map(|list| depfile::parse(&list)).concat();
        // Cached files can be removed at any time.
        dependencies.retain(|path| !path.starts_with(&self.runner.cache.root));
        let mut seen = std::collections::HashSet::new();
        dependencies.retain(|path| seen.insert(path.clone()));
        Ok(HostObject {
            messages: read_sibling(&object, MESSAGES),
            object: self.with_early_registration(&object)?,
            dependencies,
        })
    }

    pub fn preprocessed(&self, program: &Program) -> Result<PathBuf> {
        let unit = only_unit(program, false);
        let args = Args::of(["-x", "cuda", "--cuda-host-only", "-E"])
            .and(self.cuda_flags(&unit)?)
            .and(own_flags(program, &program.flags.host));
        self.compile("preprocess", &unit, args, PREPROCESSED)
    }

    pub fn device_code_as(&self, program: &Program, kind: &str) -> Result<PathBuf> {
        let embedded = self.device_code(only_unit(program, false), String::new())?;
        let ir = embedded.ir;
        let module = Module::new(program, 0, &embedded.record, vec![ir.clone()]);
        let ptx = self.ptx(&module, &ir, arithmetic::division_flag(&program.flags))?;
        if kind == "ptx" {
            return Ok(ptx);
        }
        let cubins = self.cubins(&module, &ptx, Waits::Maybe)?;
        match kind {
            "fatbin" => self.packed(&module, cubins, ptx),
            _ => Ok(cubins.into_iter().next().unwrap_or(ptx)),
        }
    }

    pub fn device_link(&self, folder: &Path, files: &[PathBuf]) -> Result<Option<PathBuf>> {
        let mut records = Vec::new();
        for file in files {
            records.extend(record::read(file)?);
        }
        records.retain(|record| record.head.relocatable);
        if records.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.linked_object(folder, text(folder)?, &records)?))
    }

    /// Compiles the object that registers the linked `units` with all their kernels and variables (`linked.c`).
    /// `record_folder` distinguishes objects with the same content.
    fn linked_object<'a>(
        &self,
        folder: &Path,
        record_folder: String,
        units: impl IntoIterator<Item = &'a DeviceCodeRecord, IntoIter: Clone>,
    ) -> Result<PathBuf> {
        let units = units.into_iter();
        let record = &DeviceCodeRecord::linked(record_folder, units.clone());
        let names = self.list_of_names(&units.map(DeviceCodeRecord::symbol).collect())?;
        let source = (self.runner).text_file("linked.c", include_bytes!("linked.c"))?;
        let args = Args::of(["-x", "c", "-std=c23", "-O2", "-fPIC", "-c"])
            .input_in("-DSUPERSTEP_IMAGE=\"", self.image(record)?, "\"")
            .and(self.section(record)?)
            .input_in("-DSUPERSTEP_NAMES=\"", names, "\"")
            .input(source);
        self.device_link_step(folder, args)
    }

    pub fn empty_object(&self) -> Result<PathBuf> {
        let source = self.runner.text_file("empty.c", b"")?;
        let args = Args::of(["-x", "c", "-c"]).input(source);
        self.device_link_step(Path::new("."), args)
    }

    fn device_link_step(&self, folder: &Path, args: Args) -> Result<PathBuf> {
        let name = "device link";
        let subject = Subject { name, folder };
        (self.runner).file(name, &self.clang(), subject, args, OBJECT)
    }

    fn section(&self, record: &DeviceCodeRecord) -> Result<Args> {
        let file = self.runner.text_file("module.bin", record.encode())?;
        let path = file.to_string_lossy();
        let path = path.replace('\\', "\\\\").replace('"', "\\\"");
        let header = format!(
            "__asm__(\".pushsection {SECTION},\\\"\\\",@progbits\\n.incbin \\\"{path}\\\"\\n.popsection\");\n"
        );
        self.header("module.h", &header)
    }

    fn header(&self, name: &'static str, text: &str) -> Result<Args> {
        let header = self.runner.text_file(name, text)?;
        Ok(Args::of(["-include"]).input(header))
    }

    fn image(&self, record: &DeviceCodeRecord) -> Result<PathBuf> {
        let text = format!("superstep-module {}\n\0", record.hash());
        self.runner.text_file("module.txt", text)
    }
}

fn text(folder: &Path) -> Result<String> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        BuildError::unsupported(
            folder.display().to_string(),
            "the folder's name is not UTF-8; build in another folder",
        )
    })
}

/// Returns the only unit of `program`. `superstep nvcc` does not number units; a hash of a unit's path and flags
/// distinguishes its static kernels and variables.
fn only_unit(program: &Program, relocatable: bool) -> Unit<'_> {
    let unit = &program.units[0];
    let mut key = KeyHasher::new("unit");
    key.text(&program.folder.join(&unit.file).to_string_lossy());
    let flags = &program.flags;
    key.list(&program.include);
    key.list(&flags.all).list(&flags.device).list(&flags.host);
    let id = usize::from_str_radix(&key.finish()[..12], 16).unwrap_or_default();
    Unit::new(program, unit, id, relocatable)
}
