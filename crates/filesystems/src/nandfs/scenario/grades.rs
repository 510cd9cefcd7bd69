//! How the filesystems are graded, as tables 3.6 and 3.7 of the publication do: the section `[grades]`.
//!
//! Layer: rank 10. Main types: [`Grades`], [`Criterion`].

use super::once;
use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::Ratio;
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value, section};

section! {
    /// A figure is graded by how many times as bad as the best of its row it is.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Grades(section) {
        /// The most that is excellent.
        pub excellent: Ratio,
        /// The most that is good.
        pub good: Ratio,
        /// The most that is fair; more is poor.
        pub fair: Ratio,
        /// Kinds of products, with the criteria by which a filesystem is chosen for each.
        pub products: Vec<(String, Vec<Criterion>)> = section.section("products", products),
    }
    check(excellent, good, fair) {
        let rising = Ratio::WHOLE <= *excellent && excellent <= good && good <= fair;
        if !rising {
            let problem = format!("is {excellent}, then {good}, then {fair}");
            let expected = "100 % or more, each at least the one before";
            let help = "100 % is as good as the best, 200 % half as good";
            return Err(section.refuse("excellent", &problem, expected, help));
        }
    }
}

fn products(section: Section<'_>) -> Read<Vec<(String, Vec<Criterion>)>> {
    // All are read before the first error counts.
    let read = |name: &str| {
        let criteria = section.required::<Vec<Criterion>>(name)?;
        let names: Vec<_> = criteria.iter().map(|one| one.name()).collect();
        once(&section, name, &names)?;
        Ok((name.to_owned(), criteria))
    };
    let all: Vec<_> = section.keys().map(read).collect();
    section.finish()?;
    all.into_iter().collect()
}

/// What filesystems are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// The time of a mount.
    Mount,
    /// The rates of tiobench.
    Throughput,
    /// The structures in RAM after a mount.
    Ram,
    /// The part of a full flash that holds no content of files.
    Flash,
}

impl Criterion {
    /// All, in the order of the publication.
    pub(crate) const ALL: [Self; 4] = [Self::Mount, Self::Throughput, Self::Ram, Self::Flash];

    /// As scenarios write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Throughput => "throughput",
            Self::Ram => "ram",
            Self::Flash => "flash",
        }
    }
}

impl Value for Criterion {
    const NUMBER: bool = false;

    fn description() -> Description {
        let names = Self::ALL.map(Self::name);
        Description::new("mount, throughput, ram or flash", "\"mount\"").names(names)
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(|one| one.name().to_owned());
            PlacedMisfit::new(node, Misfit::UnknownName(names.into()))
        })
    }
}
