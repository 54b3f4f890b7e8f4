//! Writes what the fuzz targets begin with, when `DECKPROBE_FUZZ_SEEDS` names a folder for it.

use super::build::{Package, component, message, plain, presentation, spreadsheet, text};
use crate::harness::seed_writer;
use crate::support::zip::Packing;

#[test]
fn seeds_are_written_when_asked_for() {
    let Some(write) = seed_writer() else { return };
    for (kind, (name, package)) in documents().into_iter().enumerate() {
        write("iwork_document", name, &package.build());
        let deflated = package.build_deflated();
        write("iwork_document", &format!("{name}-deflated"), &deflated);
        let nested = package.build_nested(Packing::Stored, true);
        write("iwork_document", &format!("{name}-nested"), &nested);
        for form in [0, 4] {
            let bytes = objects(&package, kind as u8 | form);
            write("iwork_objects", &format!("{name}-{form}"), &bytes);
        }
        for (part, content) in &package.parts {
            if part.ends_with(".iwa") {
                let part = format!("{name}-{}", part.replace('/', "-"));
                write("iwa_component", &part, content);
            }
        }
        let (_, properties) = &package.parts[0];
        write("property_list", name, properties);
    }
    write(
        "iwa_component",
        "group",
        &component(&[(1, 2, message().group(3, &message()))]),
    );
    write(
        "property_list",
        "binary",
        b"bplist00\xD1\x01\x02\x5BisMultiPage\x09\x08\x0B\x17\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\x03\
          \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x18",
    );
    write(
        "picture",
        "jpeg",
        b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x11\x08\x02\x28\x02\xD0\x03",
    );
    write(
        "picture",
        "png",
        b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x40\0\0\0\x30\x08\x06",
    );
}

fn documents() -> [(&'static str, Package); 3] {
    [
        ("key", presentation()),
        ("numbers", spreadsheet()),
        ("pages", text("abc")),
    ]
}

/// The input of the target `iwork_objects` for a package (see there).
fn objects(package: &Package, choice: u8) -> Vec<u8> {
    let mut out = vec![choice];
    for name in ["Document", "CalculationEngine", "ViewState"] {
        let piece = package.plain(name);
        out.extend((piece.len() as u16).to_be_bytes());
        out.extend(piece);
    }
    out.extend(&package.parts[0].1);
    out
}

impl Package {
    /// The decoded bytes of a component, nothing when there is none.
    fn plain(&self, name: &str) -> Vec<u8> {
        let name = format!("Index/{name}.iwa");
        let Some((_, content)) = self.parts.iter().find(|(known, _)| *known == name) else {
            return plain(&[]);
        };
        let mut out = Vec::new();
        let mut rest = &content[..];
        while let [_, a, b, c, tail @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            out.extend(
                snap::raw::Decoder::new()
                    .decompress_vec(&tail[..length])
                    .unwrap(),
            );
            rest = &tail[length..];
        }
        out
    }
}
