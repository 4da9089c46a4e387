//! Inputs of a pipeline's creation besides its structure: programs that there are, and binaries.

use std::sync::Arc;

use super::captured::Captured;
use super::source::Source;
use crate::cache::{Cache, Programs};

/// Inputs of a pipeline's creation.
pub(super) struct Making {
    pub programs: Arc<Programs>,
    /// Binaries that it is created from.
    pub given: Option<Captured>,
    /// Contents of its own binary.
    pub captured: Option<Captured>,
}

impl Making {
    pub fn new(
        cache: Option<&Arc<Cache>>,
        given: Option<Captured>,
        only_cached: bool,
        captures: bool,
    ) -> Making {
        let own = match &given {
            Some(g) => Some(g.programs.clone()),
            None => captures.then(Arc::default),
        };
        let captured = captures
            .then(|| Captured { programs: own.clone().unwrap_or_default(), stages: Vec::new() });
        let programs = match own {
            Some(own) => Programs::of_pipeline(own, only_cached),
            None => Programs::new(cache.cloned(), only_cached),
        };
        Making { programs: Arc::new(programs), given, captured }
    }
}

/// Keeps the SPIR-V that a pipeline is made from, if there are to be binaries of it.
pub(super) fn capture(captured: &mut Option<Captured>, sources: &[&Source<'_>]) {
    if let Some(c) = captured {
        c.stages = sources.iter().map(|s| (s.stage.bits(), s.words.to_vec())).collect();
    }
}
