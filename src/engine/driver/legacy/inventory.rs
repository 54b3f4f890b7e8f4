//! The path `office_legacy.cfb_inventory`: the container, and what protects or endangers the reader.

use super::encryption::Encryption;
use super::{Content, Legacy};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::{Profile, Target};
use crate::engine::container::cfb::{Cfb, EntryId};
use crate::engine::driver::{identity, vba};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const DIRECTORY: &str = "CFB directory";

pub(super) fn run(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    identity::put(legacy.probe, out);
    let kind = match legacy.probe.profile {
        Profile::Doc => "word",
        Profile::Xls => "excel",
        Profile::Ppt => "powerpoint",
        _ => "encrypted",
    };
    out.put(Target::OFFICE_DOCUMENT_KIND, kind, Exact, DIRECTORY);
    let profile = legacy.probe.profile.name();
    out.put(Target::OFFICE_LEGACY_KIND, profile, Exact, DIRECTORY);
    out.put(
        Target::OFFICE_CFB_CONTAINER,
        !legacy.is_bare,
        Exact,
        DIRECTORY,
    );
    let entries = legacy.cfb.live_entry_count();
    out.put(Target::OFFICE_CFB_ENTRY_COUNT, entries, Exact, DIRECTORY);
    if out.wants_any(&PROTECTION) {
        protection(legacy, out)?;
    }
    if out.wants_any(&ACTIVE) {
        active_content(legacy, out)?;
    }
    signatures(legacy, out);
    if out.wants(Target::QUALITY_CORRUPTED) {
        let corrupted = is_corrupted(legacy, out)?;
        out.put(
            Target::QUALITY_CORRUPTED,
            corrupted,
            High,
            "CFB allocation tables",
        );
    }
    Ok(())
}

const PROTECTION: [Target; 7] = [
    Target::SECURITY_ENCRYPTED,
    Target::SECURITY_PASSWORD_PROTECTED,
    Target::SECURITY_PASSWORD_TO_MODIFY,
    Target::SECURITY_ENCRYPTION_ALGORITHM,
    Target::SECURITY_ENCRYPTION_KEY_BITS,
    Target::SECURITY_ENCRYPTION_SCHEME,
    Target::OFFICE_CONTENT_PROBE_SUPPORTED,
];

fn protection(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    let content = legacy.content(out)?;
    if out.wants(Target::SECURITY_PASSWORD_TO_MODIFY) {
        let to_modify = match content {
            Content::Word(word) => Some(word.has_password_to_modify()),
            Content::Excel(excel) => excel.globals()?.map(|g| g.has_password_to_modify),
            _ => None,
        };
        let target = Target::SECURITY_PASSWORD_TO_MODIFY;
        out.put_or_unknown(target, to_modify, Exact, "write reservation");
    }
    let Some(encryption) = content.encryption()? else {
        PROTECTION
            .into_iter()
            .for_each(|target| out.unknown(target));
        return Ok(());
    };
    let source = "encryption header";
    let encrypted = encryption.is_some();
    out.put(Target::SECURITY_ENCRYPTED, encrypted, Exact, source);
    out.put(
        Target::OFFICE_CONTENT_PROBE_SUPPORTED,
        !encrypted,
        Exact,
        source,
    );
    let asks = encryption.as_ref().is_some_and(asks_for_password);
    out.put(Target::SECURITY_PASSWORD_PROTECTED, asks, Exact, source);
    match encryption {
        None => {
            for target in DETAILS {
                out.put(target, Value::Null, Exact, source);
            }
        }
        Some(Encryption {
            scheme,
            algorithm,
            key_bits,
            ..
        }) => {
            let algorithm = algorithm.map(std::borrow::Cow::into_owned);
            out.put_or_unknown(DETAILS[0], algorithm, Exact, source);
            out.put_or_unknown(DETAILS[1], key_bits, Exact, source);
            out.put_or_unknown(DETAILS[2], scheme, Exact, source);
        }
    }
    Ok(())
}

const DETAILS: [Target; 3] = [
    Target::SECURITY_ENCRYPTION_ALGORITHM,
    Target::SECURITY_ENCRYPTION_KEY_BITS,
    Target::SECURITY_ENCRYPTION_SCHEME,
];

fn asks_for_password(encryption: &Encryption) -> bool {
    !encryption.opens_without_password && encryption.scheme != Some("rights-management")
}

const ACTIVE: [Target; 2] = [
    Target::SECURITY_HAS_MACROS,
    Target::SECURITY_HAS_EMBEDDED_FILES,
];

/// Macros and embedded objects.
fn active_content(legacy: &mut Legacy<'_>, out: &mut Findings) -> Result<()> {
    if out.wants(Target::SECURITY_HAS_MACROS) {
        let target = Target::SECURITY_HAS_MACROS;
        match macros(legacy, out)? {
            Some(Some(place)) => out.put(target, true, Exact, place),
            Some(None) => out.put(target, false, Exact, "VBA project or macro sheet"),
            None => out.unknown(target),
        }
    }
    if out.wants(Target::SECURITY_HAS_EMBEDDED_FILES) {
        let embedded = has_embedded_objects(legacy, out)?;
        out.put_or_unknown(
            Target::SECURITY_HAS_EMBEDDED_FILES,
            embedded,
            Exact,
            "embedded objects",
        );
    }
    Ok(())
}

/// Where macros are. `None` when encryption or damage hides it, `Some(None)` when there are none.
pub(super) fn macros(legacy: &mut Legacy<'_>, out: &Findings) -> Result<Option<Option<String>>> {
    if legacy.is_package() {
        return Ok(None);
    }
    let storage = vba_storage(&legacy.cfb, legacy.home);
    if storage.is_some() {
        return Ok(Some(storage));
    }
    let own = match legacy.content(out)? {
        Content::Word(_) => Some(false),
        Content::Excel(excel) => excel.globals()?.map(|globals| {
            globals.has_vba_project || globals.sheets.iter().any(|sheet| sheet.is_macro_sheet)
        }),
        Content::Powerpoint(powerpoint) => powerpoint.document()?.map(|d| d.has_macros),
        Content::Package(_) | Content::Unreadable => None,
    };
    if own == Some(true) {
        return Ok(Some(Some("VBA project or macro sheet".into())));
    }
    if let Some((project, _)) = vba::projects(&legacy.cfb).next() {
        let name = legacy.cfb.entry(project).name();
        return Ok(Some(Some(format!(
            "VBA project in the embedded object {name}"
        ))));
    }
    Ok(own.map(|_| None))
}

/// A VBA project is a storage that holds a storage `VBA` with the project's directory ([MS-OVBA] §2.2.1);
/// Excel 5 and 95 keep theirs in `_VBA_PROJECT`, without one.
fn vba_storage(cfb: &Cfb<'_>, home: EntryId) -> Option<String> {
    cfb.children(home)
        .filter(|e| e.is_storage())
        .find(|project| {
            let is_old = project.is_named("_VBA_PROJECT");
            (is_old && cfb.children(project.id()).next().is_some())
                || vba::vba_storage(cfb, project.id()).is_some()
        })
        .map(|project| format!("VBA project in the storage {}", project.name()))
}

pub(super) fn has_embedded_objects(
    legacy: &mut Legacy<'_>,
    out: &Findings,
) -> Result<Option<bool>> {
    let (cfb, home) = (legacy.cfb.clone(), legacy.home);
    Ok(match legacy.probe.profile {
        // Every document that ever held an object keeps the pool, empty or not.
        Profile::Doc => Some(
            cfb.storage_named(home, "ObjectPool")
                .is_some_and(|pool| cfb.children(pool).any(|entry| entry.is_storage())),
        ),
        // `MBD` and eight hexadecimal digits; `LNK` are links.
        Profile::Xls => Some(
            cfb.children(home)
                .any(|entry| entry.is_storage() && entry.name_starts_with("MBD")),
        ),
        Profile::Ppt => match legacy.content(out)? {
            Content::Powerpoint(powerpoint) => {
                powerpoint.document()?.map(|d| d.has_embedded_objects)
            }
            _ => None,
        },
        _ => None,
    })
}

/// Signatures stand in the clear ([MS-OFFCRYPTO] §2.5): one stream each in a storage, or, from before
/// Office 2007, all in one stream, which does not tell their number without being decoded.
fn signatures(legacy: &Legacy<'_>, out: &mut Findings) {
    let (cfb, home) = (&legacy.cfb, legacy.home);
    let xml = cfb
        .storage_named(home, "_xmlsignatures")
        .map_or(0, |storage| {
            cfb.children(storage).filter(|e| e.is_stream()).count() as u64
        });
    let old = cfb.child(home, "_signatures").is_some();
    let has = xml > 0 || old;
    out.put(
        Target::SECURITY_HAS_DIGITAL_SIGNATURE,
        has,
        Exact,
        DIRECTORY,
    );
    let count = (!old).then_some(xml);
    out.put_or_unknown(Target::SECURITY_SIGNATURE_COUNT, count, Exact, DIRECTORY);
}

/// A broken container, or a main stream that cannot be understood.
fn is_corrupted(legacy: &mut Legacy<'_>, out: &Findings) -> Result<bool> {
    let unreadable = match legacy.content(out)? {
        Content::Unreadable => true,
        Content::Excel(excel) => excel.globals()?.is_none(),
        Content::Powerpoint(powerpoint) => {
            !matches!(powerpoint.encryption()?, Some(Some(_))) && powerpoint.document()?.is_none()
        }
        Content::Word(_) | Content::Package(_) => false,
    };
    Ok(unreadable || legacy.cfb.is_damaged()?)
}
