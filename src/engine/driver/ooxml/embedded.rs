//! Objects that are embedded in a package: compound files and packages of their own.

use memchr::memmem;

use super::links::is_in_embeddings;
use super::{ends_ignore_case, unless_damaged};
use crate::engine::container::cfb::Cfb;
use crate::engine::container::opc::{Kind, Package};
use crate::engine::container::zip::{Archive, Entry};
use crate::engine::driver::risk::{Risk, Signals};
use crate::engine::driver::vba;
use crate::engine::error::Result;
use crate::engine::source::Source;

/// Bytes of an object's native data in which a program is looked for.
const NATIVE_HEAD: u64 = 8 * 1024;

/// Whether some embedded object has macros.
#[derive(Debug)]
pub(super) enum Macros {
    /// The first part that has.
    In(String),
    Nowhere,
    /// None was found, but not all objects were read.
    Unread,
}

/// What an embedded object holds.
#[derive(Debug, Default)]
struct Content {
    macros: bool,
    program: bool,
}

/// The parts that are embedded objects.
pub(super) fn parts<'a>(package: &'a Package<'_>) -> impl Iterator<Item = Entry<'a>> {
    package
        .parts()
        .filter(|(entry, kind)| {
            !entry.is_directory()
                && !matches!(kind, Kind::Image | Kind::ActiveX)
                && is_in_embeddings(entry.name())
                && !ends_ignore_case(entry.name(), ".rels")
        })
        .map(|(entry, _)| entry)
}

/// Looks for macros in embedded objects. Below deep none is opened, as they are often larger than all
/// else that is read.
///
/// # Errors
/// Budget errors.
pub(super) fn macros(package: &Package<'_>, deep: bool) -> Result<Macros> {
    let mut unread = false;
    for part in parts(package) {
        if !deep {
            // What these extensions stand for is free of macros, and opened as such.
            unread |= !has_extension(&part, &[".xlsx", ".docx", ".pptx"]);
        } else if part.size() > package.meter().expanded_left() {
            unread = true;
        } else if read(package, part)?.macros {
            return Ok(Macros::In(part.name().to_owned()));
        }
    }
    Ok(if unread {
        Macros::Unread
    } else {
        Macros::Nowhere
    })
}

fn has_extension(part: &Entry<'_>, extensions: &[&str]) -> bool {
    let mut extensions = extensions.iter();
    extensions.any(|extension| ends_ignore_case(part.name(), extension))
}

/// What embedded objects add to the risk.
///
/// # Errors
/// Budget errors.
pub(super) fn signals(package: &Package<'_>, signals: &mut Signals) -> Result<()> {
    for part in parts(package) {
        signals.add("embedded_object", Risk::Medium, part.name(), None);
        if part.size() > package.meter().expanded_left() {
            signals.set_incomplete();
            continue;
        }
        let content = read(package, part)?;
        if content.macros {
            signals.add("embedded_vba_macros", Risk::High, part.name(), None);
        }
        if content.program {
            signals.add("embedded_program", Risk::High, part.name(), None);
        }
    }
    Ok(())
}

/// The macros of a VBA project part that run by themselves.
///
/// # Errors
/// Budget errors.
pub(super) fn auto_exec_names(package: &Package<'_>, part: Entry<'_>) -> Result<Vec<String>> {
    let Some(bytes) = unless_damaged(package.read(part))? else {
        return Ok(Vec::new());
    };
    let source = package.unpacked(bytes);
    let Some(cfb) = unless_damaged(Cfb::open(&source))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    let projects: Vec<_> = vba::projects(&cfb).collect();
    for (_, vba) in projects {
        names.extend(vba::auto_exec_names(&cfb, vba)?);
    }
    Ok(names)
}

fn read(package: &Package<'_>, part: Entry<'_>) -> Result<Content> {
    let Some(bytes) = unless_damaged(package.read(part))? else {
        return Ok(Content::default());
    };
    if bytes.starts_with(b"MZ") {
        return Ok(Content {
            program: true,
            ..Content::default()
        });
    }
    let source = package.unpacked(bytes);
    if source.read_head(8)?.starts_with(b"PK") {
        return package_content(&source);
    }
    match unless_damaged(Cfb::open(&source))? {
        Some(cfb) => compound_content(&cfb, package),
        None => Ok(Content::default()),
    }
}

fn package_content(source: &Source) -> Result<Content> {
    let macros = unless_damaged(Archive::open(source))?.is_some_and(|archive| {
        archive
            .entries()
            .any(|entry| ends_ignore_case(entry.name(), "vbaproject.bin"))
    });
    Ok(Content {
        macros,
        ..Content::default()
    })
}

fn compound_content(cfb: &Cfb<'_>, package: &Package<'_>) -> Result<Content> {
    let mut content = Content {
        macros: vba::projects(cfb).next().is_some(),
        program: false,
    };
    if let Some(mut native) = cfb.stream_named(cfb.root(), "\u{1}Ole10Native") {
        let head = native.read_range(0, NATIVE_HEAD)?;
        content.program = memmem::find_iter(&head, b"MZ")
            .any(|at| memmem::find(&head[at..], b"This program").is_some());
    }
    // An object of a newer application is a package in a stream.
    if let Some(mut stream) = cfb.stream_named(cfb.root(), "Package") {
        let bytes = stream.read_range(0, stream.len())?;
        let nested = package_content(&package.unpacked(bytes))?;
        content.macros |= nested.macros;
    }
    Ok(content)
}
