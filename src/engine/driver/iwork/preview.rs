//! The preview pictures in the package's root.

use super::image::{self, Dimensions};
use super::limit;
use super::package::Package;
use crate::engine::catalogue::Target;
use crate::engine::container::zip::Entry;
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// How far into a picture its size is looked for. Colour profiles and thumbnails stand before it.
const REACH: usize = 1024 * 1024;

/// Whether an entry is a preview, by its name.
pub(super) fn is_preview(name: &str) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let begins = |start: &str| {
        name.get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    !name.contains('/')
        && (is("preview.jpg") || is("preview.jpeg") || is("preview.png") || begins("preview-"))
}

/// Puts the pixel size of each preview, null where it cannot be read.
///
/// # Errors
/// Budget errors.
pub(super) fn put(package: &Package<'_>, out: &mut Findings) -> Result<()> {
    let mut sizes = Vec::new();
    let mut length = 0;
    for (name, entry) in package.entries().filter(|(name, _)| is_preview(name)) {
        length += name.len() + 40;
        sizes.push((name.to_owned(), size(package, entry)?));
    }
    limit::put(
        Target::IWORK_PREVIEW_DIMENSIONS,
        length,
        "picture headers",
        out,
        || Value::object(sizes),
    );
    Ok(())
}

fn size(package: &Package<'_>, entry: Entry<'_>) -> Result<Value> {
    let mut head = Vec::new();
    let mut stream = package.stream(entry);
    while head.len() < REACH {
        match stream.more(&mut head) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.is_malformed() => break,
            Err(error) => return Err(error),
        }
        match image::dimensions(&head) {
            Dimensions::Known { width, height } => {
                return Ok(Value::object([
                    ("width", Value::from(width)),
                    ("height", Value::from(height)),
                ]));
            }
            Dimensions::Unreadable => break,
            Dimensions::Further => {}
        }
    }
    Ok(Value::Null)
}
