//! Two commits as two programs, built in the same way and in the same place.
//!
//! Both trees are written into one folder, one after the other, and built there into one target
//! folder: paths have the same length, what did not change is not built again, and neither the
//! checkout nor its index is touched.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The benchmarks of two trees.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The baseline: a commit's short name and subject.
    pub(crate) baseline: String,
    pub(crate) before: PathBuf,
    pub(crate) after: PathBuf,
}

/// Builds the benchmarks of a commit, and those of this tree as it is, files that git does not know
/// yet among them.
pub(crate) fn build(commit: &str) -> Result<Programs, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let place = Place::new(&root, &target(&root))?;
    let known = place.commit(commit)?;
    let tree = place.git(&place.root, "HEAD", &["rev-parse", &format!("{known}^{{tree}}")])?;
    let named = ["log", "-1", "--format=%h %s", &known];
    let baseline = place.git(&place.root, "HEAD", &named)?;
    let present = place.present()?;
    Ok(Programs { baseline, before: place.program(&tree)?, after: place.program(&present)? })
}

/// Where the two are built: `target/baseline`.
struct Place {
    /// The checkout.
    root: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn new(root: &Path, target: &Path) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| format!("no checkout: {error}"))?;
        let folder = target.join("baseline");
        fs::create_dir_all(folder.join("tree"))
            .map_err(|error| format!("can not make {}: {error}", folder.display()))?;
        Ok(Place { root, folder })
    }

    /// The full name of a commit.
    fn commit(&self, name: &str) -> Result<String, String> {
        let object = format!("{name}^{{commit}}");
        let known = self.git(&self.root, "HEAD", &["rev-parse", "--verify", "--quiet", &object]);
        known.map_err(|error| format!("--baseline {name}: git knows no such commit ({error})"))
    }

    /// This tree as an object of git: an index of its own takes in what there is, and is written
    /// down.
    fn present(&self) -> Result<String, String> {
        self.git(&self.root, "present", &["read-tree", "HEAD"])?;
        self.git(&self.root, "present", &["add", "--all"])?;
        self.git(&self.root, "present", &["write-tree"])
    }

    /// The program of a tree; built, unless the same compiler has built it before.
    fn program(&self, tree: &str) -> Result<PathBuf, String> {
        let compiler = said(Command::new("rustc").arg("-vV"))?;
        let mut hasher = DefaultHasher::new();
        (tree, compiler, std::env::var_os("RUSTFLAGS")).hash(&mut hasher);
        let kept = self.folder.join(format!("peers-{:016x}", hasher.finish()));
        if kept.exists() {
            return Ok(kept);
        }
        eprintln!("# building {}", &tree[..12]);
        self.write(tree)?;
        let built = self.cargo()?;
        // Under its last name it is whole.
        let partial = kept.with_extension("partial");
        fs::copy(&built, &partial)
            .and_then(|_| fs::rename(&partial, &kept))
            .map_err(|error| format!("can not keep {}: {error}", built.display()))?;
        Ok(kept)
    }

    /// Writes a tree's files where they are built; those that are there as they should be stay
    /// untouched.
    fn write(&self, tree: &str) -> Result<(), String> {
        let files = self.folder.join("tree");
        self.git(&files, "tree", &["read-tree", "-u", "--reset", tree]).map(drop)
    }

    /// Builds what stands in the folder `tree`.
    fn cargo(&self) -> Result<PathBuf, String> {
        let tree = self.folder.join("tree");
        let manifest = fs::read_to_string(tree.join("Cargo.toml")).unwrap_or_default();
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(&tree)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .args(["build", "--profile=dist", "--package=actinium-bench", "--bench=peers"])
            .args(["--locked", "--message-format=json-render-diagnostics"]);
        if !manifest.contains("[profile.dist]") {
            // Older commits have no such profile, but their `release` is as fat.
            command.args(["--config", "profile.dist.inherits='release'"]);
        }
        let messages = said(&mut command)?;
        let mut built = messages.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            (message["target"]["name"] == "peers")
                .then(|| message["executable"].as_str().map(PathBuf::from))?
        });
        built.next_back().ok_or_else(|| "cargo has built no benchmark called peers".to_owned())
    }

    /// Runs git on a folder of files, with an index of its own unless that is `HEAD`'s, which is
    /// only read.
    fn git(&self, files: &Path, index: &str, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        command.current_dir(&self.root);
        if index != "HEAD" {
            let folder = said(
                Command::new("git")
                    .current_dir(&self.root)
                    .args(["rev-parse", "--absolute-git-dir"]),
            )?;
            command
                .env("GIT_DIR", folder)
                .env("GIT_WORK_TREE", files)
                .env("GIT_INDEX_FILE", self.folder.join(format!("{index}.index")))
                .current_dir(files);
        }
        said(command.args(args))
    }
}

/// The target folder of a checkout.
pub(crate) fn target(root: &Path) -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(folder)
}

/// Runs a command and returns what it writes to stdout. Its stderr is for people.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("can not run {name}: {error}"))?;
    if !output.status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        return Err(format!("{name} {} failed: {}", args.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one file in one commit.
    fn repository(name: &str) -> (PathBuf, Place) {
        let folder =
            std::env::temp_dir().join(format!("actinium-bench-{name}-{}", std::process::id()));
        let root = folder.join("checkout");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&root).expect("there is room for a folder");
        fs::write(root.join("a"), "before").expect("there is room for a file");
        for args in [
            "init --quiet",
            "add a",
            "-c user.name=a -c user.email=a@b.c -c commit.gpgsign=false commit --quiet -m first",
        ] {
            let mut git = Command::new("git");
            said(git.current_dir(&root).args(args.split(' '))).expect("git is there");
        }
        let place = Place::new(&root, &folder.join("target")).expect("it is a checkout");
        (folder, place)
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn both_trees_are_written_and_the_checkout_stays_as_it_is() {
        let (folder, place) = repository("trees");
        let tree = place.folder.join("tree");
        let root = place.root.clone();
        let committed =
            place.git(&root, "HEAD", &["rev-parse", "HEAD^{tree}"]).expect("it has a commit");
        assert_eq!(place.present().as_deref(), Ok(committed.as_str()), "nothing has changed yet");
        fs::write(root.join("a"), "after").expect("it can be written");
        fs::write(root.join("b"), "not added").expect("it can be written");
        let present = place.present().expect("it can be written down");
        let status = place.git(&root, "HEAD", &["status", "--porcelain"]).expect("git is there");

        place.write(&present).expect("it can be written");
        assert_eq!(fs::read_to_string(tree.join("a")).expect("it is there"), "after");
        assert_eq!(fs::read_to_string(tree.join("b")).expect("it is there"), "not added");
        place.write(&committed).expect("it can be written");
        assert_eq!(fs::read_to_string(tree.join("a")).expect("it is there"), "before");
        assert!(!tree.join("b").exists(), "what a tree does not have goes");

        let now = place.git(&root, "HEAD", &["status", "--porcelain"]).expect("git is there");
        assert_eq!((now.as_str(), status.as_str()), ("M a\n?? b", "M a\n?? b"));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn an_unknown_commit_is_named() {
        let (folder, place) = repository("unknown");
        assert!(place.commit("HEAD").is_ok());
        let error = place.commit("nowhere").expect_err("there is none");
        assert!(error.contains("--baseline nowhere: git knows no such commit"), "{error}");
        let _ = fs::remove_dir_all(folder);
    }
}
