//! Links between the pages of the repository, and the pages as one folder for a site.
//!
//! A link to a file needs the file, a link to a heading needs the heading. Links to other hosts are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::finding::Finding;
use crate::repo;

/// The contents of the site.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks every link of every page in the checkout at `root`, and that the site's contents name each page of docs/.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let pages = Pages::read(root)?;
    let mut findings = Vec::new();
    for (file, page) in &pages.pages {
        findings.extend(page.links.iter().filter_map(|link| pages.broken(file, link)));
    }
    findings.extend(pages.left_out());
    Ok(findings)
}

/// Copies the pages of the site, and what they link to, into `folder`, as they lie in the repository: so every link
/// means the same there. Returns how many files it copied.
pub fn gather(root: &Path, folder: &Path) -> Result<usize, String> {
    let pages = Pages::read(root)?;
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut wanted: BTreeSet<PathBuf> = BTreeSet::from([PathBuf::from(SUMMARY)]);
    let mut open: Vec<PathBuf> = wanted.iter().cloned().collect();
    while let Some(file) = open.pop() {
        let links = pages.pages.get(&file).map_or(&[][..], |page| &page.links);
        let targets = links.iter().filter_map(|link| pages.target(&file, link));
        for target in targets.map(|(target, _)| target) {
            if pages.files.contains(&target) && wanted.insert(target.clone()) {
                open.push(target);
            }
        }
    }
    for file in &wanted {
        let to = folder.join(file);
        std::fs::create_dir_all(to.parent().unwrap_or(folder)).map_err(told)?;
        std::fs::copy(root.join(file), to).map_err(told)?;
    }
    let contents = std::fs::read_to_string(root.join(SUMMARY)).map_err(told)?;
    let contents = from_the_root(&contents) + &pages.further(&wanted);
    std::fs::write(folder.join("SUMMARY.md"), contents).map_err(told)?;
    Ok(wanted.len())
}

/// The contents with links that begin at the repository's root.
fn from_the_root(contents: &str) -> String {
    contents.replace("](", "](docs/").replace("](docs/../", "](")
}

/// Every page, and the name of every file.
struct Pages {
    pages: BTreeMap<PathBuf, Page>,
    files: BTreeSet<PathBuf>,
}

struct Page {
    /// Its first heading.
    title: String,
    links: Vec<Link>,
    /// Names of its headings in links.
    anchors: BTreeSet<String>,
}

struct Link {
    line: usize,
    to: String,
}

impl Pages {
    fn read(root: &Path) -> Result<Pages, String> {
        let files: BTreeSet<PathBuf> = repo::tracked_files(root)?.into_iter().collect();
        let is_page = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "md");
        let read = |file: &PathBuf| Some((file.clone(), Page::of(&repo::text(root, file)?)));
        let pages = files.iter().filter(is_page).filter_map(read).collect();
        Ok(Pages { pages, files })
    }

    /// File and heading that a link of `page` means; `None` for other hosts.
    fn target(&self, page: &Path, link: &Link) -> Option<(PathBuf, Option<String>)> {
        if link.to.contains("://") || link.to.starts_with("mailto:") {
            return None;
        }
        let (path, heading) = match link.to.split_once('#') {
            Some((path, heading)) => (path, Some(heading.to_owned())),
            None => (link.to.as_str(), None),
        };
        let file = match path {
            "" => page.to_path_buf(),
            _ => plain(&page.parent().unwrap_or(Path::new("")).join(path)),
        };
        Some((file, heading))
    }

    fn broken(&self, page: &Path, link: &Link) -> Option<Finding> {
        let (file, heading) = self.target(page, link)?;
        let is_folder = || self.files.iter().any(|there| there.starts_with(&file));
        let (what, remedy) = match (self.files.contains(&file) || is_folder(), heading) {
            (false, _) => ("no such file", "correct the path; it is relative to this page"),
            (true, Some(heading)) if !self.has(&file, &heading) => {
                ("no such heading", "write the heading in small letters, with - for spaces")
            }
            (true, _) => return None,
        };
        Some(Finding {
            file: page.into(),
            line: Some(link.line),
            rule: "links-lead-somewhere",
            what: format!("{what}: {}", link.to),
            remedy: remedy.into(),
        })
    }

    /// Lines for the pages that others link to and the contents do not name: a site shows only pages with a line.
    fn further(&self, wanted: &BTreeSet<PathBuf>) -> String {
        let named = self.named();
        let others =
            wanted.iter().filter(|file| *file != Path::new(SUMMARY) && !named.contains(*file));
        let line = |file: &PathBuf| {
            let title = &self.pages.get(file)?.title;
            Some(format!("- [{title}]({})\n", file.display()))
        };
        let lines: String = others.filter_map(line).collect();
        if lines.is_empty() { lines } else { format!("\n# More\n\n{lines}") }
    }

    /// The pages that the contents name.
    fn named(&self) -> BTreeSet<PathBuf> {
        let summary = Path::new(SUMMARY);
        let links = self.pages.get(summary).map_or(&[][..], |page| &page.links);
        links.iter().filter_map(|link| self.target(summary, link)).map(|(file, _)| file).collect()
    }

    /// What is no page has lines and no headings.
    fn has(&self, file: &Path, heading: &str) -> bool {
        self.pages.get(file).is_none_or(|page| page.anchors.contains(heading))
    }

    /// Pages in docs/ that the contents of the site do not name.
    fn left_out(&self) -> Vec<Finding> {
        let summary = Path::new(SUMMARY);
        if !self.pages.contains_key(summary) {
            return Vec::new();
        }
        let named = self.named();
        let docs = self.pages.keys().filter(|page| page.starts_with("docs") && *page != summary);
        let finding = |page: &PathBuf| Finding {
            file: summary.into(),
            line: None,
            rule: "every-page-is-in-the-contents",
            what: format!("{} is left out", page.display()),
            remedy: "add a line for it".into(),
        };
        docs.filter(|page| !named.contains(*page)).map(finding).collect()
    }
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

impl Page {
    fn of(text: &str) -> Page {
        let (mut title, mut links, mut anchors) = (String::new(), Vec::new(), BTreeSet::new());
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            if is_code {
                continue;
            }
            if let Some(heading) =
                line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
            {
                anchors.insert(anchor(heading));
                if title.is_empty() {
                    title = heading.replace('`', "");
                }
            }
            links.extend(targets(line).map(|to| Link { line: index + 1, to: to.to_owned() }));
        }
        Page { title, links, anchors }
    }
}

/// What stands in the round brackets of `[...](...)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split("](").skip(1);
    parts.filter_map(|part| part.split(')').next()).filter(|to| !to.is_empty() && !to.contains(' '))
}

/// How a heading is named in links: small letters, `-` for spaces, other signs left out.
fn anchor(heading: &str) -> String {
    let letter = |sign: char| match sign {
        ' ' => Some('-'),
        '-' | '_' => Some(sign),
        sign => sign.is_alphanumeric().then_some(sign),
    };
    heading.to_lowercase().chars().filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_named_as_in_links() {
        assert_eq!(anchor("What is computed"), "what-is-computed");
        assert_eq!(anchor("`[[track]]`, and more"), "track-and-more");
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let page = Page::of(
            "# A b\n[x](a.md#b), ![y](c.png)\n```\n[no](no.md)\n```\n[z](https://example.com)\n",
        );
        let found: Vec<(usize, &str)> =
            page.links.iter().map(|link| (link.line, &*link.to)).collect();
        assert_eq!(found, [(2, "a.md#b"), (2, "c.png"), (6, "https://example.com")]);
        assert!(page.anchors.contains("a-b"));
    }

    #[test]
    fn the_contents_lead_to_the_same_files_from_the_root() {
        let contents = "[A](a.md)\n- [B](../B.md)\n";
        assert_eq!(from_the_root(contents), "[A](docs/a.md)\n- [B](B.md)\n");
    }

    #[test]
    fn broken_links_and_forgotten_pages_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "README.md",
            "# Top\n[a](docs/a.md#one), [b](docs/b.md), [c](docs/a.md#two), [d](docs)\n",
        );
        write("docs/a.md", "# One\n[up](../README.md#top), [self](#one), [more](../more.md)\n");
        write("more.md", "# `More`\n");
        write("docs/c.md", "# C\n");
        write("docs/SUMMARY.md", "[A](a.md)\n");
        let found = check(root.path()).unwrap();
        let told: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        let expected =
            ["no such file: docs/b.md", "no such heading: docs/a.md#two", "docs/c.md is left out"];
        assert_eq!(told, expected);
        let site = root.path().join("target/site");
        assert_eq!(gather(root.path(), &site).unwrap(), 4);
        assert!(site.join("docs/a.md").is_file() && site.join("README.md").is_file());
        let contents = std::fs::read_to_string(site.join("SUMMARY.md")).unwrap();
        assert_eq!(contents, "[A](docs/a.md)\n\n# More\n\n- [Top](README.md)\n- [More](more.md)\n");
    }
}
