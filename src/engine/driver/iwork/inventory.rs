//! What the package holds, by the names of its entries.

use super::package::Package;
use super::preview;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const SOURCE: &str = "package entries";

/// Kinds of data assets by their extensions (contract §9.7).
const KINDS: [(&str, &[&str]); 4] = [
    (
        "image",
        &[
            "bmp", "gif", "heic", "heif", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp",
        ],
    ),
    ("audio", &["aac", "aif", "aiff", "caf", "m4a", "mp3", "wav"]),
    ("video", &["avi", "m4v", "mov", "mp4", "mpeg", "mpg"]),
    ("font", &["otf", "ttf", "woff", "woff2"]),
];

/// Puts the targets that all three kinds of documents share.
pub(super) fn put(package: &Package<'_>, out: &mut Findings) {
    out.put(Target::SECURITY_HAS_MACROS, false, Exact, "document kind");
    out.put(
        Target::IWORK_PACKAGE_ENTRY_COUNT,
        package.entries().count(),
        Exact,
        SOURCE,
    );
    out.put(
        Target::IWORK_IWA_ENTRY_COUNT,
        package.component_count(),
        Exact,
        SOURCE,
    );
    let previews = package
        .entries()
        .filter(|(name, _)| preview::is_preview(name))
        .count();
    out.put(Target::IWORK_PREVIEW_COUNT, previews, Exact, SOURCE);
    out.put(Target::IWORK_HAS_PREVIEW, previews > 0, Exact, SOURCE);

    let assets = || package.entries().filter(|(name, _)| is_asset(name));
    out.put(
        Target::IWORK_DATA_ASSET_COUNT,
        assets().count(),
        Exact,
        SOURCE,
    );
    let bytes = assets().fold(0_u64, |sum, (_, entry)| sum.saturating_add(entry.size()));
    out.put(Target::IWORK_DATA_ASSET_BYTES, bytes, Exact, SOURCE);
    if out.wants(Target::IWORK_ASSET_TYPE_COUNTS) {
        let counts = KINDS
            .map(|(kind, _)| kind)
            .into_iter()
            .chain(["other"])
            .map(|kind| {
                let count = assets().filter(|(name, _)| kind_of(name) == kind).count();
                (kind, Value::from(count))
            });
        out.put(
            Target::IWORK_ASSET_TYPE_COUNTS,
            Value::object(counts),
            Exact,
            SOURCE,
        );
    }
}

fn is_asset(name: &str) -> bool {
    name.starts_with("Data/") && !name.ends_with('/')
}

fn kind_of(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    KINDS
        .iter()
        .find(|(_, extensions)| {
            extensions
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        })
        .map_or("other", |(kind, _)| kind)
}
