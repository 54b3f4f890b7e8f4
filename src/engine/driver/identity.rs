//! The identity targets, which every driver answers alike.

use super::Probe;
use crate::contract::Confidence::Exact;
use crate::engine::catalogue::{Profile, Target};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// Puts the identity targets of a verified input.
pub(crate) fn put(probe: &Probe<'_>, out: &mut Findings) {
    let spec = probe.profile.spec();
    out.put(
        Target::DOCUMENT_FORMAT,
        Value::word(spec.format),
        Exact,
        "verified container",
    );
    out.put(
        Target::DOCUMENT_FORMAT_PROFILE,
        Value::word(spec.name),
        Exact,
        "verified container",
    );
    out.put(
        Target::DOCUMENT_MIME_TYPE,
        Value::word(spec.mime),
        Exact,
        "verified container",
    );
    out.put(
        Target::DOCUMENT_FILE_SIZE,
        probe.source.size(),
        Exact,
        "input size",
    );
    out.put(
        Target::DOCUMENT_EXTENSION,
        probe.extension,
        Exact,
        "input name",
    );
    // Routing is by extension and every container was verified before this, so what does not match
    // never gets here; the encrypted package matches whatever Office Open XML name it bears.
    let matches =
        probe.profile == Profile::EncryptedOoxml || probe.profile.has_extension(probe.extension);
    out.put(
        Target::DOCUMENT_EXTENSION_MATCHES,
        matches,
        Exact,
        "input name",
    );
}
