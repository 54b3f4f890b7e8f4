//! PowerPoint presentations, shows and templates (contract §9.4).

use std::cell::OnceCell;

use super::Office;
use super::slides::{self, Presentation};
use crate::contract::Confidence::{Exact, High};
use crate::engine::catalogue::{PathId, Profile, Target as T};
use crate::engine::container::opc::Kind;
use crate::engine::driver::{Driver, Probe};
use crate::engine::error::Result;
use crate::engine::findings::Findings;
use crate::engine::value::Value;

const PRESENTATION: &str = "presentation part";

/// pptx, pptm, ppsx, ppsm, potx and potm.
pub(crate) struct Powerpoint<'p> {
    office: Office<'p>,
    presentation: OnceCell<Presentation>,
}

impl<'p> Driver<'p> for Powerpoint<'p> {
    fn open(probe: &'p Probe<'p>) -> Result<Self> {
        Ok(Self {
            office: Office::open(probe)?,
            presentation: OnceCell::new(),
        })
    }

    fn run(&mut self, path: PathId, out: &mut Findings) -> Result<()> {
        match path {
            PathId::PowerpointProfile => self.profile(out),
            PathId::PowerpointPartInventory => self.parts(out),
            PathId::PowerpointAssetInventory => self.assets(out)?,
            PathId::PowerpointAppStatistics => self.app_statistics(out)?,
            PathId::PowerpointPresentationXml => self.presentation_part(out)?,
            PathId::PowerpointSlides => self.slides(out)?,
            shared => self.office.run(shared, out)?,
        }
        Ok(())
    }
}

impl Powerpoint<'_> {
    fn profile(&self, out: &mut Findings) {
        let kind = match self.office.profile() {
            Profile::Ppsx | Profile::Ppsm => "show",
            Profile::Potx | Profile::Potm => "template",
            _ => "presentation",
        };
        out.put(
            T::POWERPOINT_PRESENTATION_KIND,
            kind,
            Exact,
            "content type of the main part",
        );
    }

    fn parts(&self, out: &mut Findings) {
        for (target, kind, source) in [
            (
                T::POWERPOINT_MASTER_COUNT,
                Kind::SlideMaster,
                "slide master parts",
            ),
            (
                T::POWERPOINT_LAYOUT_COUNT,
                Kind::SlideLayout,
                "slide layout parts",
            ),
            (
                T::POWERPOINT_NOTES_SLIDE_COUNT,
                Kind::NotesSlide,
                "notes slide parts",
            ),
        ] {
            out.put(target, self.office.package().count(&[kind]), Exact, source);
        }
    }

    fn assets(&self, out: &mut Findings) -> Result<()> {
        let package = self.office.package();
        out.put(
            T::POWERPOINT_CHART_PART_COUNT,
            package.count(&[Kind::Chart]),
            Exact,
            "chart parts",
        );
        out.put(
            T::POWERPOINT_UNIQUE_IMAGE_ASSET_COUNT,
            self.office.image_count()?,
            Exact,
            "image parts",
        );
        out.put(
            T::POWERPOINT_UNIQUE_MEDIA_ASSET_COUNT,
            package.count(&[Kind::Audio, Kind::Video]),
            Exact,
            "audio and video parts",
        );
        out.put(
            T::POWERPOINT_COMMENT_PART_COUNT,
            package.count(&[Kind::SlideComments]),
            Exact,
            "comment parts",
        );
        Ok(())
    }

    /// What the application saved is often stale, or 0 where a library wrote the deck: unless the saved
    /// number is asked for, the list of slides answers here too.
    fn app_statistics(&self, out: &mut Findings) -> Result<()> {
        if self.office.probe().options.slide_count_path.content()
            && let Some(slides) = &self.presentation()?.slides
        {
            out.put(T::POWERPOINT_SLIDE_COUNT, slides.len(), Exact, PRESENTATION);
            return Ok(());
        }
        let slides = self.office.app()?.slides;
        out.put_or_unknown(
            T::POWERPOINT_SLIDE_COUNT,
            slides,
            High,
            "extended properties part",
        );
        Ok(())
    }

    fn presentation_part(&self, out: &mut Findings) -> Result<()> {
        let presentation = self.presentation()?;
        let source = PRESENTATION;
        let slides = presentation.slides.as_ref();
        out.put_or_unknown(
            T::POWERPOINT_SLIDE_COUNT,
            slides.map(Vec::len),
            Exact,
            source,
        );
        let size = presentation.size.as_ref();
        out.put_or_unknown(
            T::POWERPOINT_SLIDE_SIZE,
            size.map(slides::Size::value),
            Exact,
            source,
        );
        out.put_or_unknown(
            T::POWERPOINT_ASPECT_RATIO,
            size.map(slides::Size::ratio),
            Exact,
            source,
        );
        out.put_or_unknown(
            T::POWERPOINT_ORIENTATION,
            size.map(slides::Size::orientation),
            Exact,
            source,
        );
        if out.wants_any(&[
            T::POWERPOINT_HIDDEN_SLIDE_COUNT,
            T::POWERPOINT_HIDDEN_SLIDE_NUMBERS,
        ]) {
            let hidden = match slides {
                Some(slides) => slides::hidden(self.office.package(), self.office.main(), slides)?,
                None => None,
            };
            let source = "start tags of the slide parts";
            let count = hidden.as_ref().map(Vec::len);
            out.put_or_unknown(T::POWERPOINT_HIDDEN_SLIDE_COUNT, count, Exact, source);
            let numbers =
                hidden.map(|list| Value::List(list.into_iter().map(Value::from).collect()));
            out.put_or_unknown(T::POWERPOINT_HIDDEN_SLIDE_NUMBERS, numbers, Exact, source);
        }
        Ok(())
    }

    /// Titles and transitions, which stand in the slides.
    fn slides(&self, out: &mut Findings) -> Result<()> {
        let (package, main) = (self.office.package(), self.office.main());
        let contents = match &self.presentation()?.slides {
            Some(ids) => slides::contents(package, main, ids)?,
            None => None,
        };
        let source = "slide parts";
        let transitions = contents
            .as_ref()
            .map(|slides| slides.iter().filter(|slide| slide.has_transition).count());
        out.put_or_unknown(T::POWERPOINT_TRANSITION_COUNT, transitions, Exact, source);
        let titles = contents.map(|slides| {
            slides
                .into_iter()
                .map(|slide| slide.title)
                .collect::<Vec<String>>()
        });
        out.put_or_unknown(T::POWERPOINT_SLIDE_TITLES, titles, Exact, source);
        Ok(())
    }

    /// The presentation part, read once. Nothing is known of a damaged one.
    fn presentation(&self) -> Result<&Presentation> {
        if let Some(presentation) = self.presentation.get() {
            return Ok(presentation);
        }
        let presentation = slides::presentation(self.office.package(), self.office.main())?;
        Ok(self.presentation.get_or_init(|| presentation))
    }
}
