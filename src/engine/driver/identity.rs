//! The identity targets, which every driver answers alike.

use super::Probe;
use crate::contract::Confidence::{self, Exact, High};
use crate::engine::catalogue::{Profile, Target};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// Puts the identity targets of a verified input.
pub(crate) fn put(probe: &Probe<'_>, out: &mut Findings) {
    put_format(probe, Exact, "verified container", out);
    put_name(probe, Exact, out);
}

/// Puts the identity targets of an input whose container could not be verified within the budget. What
/// is there already stays.
pub(crate) fn put_unverified(probe: &Probe<'_>, out: &mut Findings) {
    put_format(probe, High, "extension and first bytes", out);
    put_name(probe, High, out);
}

fn put_format(probe: &Probe<'_>, confidence: Confidence, source: &'static str, out: &mut Findings) {
    let spec = probe.profile.spec();
    for (target, word) in [
        (Target::DOCUMENT_FORMAT, spec.format),
        (Target::DOCUMENT_FORMAT_PROFILE, spec.name),
        (Target::DOCUMENT_MIME_TYPE, spec.mime),
    ] {
        out.put(target, Value::word(word), confidence, source);
    }
}

fn put_name(probe: &Probe<'_>, confidence: Confidence, out: &mut Findings) {
    let size = probe.source.size();
    out.put(Target::DOCUMENT_FILE_SIZE, size, Exact, "input size");
    let name = "input name";
    out.put(Target::DOCUMENT_EXTENSION, probe.extension, Exact, name);
    // The encrypted package matches whatever Office Open XML name it has.
    let matches = match probe.profile {
        Profile::EncryptedOoxml => Profile::ALL.iter().any(|profile| {
            profile.driver().row().encrypted.is_some() && profile.has_extension(probe.extension)
        }),
        profile => profile.has_extension(probe.extension),
    };
    out.put(
        Target::DOCUMENT_EXTENSION_MATCHES,
        matches,
        confidence,
        name,
    );
}
