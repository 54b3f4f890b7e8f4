//! What each path yields, gathered from the rows of the targets.

use super::formats::PathId;
use super::{Target, TargetSet};

/// The targets of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yield {
    /// Those that the original engine offers there too, where a profile's catalogue has them.
    pub(crate) targets: TargetSet,
    /// Those that only we offer: by name, and in `@all` at deep.
    pub(crate) ours: TargetSet,
}

impl Yield {
    pub(crate) const fn all(&self) -> TargetSet {
        self.targets.union(self.ours)
    }
}

impl PathId {
    /// The targets that the path yields.
    pub(crate) const fn yields(self) -> &'static Yield {
        &YIELDS[self as usize]
    }
}

static YIELDS: [Yield; PathId::COUNT] = gather();

const fn gather() -> [Yield; PathId::COUNT] {
    let nothing = Yield {
        targets: TargetSet::EMPTY,
        ours: TargetSet::EMPTY,
    };
    let mut yields = [nothing; PathId::COUNT];
    let mut index = 0;
    while index < Target::COUNT {
        let target = Target::from_index(index);
        let one = TargetSet::of(&[target]);
        let spec = target.spec();
        let mut i = 0;
        while i < PathId::COUNT {
            let row = PathId::ALL[i].row();
            let slot = &mut yields[i];
            if spec.is_identity && row.is_identity {
                slot.targets = slot.targets.union(one);
            } else if is_in(spec.paths, PathId::ALL[i]) {
                if row.families & spec.contract == 0 {
                    slot.ours = slot.ours.union(one);
                } else {
                    slot.targets = slot.targets.union(one);
                }
            } else if is_in(spec.our_paths, PathId::ALL[i]) {
                slot.ours = slot.ours.union(one);
            }
            i += 1;
        }
        index += 1;
    }
    yields
}

const fn is_in(paths: &[PathId], path: PathId) -> bool {
    let mut i = 0;
    while i < paths.len() {
        if paths[i] as usize == path as usize {
            return true;
        }
        i += 1;
    }
    false
}
