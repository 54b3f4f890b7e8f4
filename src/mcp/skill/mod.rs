//! The skill (SEP-2640): the guide to our vocabulary, as a resource that clients can keep.

use std::sync::LazyLock;

use rmcp::model::{
    GetSkillResult, ListSkillsResult, Resource, ResourceContents, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};

const TEXT: &str = include_str!("SKILL.md");
const MARKDOWN: &str = "text/markdown";

/// The guide's address. The segment before the file name is the skill's name.
pub(super) const URI: &str = "skill://reading-documents-with-deckprobe/SKILL.md";

static SKILL: LazyLock<Skill> = LazyLock::new(|| {
    let field = |name: &str| {
        TEXT.lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
    };
    let frontmatter = SkillFrontmatter::new(field("name:"), field("description:"));
    let files = vec![SkillResource::from_bytes(URI, TEXT.as_bytes())];
    Skill::new(URI, frontmatter, SkillResources::Files(files))
});

/// The list of skills: one.
pub(super) fn list() -> ListSkillsResult {
    ListSkillsResult::with_all_items(vec![SKILL.clone()])
}

/// The entry of a skill.
pub(super) fn get(uri: &str) -> Option<GetSkillResult> {
    (uri == URI).then(|| GetSkillResult::new(SKILL.clone()))
}

/// The guide in the list of resources.
pub(super) fn resource() -> Resource {
    Resource::new(URI, "guide")
        .with_title("Guide to deckprobe's vocabulary")
        .with_description(
            "Which call to make, what levels and confidences mean, how to read a report.",
        )
        .with_mime_type(MARKDOWN)
}

/// The guide itself.
pub(super) fn contents() -> ResourceContents {
    ResourceContents::text(TEXT, URI).with_mime_type(MARKDOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_is_valid_and_matches_its_digest() {
        SKILL.validate().unwrap();
        assert!(SKILL.frontmatter.description.len() > 60);
        let SkillResources::Files(files) = &SKILL.resources else {
            panic!("the skill has files")
        };
        files[0].verify(TEXT.as_bytes()).unwrap();
    }
}
