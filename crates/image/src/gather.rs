//! The files of a mounted image as a tree: for archives, for other images, and for comparisons.
//!
//! Layer: rank 7. Main functions: [`gather`], [`gather_deleted`].

use crate::damage::{Damage, Paths};
use crate::deleted::DeletedTree;
use crate::error::Error;
use crate::files::{LeftOut, Taking, Tree, Why};
use crate::fs::MountedImage;
use crate::names::shown;
use crate::walk::resolve;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;

/// The files of an image.
#[derive(Debug)]
pub struct Gathered {
    /// The files, with what is damaged of them among what is left out.
    pub tree: Tree,
    /// The damage of the image.
    pub damage: Damage,
    /// The first path of each inode.
    pub paths: Paths,
    /// The limit of names at which the walk ended.
    pub ended_at: Option<u64>,
}

impl Gathered {
    /// Whether nothing is known to be missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.tree.left_out.is_empty() && self.ended_at.is_none() && !self.damage.may_miss_names()
    }
}

/// Gathers what is below `path` of the image, at most `names` names.
///
/// # Errors
/// [`Error::FileSystem`] when there is nothing of that path, and those of [`Damage::of`].
pub fn gather(
    mut image: MountedImage,
    path: &[u8],
    names: u64,
    taking: &Taking,
) -> Result<Gathered, Error> {
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = image;
    gather_from((fs, clock), damage, path, names, taking)
}

/// Gathers what is left of deleted files below `path`, as [`gather`] does; `truncated` is the length that the file of a
/// truncated image should have.
///
/// # Errors
/// [`Error::FileSystem`] when there is nothing of that path.
pub fn gather_deleted(
    (tree, clock): (DeletedTree, Clock),
    truncated: Option<Bytes>,
    path: &[u8],
    names: u64,
) -> Result<Gathered, Error> {
    let damage = Damage::of_deleted(&tree, truncated);
    gather_from((Box::new(tree), clock), damage, path, names, &Taking::default())
}

fn gather_from(
    (mut fs, mut clock): (Box<dyn FileSystem>, Clock),
    damage: Damage,
    path: &[u8],
    names: u64,
    taking: &Taking,
) -> Result<Gathered, Error> {
    let (path, start) = resolve(fs.as_mut(), &mut clock, path)?;
    let is_all = start == fs.root();
    let (mut tree, is_whole) = Tree::of_mounted(fs, clock, (&path, start), names, taking);
    let mut paths = Paths::default();
    for index in 0..tree.nodes.len() {
        let Some(ino) = tree.inode(index) else { continue };
        let path = &tree.nodes[index].path;
        if let Ok(number) = u32::try_from(ino.0) {
            paths.entry(number).or_insert_with(|| shown(path));
        }
        if let Some(words) = damage.of_inode(ino) {
            let why = Why::Damaged(words.to_owned());
            tree.left_out.push(LeftOut { path: path.clone(), why });
        }
    }
    if is_all && is_whole {
        // What leads to these is damaged as well.
        for (ino, words) in
            damage.audit.inode_damage.iter().filter(|one| !paths.contains_key(one.0))
        {
            let why = Why::Damaged(format!("it has no name any more: {words}"));
            tree.left_out.push(LeftOut { path: format!("inode {ino}").into_bytes(), why });
        }
    }
    Ok(Gathered { tree, damage, paths, ended_at: (!is_whole).then_some(names) })
}
