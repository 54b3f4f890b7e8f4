//! VBA projects in compound files ([MS-OVBA]): where they are, and which of their macros run by themselves.

use memchr::memmem;

use crate::engine::container::cfb::{Cfb, EntryId};
use crate::engine::error::Result;

/// Bytes of a module that are looked at.
const MAX_MODULE: u64 = 1 << 20;

/// Most unpacked bytes of a module.
const MAX_SOURCE: usize = 4 << 20;

/// Macros that the application runs when a document is opened, closed or created.
const AUTO_EXEC: [&str; 17] = [
    "AutoExec",
    "AutoOpen",
    "Auto_Open",
    "AutoClose",
    "Auto_Close",
    "AutoNew",
    "AutoExit",
    "Document_Open",
    "Document_Close",
    "Document_New",
    "DocumentOpen",
    "Workbook_Open",
    "Workbook_Activate",
    "Workbook_BeforeClose",
    "Workbook_Close",
    "Presentation_Open",
    "SlideShow_Begin",
];

/// The `VBA` storage of a project ([MS-OVBA] 2.2.1) anywhere in the file, with the storage around it.
pub(crate) fn projects(cfb: &Cfb<'_>) -> impl Iterator<Item = (EntryId, EntryId)> {
    let storages = cfb
        .tree()
        .filter(|entry| entry.is_storage())
        .map(|entry| entry.id());
    std::iter::once(cfb.root())
        .chain(storages)
        .filter_map(|project| Some((project, vba_storage(cfb, project)?)))
}

/// The `VBA` storage right below a storage.
pub(crate) fn vba_storage(cfb: &Cfb<'_>, project: EntryId) -> Option<EntryId> {
    cfb.storage_named(project, "VBA")
        .filter(|vba| cfb.child(*vba, "dir").is_some() || cfb.child(*vba, "_VBA_PROJECT").is_some())
}

/// The names of macros in a `VBA` storage that run without being called.
///
/// # Errors
/// Budget errors.
pub(crate) fn auto_exec_names(cfb: &Cfb<'_>, vba: EntryId) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let modules: Vec<EntryId> = cfb
        .children(vba)
        .filter(|entry| {
            entry.is_stream() && !entry.is_named("dir") && !entry.is_named("_VBA_PROJECT")
        })
        .map(|entry| entry.id())
        .collect();
    for module in modules {
        let bytes = cfb.stream(cfb.entry(module)).read_range(0, MAX_MODULE)?;
        let Some(source) = source(&bytes) else {
            continue;
        };
        let source = source.to_ascii_lowercase();
        for name in AUTO_EXEC {
            if defines(&source, name) && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
    }
    Ok(found)
}

/// Whether lower-case source code defines a procedure of this name.
fn defines(source: &[u8], name: &str) -> bool {
    let name = format!("sub {}", name.to_ascii_lowercase());
    memmem::find_iter(source, name.as_bytes()).any(|at| {
        source
            .get(at + name.len())
            .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
    })
}

/// The source code of a module. It begins with attributes, which its packed form shows: eight literal
/// bytes behind the flag byte of the first chunk.
fn source(module: &[u8]) -> Option<Vec<u8>> {
    let at = memmem::find(module, b"\0Attribut")?.checked_sub(3)?;
    unpack(&module[at..])
}

/// Unpacks a compressed container (2.4.1). What is damaged ends it.
fn unpack(container: &[u8]) -> Option<Vec<u8>> {
    let mut rest = container.strip_prefix(&[1])?;
    let mut out = Vec::new();
    while let Some((header, body)) = rest.split_first_chunk::<2>() {
        let header = u16::from_le_bytes(*header);
        let len = usize::from(header & 0x0FFF) + 1;
        if header & 0x7000 != 0x3000 || out.len() > MAX_SOURCE {
            break;
        }
        let chunk = &body[..len.min(body.len())];
        if header & 0x8000 == 0 {
            out.extend_from_slice(chunk);
        } else {
            unpack_chunk(chunk, &mut out);
        }
        rest = &body[chunk.len()..];
    }
    Some(out)
}

fn unpack_chunk(mut chunk: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    while let Some((flags, rest)) = chunk.split_first() {
        chunk = rest;
        for bit in 0..8 {
            if flags >> bit & 1 == 0 {
                let Some((byte, rest)) = chunk.split_first() else {
                    return;
                };
                out.push(*byte);
                chunk = rest;
                continue;
            }
            let Some((token, rest)) = chunk.split_first_chunk::<2>() else {
                return;
            };
            chunk = rest;
            let token = u16::from_le_bytes(*token);
            let position = out.len() - start;
            // The more there is to point at, the more bits an offset takes: 4 to 12.
            let bits = (4..12)
                .find(|bits| 1_usize << bits >= position)
                .unwrap_or(12);
            let len = usize::from(token & (0xFFFF >> bits)) + 3;
            let offset = usize::from(token >> (16 - bits)) + 1;
            if offset > position {
                return;
            }
            for _ in 0..len {
                let byte = out[out.len() - offset];
                out.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of [MS-OVBA] 3.2.3.
    #[test]
    fn the_maximum_compression_example_is_unpacked() {
        let packed = [0x01, 0x03, 0xB0, 0x02, 0x61, 0x45, 0x00];
        assert_eq!(unpack(&packed).unwrap(), b"a".repeat(73));
    }

    /// The example of [MS-OVBA] 3.2.2.
    #[test]
    fn the_normal_compression_example_is_unpacked() {
        let packed = [
            0x01, 0x2F, 0xB0, 0x00, 0x23, 0x61, 0x61, 0x61, 0x62, 0x63, 0x64, 0x65, 0x82, 0x66,
            0x00, 0x70, 0x61, 0x67, 0x68, 0x69, 0x6A, 0x01, 0x38, 0x08, 0x61, 0x6B, 0x6C, 0x00,
            0x30, 0x6D, 0x6E, 0x6F, 0x70, 0x06, 0x71, 0x02, 0x70, 0x04, 0x10, 0x72, 0x73, 0x74,
            0x75, 0x76, 0x10, 0x77, 0x78, 0x79, 0x7A, 0x00, 0x3C,
        ];
        assert_eq!(
            unpack(&packed).unwrap(),
            b"#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa"
        );
    }

    #[test]
    fn damaged_modules_end_where_the_damage_is() {
        assert_eq!(unpack(b"\x01\x02\xB0\x01\xFF\xFF").unwrap(), b"");
        assert_eq!(unpack(b"\x02"), None);
        assert_eq!(source(b"nothing"), None);
    }

    #[test]
    fn only_whole_names_are_macros_that_run_by_themselves() {
        assert!(defines(b"private sub autoopen()", "AutoOpen"));
        assert!(!defines(b"sub autoopening()", "AutoOpen"));
        assert!(!defines(b"' autoopen", "AutoOpen"));
    }
}
