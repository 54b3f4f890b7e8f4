//! Alternative contents (ISO/IEC 29500-3, 7.6): what stands in a branch stands in the place of the
//! whole element.

use crate::engine::container::xml::{Ns, Tag, Xml};
use crate::engine::error::Result;

/// How deep alternatives may stand in alternatives. What is below is passed over.
const MAX_NESTING: usize = 16;

/// Calls `each` with the child elements of the element at `depth`, as [`Xml::child`] yields them. Of
/// alternatives the first branch counts.
///
/// # Errors
/// Those of the reader and of `each`.
pub(super) fn each_child<'t>(
    xml: &mut Xml<'t>,
    depth: usize,
    each: &mut dyn FnMut(&mut Xml<'t>, &Tag<'t>) -> Result<()>,
) -> Result<()> {
    nested(xml, depth, each, 0)
}

fn nested<'t>(
    xml: &mut Xml<'t>,
    depth: usize,
    each: &mut dyn FnMut(&mut Xml<'t>, &Tag<'t>) -> Result<()>,
    nesting: usize,
) -> Result<()> {
    while let Some(tag) = xml.child(depth)? {
        if !xml.is(&tag, Ns::Compatibility, "AlternateContent") {
            each(xml, &tag)?;
        } else if nesting < MAX_NESTING {
            first_branch(xml, each, nesting + 1)?;
        }
    }
    Ok(())
}

fn first_branch<'t>(
    xml: &mut Xml<'t>,
    each: &mut dyn FnMut(&mut Xml<'t>, &Tag<'t>) -> Result<()>,
    nesting: usize,
) -> Result<()> {
    let depth = xml.depth();
    let mut taken = false;
    while let Some(tag) = xml.child(depth)? {
        let is_branch =
            xml.ns(&tag) == Ns::Compatibility && matches!(tag.local(), "Choice" | "Fallback");
        if is_branch && !taken {
            taken = true;
            let inside = xml.depth();
            nested(xml, inside, each, nesting)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Level, Limits};
    use crate::engine::budget::Meter;

    fn children(body: &str) -> Vec<String> {
        let text = format!(
            "<r xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>{body}</r>"
        );
        let meter = Meter::start(Limits::of(Level::Deep));
        let mut xml = Xml::new(&text, &meter);
        xml.root().unwrap();
        let mut names = Vec::new();
        each_child(&mut xml, 1, &mut |_, tag| {
            names.push(tag.local().to_owned());
            Ok(())
        })
        .unwrap();
        names
    }

    #[test]
    fn of_alternatives_the_first_branch_counts() {
        let (open, close) = ("<mc:AlternateContent>", "</mc:AlternateContent>");
        assert_eq!(children("<a><no/></a><b/>"), ["a", "b"]);
        let body = format!(
            "<a/>{open}<mc:Choice><b/><c><no/></c></mc:Choice><mc:Choice><no/></mc:Choice>\
             <mc:Fallback><no/></mc:Fallback>{close}<d/>"
        );
        assert_eq!(children(&body), ["a", "b", "c", "d"]);
        let body = format!(
            "{open}<mc:Fallback>{open}<mc:Choice><a/></mc:Choice>{close}<b/></mc:Fallback>{close}"
        );
        assert_eq!(children(&body), ["a", "b"]);
        let deep = 20_000;
        let body = format!("{open}<mc:Choice>").repeat(deep)
            + "<no/>"
            + &format!("</mc:Choice>{close}").repeat(deep)
            + "<a/>";
        assert_eq!(children(&body), ["a"]);
    }
}
