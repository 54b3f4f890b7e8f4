//! Reasons for a risk, and scripts in forms.

use serde_json::{Value, json};

use super::build::{Pdf, deflate};
use super::{expect, report};
use crate::harness::value;

/// The kinds of signals with their severities, in the order of the report.
fn signals(report: &Value) -> Vec<String> {
    let signals = value(report, "security.risk_signals").and_then(Value::as_array);
    let signals = signals.unwrap_or_else(|| panic!("no signals in {report:#}"));
    let text = |signal: &Value| {
        format!(
            "{} {} {}",
            signal["severity"].as_str().unwrap(),
            signal["signal"].as_str().unwrap(),
            signal["count"]
        )
    };
    signals.iter().map(text).collect()
}

#[test]
fn every_signal_is_named_with_its_severity_and_decides_the_risk() {
    let cases: [(&str, &[&str], &str); 9] = [
        ("", &[], "none"),
        (
            "/OpenAction<</S/JavaScript/JS(x)>>",
            &["high javascript 1"],
            "high",
        ),
        (
            "/OpenAction<</S/Launch/F(a.exe)/Next<</S/Launch/F(b.exe)>>>>",
            &["high launch_action 2"],
            "high",
        ),
        (
            "/AA<</WC<</S/SubmitForm/F(http://x)>>>>",
            &["medium submit_form 1"],
            "medium",
        ),
        (
            "/AA<</WC<</S/ImportData/F(x)>>>>",
            &["medium import_data 1"],
            "medium",
        ),
        (
            "/OpenAction<</S/Movie>>",
            &["medium multimedia 1"],
            "medium",
        ),
        (
            "/OpenAction<</S/URI/URI(http://x)>>",
            &["low external_reference 1"],
            "low",
        ),
        (
            "/Names<</EmbeddedFiles<</Names[(a)<</Type/Filespec/F(a)/EF<</F 20 0 R>>>>]>>>>",
            &["low embedded_file 1"],
            "low",
        ),
        (
            "/Names<</EmbeddedFiles<</Names[(a)<</Type/Filespec/F(a)/EF<</F 21 0 R>>>>]>>>>",
            &["high embedded_executable 1", "low embedded_file 1"],
            "high",
        ),
    ];
    for (catalogue, expected, risk) in cases {
        let mut pdf = Pdf::one_page(catalogue, "");
        pdf.stream(20, "/Type/EmbeddedFile", b"plain text")
            .stream(
                21,
                "/Type/EmbeddedFile/Filter/FlateDecode",
                &deflate(b"MZ\x90\0\x03 a program"),
            )
            .table("/Root 1 0 R");
        let report = report(&pdf.bytes);
        assert_eq!(signals(&report), expected, "{catalogue}");
        assert_eq!(
            value(&report, "security.active_content_risk"),
            Some(&json!(risk))
        );
    }
}

#[test]
fn signals_say_where_they_were_found() {
    let mut pdf = Pdf::one_page("/OpenAction 8 0 R", "");
    pdf.object(8, "<</S/JavaScript/JS(x)>>")
        .table("/Root 1 0 R");
    let report = report(&pdf.bytes);
    let first = &value(&report, "security.risk_signals").unwrap()[0];
    assert_eq!(first["location"], "object 8");
}

#[test]
fn content_that_could_not_be_examined_is_a_signal() {
    let mut pdf = Pdf::one_page("/OpenAction 8 0 R", "");
    pdf.object(8, "<</S/JavaScript/JS(never ends")
        .table("/Root 1 0 R");
    let report = report(&pdf.bytes);
    assert_eq!(signals(&report), ["unknown unreadable_content 1"]);
    expect(&report, &[("security.active_content_risk", Value::Null)]);
}

/// A document whose form has this entry for XFA, with the streams 10 and 11.
fn form(entry: &str, streams: [&str; 2]) -> Value {
    let mut pdf = Pdf::one_page(&format!("/AcroForm<</Fields[]/XFA {entry}>>"), "");
    for (number, text) in (10..).zip(streams) {
        pdf.stream(number, "/Filter/FlateDecode", &deflate(text.as_bytes()));
    }
    pdf.table("/Root 1 0 R");
    report(&pdf.bytes)
}

#[test]
fn scripts_in_xfa_packets_are_scripts_of_the_document() {
    let script = |kind: &str| {
        format!(
            "<template xmlns='http://www.xfa.org/schema/xfa-template/3.0/'><subform><event>\
             <script {kind}>1</script></event></subform></template>"
        )
    };
    let java_script = script("contentType='application/x-javascript'");
    let prefixed = java_script
        .replace("<script", "<t:script xmlns:t='x'")
        .replace("</script", "</t:script");
    let formcalc = script("");
    let open = "<xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'>";
    let cases = [
        (
            "one stream",
            form("10 0 R", [&java_script, ""]),
            true,
            "high",
        ),
        (
            "an array",
            form(
                "[(preamble) 10 0 R (template) 11 0 R]",
                [open, &java_script],
            ),
            true,
            "high",
        ),
        ("a prefix", form("10 0 R", [&prefixed, ""]), true, "high"),
        (
            "damaged before",
            form("10 0 R", [&format!("<a></b>{java_script}"), ""]),
            true,
            "high",
        ),
        ("FormCalc", form("10 0 R", [&formcalc, ""]), false, "medium"),
        (
            "none",
            form("[(template) 10 0 R]", ["<template/>", ""]),
            false,
            "none",
        ),
    ];
    for (what, report, has_script, risk) in cases {
        assert_eq!(
            value(&report, "security.has_javascript"),
            Some(&json!(has_script)),
            "{what}"
        );
        assert_eq!(
            value(&report, "security.active_content_risk"),
            Some(&json!(risk)),
            "{what}"
        );
    }
    // UTF-16, as XML allows it.
    let utf16: Vec<u8> = format!("\u{FEFF}{java_script}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut pdf = Pdf::one_page("/AcroForm<</XFA 10 0 R>>", "");
    pdf.stream(10, "", &utf16).table("/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[("security.has_javascript", json!(true))],
    );
}

#[test]
fn a_form_that_cannot_be_decoded_leaves_scripts_unknown() {
    let mut pdf = Pdf::one_page("/AcroForm<</XFA 10 0 R>>", "");
    pdf.stream(10, "/Filter/Foreign", b"<script/>")
        .table("/Root 1 0 R");
    expect(
        &report(&pdf.bytes),
        &[("security.has_javascript", Value::Null)],
    );
}

#[test]
fn signatures_are_described_as_they_describe_themselves() {
    let mut pdf = Pdf::one_page("/AcroForm<</Fields[8 0 R]/SigFlags 3>>", "");
    let signature = |range: &str| {
        format!(
            "<</FT/Sig/T(s)/V<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.pkcs7.detached/Name(Ada L.)\
             /M(D:20240102030405Z)/ByteRange[{range}]/Contents<00>>>>>"
        )
    };
    pdf.object(8, signature("0000000000 0000000010 0000000012 0000000000"))
        .table("/Root 1 0 R");
    let size = pdf.bytes.len();
    let rest = format!("0000000012 {:010}", size - 12);
    let text = String::from_utf8_lossy(&pdf.bytes).into_owned();
    let whole = pdf.bytes.clone();
    let at = whole
        .windows(21)
        .position(|w| w == b"0000000012 0000000000")
        .unwrap();
    let mut covering = whole.clone();
    covering[at..at + 21].copy_from_slice(rest.as_bytes());
    assert!(text.contains("ByteRange"));
    for (bytes, covers) in [(&whole, false), (&covering, true)] {
        expect(
            &report(bytes),
            &[
                ("security.signature_count", json!(1)),
                (
                    "pdf.signatures",
                    json!([{
                        "covers_whole_file": covers,
                        "format": "adbe.pkcs7.detached",
                        "signed_at": "D:20240102030405Z",
                        "signer": "Ada L.",
                    }]),
                ),
            ],
        );
    }
}
