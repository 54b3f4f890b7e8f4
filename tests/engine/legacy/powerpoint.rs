//! PowerPoint presentations.

use serde_json::json;

use super::make::{Deck, atom, compound, container, doc, document, slide};
use super::{assert_budget_is_honest, physical_bytes, probe, values};

const SLIDES: &str = "powerpoint.slide_count,powerpoint.hidden_slide_count,\
                      powerpoint.notes_slide_count,powerpoint.master_count";

/// A deck of these slides (hidden or not), one master, and a notes page for the first slide.
fn deck(hidden: &[bool], more: &[Vec<u8>]) -> Deck {
    let ids: Vec<u32> = (10..).take(hidden.len()).collect();
    let notes: &[u32] = if hidden.is_empty() { &[] } else { &[5] };
    let mut deck = Deck::new();
    deck.object(1, &document(&ids, &[2], notes, more));
    for (id, hidden) in ids.iter().zip(hidden) {
        deck.object(*id, &slide(*hidden));
    }
    deck.save(1);
    deck
}

/// No slide here has any text, which the reference engine needs to see one.
#[test]
fn w28_slides_are_what_the_slide_list_says() {
    let cases: [(&[bool], _); 3] = [
        (&[false, true, false], json!([3, 1, 1, 1])),
        (&[true], json!([1, 1, 1, 1])),
        (&[], json!([0, 0, 0, 1])),
    ];
    for (hidden, expected) in cases {
        let file = deck(hidden, &[]).ppt();
        assert_eq!(
            json!(values("a.ppt", &file, SLIDES)),
            expected,
            "{hidden:?}"
        );
    }
}

/// Later edits bring new copies of some objects; the older ones stay in the file.
#[test]
fn the_newest_edit_stands() {
    let mut deck = deck(&[false, false, false], &[]);
    deck.object(1, &document(&[12, 10], &[2], &[], &[]))
        .object(12, &slide(true))
        .save(1);
    assert_eq!(
        json!(values("a.ppt", &deck.ppt(), SLIDES)),
        json!([2, 1, 0, 1])
    );
    // Without a `Current User` that leads to it, the last edit of the stream is the newest.
    for current_user in [None, Some(&b"nonsense"[..]), Some(&[0; 60])] {
        let mut streams = vec![("PowerPoint Document", deck.stream())];
        streams.extend(current_user.map(|content| ("Current User", content)));
        let file = compound(&streams);
        assert_eq!(json!(values("a.ppt", &file, SLIDES)), json!([2, 1, 0, 1]));
    }
}

#[test]
fn the_size_of_a_slide_is_told_as_for_pptx() {
    let targets = "powerpoint.slide_size,powerpoint.aspect_ratio,powerpoint.orientation";
    let expected = json!([
        {"width_emu": 9_144_000, "height_emu": 6_858_000, "width_pt": 720.0, "height_pt": 540.0},
        {"width": 4, "height": 3, "decimal": 4.0 / 3.0},
        "landscape"
    ]);
    assert_eq!(
        json!(values("a.ppt", &deck(&[false], &[]).ppt(), targets)),
        expected
    );
}

#[test]
fn the_kind_of_presentation_goes_by_the_extension() {
    let file = deck(&[false], &[]).ppt();
    for (name, expected) in [
        ("a.ppt", "presentation"),
        ("a.pps", "show"),
        ("a.pot", "template"),
    ] {
        assert_eq!(
            values(name, &file, "powerpoint.presentation_kind"),
            [expected]
        );
    }
}

#[test]
fn w28_an_unreadable_stream_gives_no_slides() {
    for content in [&b""[..], b"garbage", &[0; 3000], &[0xFF; 3000]] {
        let file = compound(&[("PowerPoint Document", content)]);
        let report = probe("a.ppt", &file, SLIDES);
        for target in SLIDES.split(',') {
            assert_eq!(report["results"][target]["status"], "unknown", "{target}");
        }
    }
    // A compound file of another kind is refused, whichever path runs.
    let reply = probe("a.ppt", &doc(b"x\r"), "powerpoint.slide_count");
    assert_eq!(reply["error"]["code"], "MALFORMED_INPUT", "{reply}");
}

#[test]
fn w28_an_encrypted_presentation_has_no_slides_to_show() {
    let mut deck = Deck::new();
    let mut header = vec![2, 0, 2, 0];
    for field in [4_u32, 32, 4, 0, 0x6801, 0x8004, 128, 1] {
        header.extend(field.to_le_bytes());
    }
    deck.object(1, &[0x99; 40]).save(1);
    let mut stream = deck.stream().to_vec();
    // The edit of an encrypted presentation is four bytes longer: the session's identifier.
    let session = u32::try_from(stream.len()).unwrap();
    stream.extend(atom(0xF, 0x2F14, &header));
    let directory = u32::try_from(stream.len()).unwrap();
    let body: Vec<u8> = [7 | 1 << 20, session]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    stream.extend(atom(0, 0x1772, &body));
    let edit = u32::try_from(stream.len()).unwrap();
    let fields = [0, 0, 0, directory, 1, 0, 0, 7];
    let body: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
    stream.extend(atom(0, 0x0FF5, &body));
    let user: Vec<u8> = [20, 0xF3D1_C4DF, edit, 0, 0]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let user = atom(0, 0x0FF6, &user);
    let file = compound(&[("PowerPoint Document", &stream), ("Current User", &user)]);
    let targets = "security.encrypted,security.password_protected,security.encryption_scheme,\
                   security.encryption_algorithm,security.encryption_key_bits,\
                   powerpoint.slide_count,security.has_macros";
    let expected = json!([true, true, "cryptoapi", "RC4", 128, null, null]);
    assert_eq!(json!(values("a.ppt", &file, targets)), expected);
}

/// The VBA project of a presentation is an object of its main stream, not a storage.
#[test]
fn w23_macros_inside_the_document_stream_are_found() {
    let info = |project: u32, flag: u32| {
        let fields: Vec<u8> = [project, flag, 2]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        container(
            0,
            0x07D0,
            &[container(1, 0x03FF, &[atom(2, 0x0400, &fields)])],
        )
    };
    for (project, flag, expected) in [(10, 1, true), (10, 0, false), (77, 1, false)] {
        let file = deck(&[false], &[info(project, flag)]).ppt();
        assert_eq!(values("a.ppt", &file, "security.has_macros"), [expected]);
    }
}

#[test]
fn embedded_objects_and_links_are_in_the_list_of_external_objects() {
    let targets = "security.has_embedded_files,security.has_external_relationships,\
                   security.active_content_risk";
    let hyperlink = |instance: u16| {
        container(
            0,
            0x0FD7,
            &[
                atom(0, 0x0FD3, &[0; 4]),
                atom(instance << 4, 0x0FBA, &[b'h', 0]),
            ],
        )
    };
    let cases = [
        (container(0, 0x0FCC, &[]), json!([true, false, "medium"])),
        (container(0, 0x0FCE, &[]), json!([false, true, "low"])),
        (hyperlink(1), json!([false, true, "low"])),
        // A jump to another slide has no target.
        (hyperlink(3), json!([false, false, "none"])),
    ];
    for (object, expected) in cases {
        let list = container(0, 0x0409, &[atom(0, 0x040A, &[0; 4]), object]);
        let file = deck(&[false], &[list]).ppt();
        assert_eq!(json!(values("a.ppt", &file, targets)), expected);
    }
}

/// Saved for PowerPoint 95 and 97: the newer form is in a storage of its own.
#[test]
fn a_dual_presentation_is_read_in_its_newer_form() {
    let new = deck(&[false, false], &[]);
    let user = new.current_user(false);
    let file = compound(&[
        ("PowerPoint Document", b"of PowerPoint 95"),
        ("PP97_DUALSTORAGE/PowerPoint Document", new.stream()),
        ("PP97_DUALSTORAGE/Current User", &user),
    ]);
    assert_eq!(values("a.ppt", &file, "powerpoint.slide_count"), [2]);
}

/// Thousands of list entries for one slide: it is looked at once (reference engine: 1.3 s, 480 MB).
#[test]
fn u8_one_slide_listed_many_times_is_walked_once() {
    let mut entries: Vec<u32> = vec![10; 10_000];
    entries.extend(11..1000);
    let mut deck = Deck::new();
    deck.object(1, &document(&entries, &[], &[], &[]));
    // One slide with a thousand shapes, under a thousand names.
    let shapes = vec![atom(0, 0x0BC1, &[]); 2000];
    deck.object(10, &container(0, 0x03EE, &shapes));
    for id in 11..1000 {
        deck.alias(id);
    }
    deck.save(1);
    let file = deck.ppt();
    let report = probe(
        "a.ppt",
        &file,
        "powerpoint.slide_count,powerpoint.hidden_slide_count",
    );
    assert_eq!(report["results"]["powerpoint.slide_count"]["value"], 990);
    assert_eq!(
        report["results"]["powerpoint.hidden_slide_count"]["value"],
        0
    );
    let read = physical_bytes(&report);
    assert!(
        read < 2 * file.len() as u64,
        "{read} bytes of {}",
        file.len()
    );
}

/// Edits that point at each other, and directories that are shared, end the walk.
#[test]
fn edits_in_a_circle_are_walked_once() {
    let mut deck = deck(&[false], &[]);
    for _ in 0..50 {
        deck.save(1);
    }
    let mut stream = deck.stream().to_vec();
    let edits: Vec<usize> = (0..stream.len() - 4)
        .filter(|at| stream[*at..].starts_with(&[0, 0, 0xF5, 0x0F, 28, 0, 0, 0]))
        .collect();
    assert_eq!(edits.len(), 51);
    // Every edit points at the newest one.
    let newest = u32::try_from(*edits.last().unwrap()).unwrap();
    for edit in &edits {
        stream[edit + 16..edit + 20].copy_from_slice(&newest.to_le_bytes());
    }
    let user = deck.current_user(false);
    let file = compound(&[("PowerPoint Document", &stream), ("Current User", &user)]);
    let report = probe("a.ppt", &file, "powerpoint.slide_count");
    assert_eq!(
        report["results"]["powerpoint.slide_count"]["status"],
        "unknown"
    );
    assert!(physical_bytes(&report) < 2 * file.len() as u64);
}

#[test]
fn m2_a_budget_that_ends_inside_a_presentation_is_said_to_be_one() {
    assert_budget_is_honest(
        "a.ppt",
        &deck(&[false; 200], &[]).ppt(),
        "powerpoint.slide_count",
    );
}
