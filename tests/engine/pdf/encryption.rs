//! Encrypted documents: the empty password is tried, structure is answered without one.

use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockCipherEncrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher};
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::build::Pdf;
use super::{expect, report};
use crate::harness::Engine;

const PADDING: &[u8; 32] = b"\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A";

/// How a document is encrypted, with its key.
struct Scheme {
    name: &'static str,
    dictionary: String,
    key: Vec<u8>,
    aes: bool,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn rc4(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out = data.to_vec();
    rc4::Rc4::new_from_slice(key)
        .unwrap()
        .apply_keystream(&mut out);
    out
}

/// An initialization vector and the text behind it, padded and encrypted.
fn with_iv<C: BlockCipherEncrypt + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8>
where
    cbc::Encryptor<C>: KeyIvInit + BlockModeEncrypt,
{
    let iv = [9; 16];
    let mut buffer = [text, &[0; 16]].concat();
    let body = cbc::Encryptor::<C>::new_from_slices(key, &iv)
        .unwrap()
        .encrypt_padded::<Pkcs7>(&mut buffer, text.len())
        .unwrap();
    [&iv[..], body].concat()
}

/// Revisions 2 to 4 with this user password (algorithms 2, 4 and 5).
fn old(name: &'static str, revision: u8, key_len: usize, filters: &str, password: &[u8]) -> Scheme {
    let padded: Vec<u8> = password.iter().chain(PADDING).copied().take(32).collect();
    let (owner, id, permissions) = ([7; 32], b"0123456789abcdef", -44_i32);
    let mut key: Vec<u8> =
        Md5::digest([&padded[..], &owner, &permissions.to_le_bytes(), id].concat()).to_vec();
    if revision >= 3 {
        for _ in 0..50 {
            key = Md5::digest(&key[..key_len]).to_vec();
        }
    }
    key.truncate(key_len);
    let user = if revision == 2 {
        rc4(&key, PADDING)
    } else {
        let mut check = Md5::digest([&PADDING[..], id].concat()).to_vec();
        for round in 0..20 {
            let key: Vec<u8> = key.iter().map(|byte| byte ^ round).collect();
            check = rc4(&key, &check);
        }
        check.resize(32, 0);
        check
    };
    let dictionary = format!(
        "<</Filter/Standard/R {revision}/P {permissions}/O<{}>/U<{}>{filters}>>",
        hex(&owner),
        hex(&user)
    );
    Scheme {
        name,
        dictionary,
        key,
        aes: filters.contains("AESV2"),
    }
}

impl Scheme {
    /// Encrypts a string of an object (algorithm 1).
    fn encrypt(&self, number: u32, text: &[u8]) -> Vec<u8> {
        let mut salted = [&self.key[..], &number.to_le_bytes()[..3], &[0, 0]].concat();
        if self.aes {
            salted.extend(b"sAlT");
        }
        let key = Md5::digest(&salted);
        let key = &key[..(self.key.len() + 5).min(16)];
        if !self.aes {
            return rc4(key, text);
        }
        with_iv::<aes::Aes128>(key, text)
    }

    fn document(&self) -> Vec<u8> {
        let mut pdf = Pdf::one_page("", "/Annots[<</Subtype/Link/A<</S/URI/URI(x)>>>>]");
        pdf.object(
            6,
            format!("<</Title<{}>>>", hex(&self.encrypt(6, b"Secret title"))),
        )
        .table(&format!(
            "/Root 1 0 R/Info 6 0 R/ID[(0123456789abcdef)(x)]/Encrypt {}",
            self.dictionary
        ));
        pdf.bytes
    }
}

const AES: &str = "/V 4/Length 128/CF<</StdCF<</CFM/AESV2/Length 16>>>>/StmF/StdCF/StrF/StdCF";

fn schemes(password: &[u8]) -> [Scheme; 4] {
    [
        old("RC4-40", 2, 5, "/V 1", password),
        old("RC4-128", 3, 16, "/V 2/Length 128", password),
        old(
            "RC4 by crypt filter",
            4,
            16,
            "/V 4/CF<</StdCF<</CFM/V2>>>>/StmF/StdCF/StrF/StdCF",
            password,
        ),
        old("AES-128", 4, 16, AES, password),
    ]
}

#[test]
fn the_empty_password_is_tried() {
    // W-6: also RC4-40 and an encryption dictionary that is a direct object.
    for scheme in schemes(b"") {
        let report = report(scheme.document());
        assert_eq!(report["error"], Value::Null, "{}", scheme.name);
        expect(
            &report,
            &[
                ("security.encrypted", json!(true)),
                ("security.password_protected", json!(false)),
                ("pdf.page_count", json!(1)),
                ("document.title", json!("Secret title")),
                ("pdf.annotation_count", json!(1)),
            ],
        );
    }
}

#[test]
fn without_the_password_structure_is_answered_and_strings_are_not_garbage() {
    for scheme in schemes(b"open sesame") {
        let report = report(scheme.document());
        expect(
            &report,
            &[
                ("security.encrypted", json!(true)),
                ("security.password_protected", json!(true)),
                ("pdf.page_count", json!(1)),
                ("pdf.object_count", json!(4)),
                ("pdf.annotation_count", json!(1)),
                ("security.has_external_relationships", json!(true)),
                ("document.title", json!(null)),
            ],
        );
        assert_eq!(
            report["results"]["document.title"]["status"], "unknown",
            "{}",
            scheme.name
        );
    }
}

#[test]
fn content_of_encrypted_object_streams_is_unknown_and_not_zero() {
    let scheme = &schemes(b"open sesame")[1];
    let mut pdf = Pdf::new("1.7");
    pdf.object_stream(4, &[(2, "x"), (3, "x")])
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .stream(4, "/Type/ObjStm/N 2/First 8", b"\x93garbage\x00garbage")
        .xref_stream(
            5,
            &format!(
                "/Root 1 0 R/ID[(0123456789abcdef)(x)]/Encrypt {}",
                scheme.dictionary
            ),
        );
    let report = report(&pdf.bytes);
    for target in [
        "pdf.page_count",
        "pdf.annotation_count",
        "security.has_javascript",
        "security.signature_count",
    ] {
        assert_eq!(report["results"][target]["status"], "unknown", "{target}");
    }
    expect(
        &report,
        &[
            ("security.encrypted", json!(true)),
            ("security.password_protected", json!(true)),
            ("pdf.object_count", json!(5)),
            ("pdf.repaired", json!(false)),
        ],
    );
}

#[test]
fn an_unsupported_handler_leaves_password_protection_unknown() {
    for dictionary in [
        "<</Filter/Adobe.PubSec/V 4/SubFilter/adbe.pkcs7.s5>>",
        "<</Filter/Standard/V 9/R 9/O()/U()/P 0>>",
        "<<>>",
        "77 0 R",
    ] {
        let mut pdf = Pdf::one_page("", "");
        pdf.table(&format!("/Root 1 0 R/Encrypt {dictionary}"));
        let report = report(&pdf.bytes);
        assert_eq!(
            report["results"]["security.password_protected"]["status"],
            "unknown"
        );
        expect(
            &report,
            &[
                ("security.encrypted", json!(true)),
                ("pdf.page_count", json!(1)),
            ],
        );
    }
}

#[test]
fn facts_do_not_depend_on_the_targets_requested_before() {
    // Of an encrypted file that cannot be opened: the entries of the metadata and of the Info dictionary lead
    // to something that is not an object stream, though the metadata are in the file.
    let mut pdf = Pdf::one_page("/Metadata 7 0 R", "");
    pdf.object_stream(6, &[(7, ""), (8, "")])
        .object(6, "(no stream)")
        .raw("7 0 obj <</Type/Metadata/Subtype/XML/Length 1>>stream\nx\nendstream endobj\n")
        .xref_stream(9, "/Root 1 0 R/Info 8 0 R/Encrypt<</Filter/Other>>");
    for flags in [
        &["-t", "has_xmp"][..],
        &[
            "-t",
            "title,author,subject,keywords,description,application,has_xmp",
        ],
        &["-t", "@all"],
        &["-l", "d", "-t", "@all"],
    ] {
        let report = Engine::start(flags).probe("a.pdf", &pdf.bytes);
        expect(&report, &[("pdf.has_xmp", json!(true))]);
    }
    // And of one whose metadata are not where they should be, but may be in an object stream that is
    // locked: the first look and the second say the same.
    let mut pdf = Pdf::one_page("/Metadata 7 0 R/AcroForm 8 0 R", "");
    pdf.object_stream(6, &[(20, "null")])
        .object(7, "x")
        .shift(7, 1)
        .object(8, "x")
        .shift(8, 1)
        .xref_stream(9, "/Root 1 0 R/Encrypt<</Filter/Other>>");
    for targets in [
        "has_xmp",
        "has_xmp,form_field_count",
        "form_field_count,has_xmp,title",
        "@all",
    ] {
        let flags = ["-l", "d", "-t", targets];
        let report = Engine::start(&flags).probe("a.pdf", &pdf.bytes);
        assert_eq!(
            report["results"]["pdf.has_xmp"]["status"], "unknown",
            "{targets}"
        );
        let claims =
            Engine::start(&["-t", "conformance,annotation_count"]).probe("a.pdf", &pdf.bytes);
        assert_eq!(claims["results"]["pdf.conformance"]["status"], "unknown");
    }
}

#[test]
fn a_damaged_encrypted_file_is_repaired_too() {
    //
    let whole = schemes(b"")[1].document();
    let end = memchr::memmem::rfind(&whole, b"startxref").unwrap();
    let cut = &whole[..end];
    expect(
        &report(cut),
        &[
            ("pdf.repaired", json!(true)),
            ("security.encrypted", json!(true)),
            ("pdf.page_count", json!(1)),
            ("document.title", json!("Secret title")),
        ],
    );
}

#[test]
fn aes_256_with_the_empty_password_is_opened() {
    // Revision 5, whose hash is plain SHA-256 (revision 6 is shown on the corpus).
    use sha2::Sha256;
    let key = [5_u8; 32];
    let (validation, key_salt) = (b"validate", b"key salt");
    let user = [&Sha256::digest(validation)[..], validation, key_salt].concat();
    let wrapped = {
        let mut buffer = key;
        cbc::Encryptor::<aes::Aes256>::new_from_slices(&Sha256::digest(key_salt), &[0; 16])
            .unwrap()
            .encrypt_padded::<NoPadding>(&mut buffer, 32)
            .unwrap();
        buffer
    };
    let title = with_iv::<aes::Aes256>(&key, b"Secret title");
    let mut pdf = Pdf::one_page("", "");
    pdf.object(6, format!("<</Title<{}>>>", hex(&title)))
        .object(
            7,
            format!(
                "<</Filter/Standard/V 5/R 5/P -4/O<{}>/OE<{}>/U<{}>/UE<{}>\
                 /CF<</StdCF<</CFM/AESV3>>>>/StmF/StdCF/StrF/StdCF>>",
                hex(&[0; 48]),
                hex(&[0; 32]),
                hex(&user),
                hex(&wrapped)
            ),
        )
        .table("/Root 1 0 R/Info 6 0 R/Encrypt 7 0 R");
    expect(
        &report(&pdf.bytes),
        &[
            ("security.password_protected", json!(false)),
            ("document.title", json!("Secret title")),
        ],
    );
}
