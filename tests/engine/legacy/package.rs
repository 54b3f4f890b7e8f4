//! Encrypted Office Open XML packages.

use serde_json::json;

use super::make::{compound, doc};
use super::{probe, values};
use crate::harness::Engine;

const TARGETS: &str = "document.format_profile,document.format,security.encrypted,\
                       security.password_protected,security.encryption_scheme,\
                       security.encryption_algorithm,security.encryption_key_bits,\
                       office.document_kind,office.content_probe_supported";

fn agile() -> Vec<u8> {
    let mut info = vec![4, 0, 4, 0, 0x40, 0, 0, 0];
    info.extend(
        br#"<?xml version="1.0" encoding="UTF-8"?><encryption xmlns="http://schemas.microsoft.com/office/2006/encryption"><keyData saltSize="16" blockSize="16" keyBits="256" hashSize="64" cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="SHA512"/></encryption>"#,
    );
    info
}

fn standard() -> Vec<u8> {
    let mut info = vec![3, 0, 2, 0];
    for field in [0x24_u32, 32, 0x24, 0, 0x660E, 0x8004, 128, 0x18] {
        info.extend(field.to_le_bytes());
    }
    info
}

/// The probe stops at the boundary and says what the boundary is made of.
#[test]
fn encryption_is_described_and_nothing_behind_it() {
    for (info, how) in [
        (agile(), json!(["agile", "AES", 256])),
        (standard(), json!(["standard", "AES", 128])),
        (vec![7; 40], json!([null, null, null])),
    ] {
        let file = compound(&[("EncryptionInfo", &info), ("EncryptedPackage", &[0; 5000])]);
        for name in ["a.docx", "a.xlsm", "a.potx"] {
            let found = values(name, &file, TARGETS);
            let expected = json!(["encrypted-ooxml", "office-open-xml", true, true]);
            assert_eq!(json!(found[..4]), expected, "{name}");
            assert_eq!(json!(found[4..7]), how, "{name}");
            assert_eq!(json!(found[7..]), json!(["encrypted", false]), "{name}");
        }
    }
}

/// The stream's own name once passed for an embedded file.
#[test]
fn w29_what_is_behind_the_encryption_is_unknown() {
    let file = compound(&[
        ("EncryptionInfo", &agile()),
        ("EncryptedPackage", &[0; 5000]),
    ]);
    let targets = "security.has_embedded_files,security.has_macros,document.title";
    let report = probe("a.docm", &file, targets);
    for target in targets.split(',') {
        assert_eq!(report["results"][target]["status"], "unknown", "{target}");
    }
}

#[test]
fn rights_management_is_encryption_without_a_password() {
    let file = compound(&[
        ("EncryptedPackage", &[0; 5000]),
        ("\u{6}DataSpaces/Version", b"x"),
    ]);
    let targets = "security.encrypted,security.password_protected,security.encryption_scheme";
    let expected = json!([true, false, "rights-management"]);
    assert_eq!(json!(values("a.docx", &file, targets)), expected);
}

#[test]
fn content_never_changes_the_routing() {
    let package = compound(&[
        ("EncryptionInfo", &agile()),
        ("EncryptedPackage", &[0; 5000]),
    ]);
    let both = compound(&[
        ("EncryptionInfo", &agile()),
        ("EncryptedPackage", &[0; 5000]),
        ("WordDocument", &[0; 64]),
    ]);
    let nothing = compound(&[("Other", b"x")]);
    for (name, file) in [
        ("a.doc", &package),
        ("a.doc", &both),
        ("a.docx", &doc(b"x\r")),
        ("a.xls", &doc(b"x\r")),
        ("a.doc", &nothing),
        ("a.docx", &nothing),
    ] {
        for flags in [
            &["-l", "h", "-t", "@header"][..],
            &["-t", "title"],
            &["-l", "d"],
        ] {
            let reply = Engine::start(flags).probe(name, file);
            if flags.contains(&"@header") && *file != nothing {
                // What the content is, is answered; facts under the wrong name are not.
                let matches = &reply["results"]["document.extension_matches"]["value"];
                assert_eq!(*matches, false, "{name} {flags:?}: {reply}");
                continue;
            }
            assert_eq!(
                reply["error"]["code"], "MALFORMED_INPUT",
                "{name} {flags:?}: {reply}"
            );
        }
    }
}
