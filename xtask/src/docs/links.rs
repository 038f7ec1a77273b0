//! Links and headings of Markdown pages, and which links lead nowhere.
use anyhow::{Context, Result};
use fs_err as fs;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

/// A link or an image of a page.
#[derive(Debug)]
pub struct Link {
    /// Where it stands in the text, all of it: `[text](address)`.
    pub range: Range<usize>,
    /// The address as it is written.
    pub address: String,
    /// The file that it leads to, relative to the root, if it is one of the repository.
    pub file: Option<String>,
    /// The heading there, if it names one.
    pub heading: Option<String>,
}

/// A Markdown page.
#[derive(Debug)]
pub struct Page {
    /// Its text.
    pub text: String,
    /// Its links, in order.
    pub links: Vec<Link>,
    /// What its headings are called in addresses.
    pub headings: BTreeSet<String>,
}

/// All pages of a repository, by their paths relative to its root.
#[derive(Debug)]
pub struct Pages {
    /// The pages.
    pub pages: BTreeMap<String, Page>,
    /// All files, Markdown or not.
    pub files: BTreeSet<String>,
}

impl Pages {
    /// Reads the Markdown among the files of a repository.
    pub fn read(root: &Path, files: Vec<String>) -> Result<Pages> {
        let mut pages = BTreeMap::new();
        for file in files.iter().filter(|file| file.ends_with(".md")) {
            let page = Page::new(file, fs::read_to_string(root.join(file))?);
            pages.insert(file.clone(), page.with_context(|| file.clone())?);
        }
        let files = files.into_iter().collect();
        Ok(Pages { pages, files })
    }

    /// A line for each link to a file or a heading that does not exist.
    pub fn dead_links(&self) -> Vec<String> {
        let mut dead = Vec::new();
        for (path, page) in &self.pages {
            for link in &page.links {
                let Some(file) = &link.file else { continue };
                let heading = link.heading.as_ref();
                let alive = match self.pages.get(file) {
                    Some(target) => heading.is_none_or(|name| target.headings.contains(name)),
                    None => {
                        heading.is_none() && (self.files.contains(file) || self.is_folder(file))
                    }
                };
                if !alive {
                    let line = page.text[..link.range.start].matches('\n').count() + 1;
                    dead.push(format!("{path}:{line}: {}", link.address));
                }
            }
        }
        dead
    }

    /// Whether a path is a folder with files.
    pub fn is_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        path.is_empty()
            || self
                .files
                .range(prefix.clone()..)
                .next()
                .is_some_and(|file| file.starts_with(&prefix))
    }
}

impl Page {
    /// Finds the links and headings in the text of a page.
    pub fn new(path: &str, text: String) -> Result<Page> {
        let mut page = Page {
            text: String::new(),
            links: Vec::new(),
            headings: BTreeSet::new(),
        };
        let mut seen = HashMap::new();
        let mut heading: Option<String> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let name = anchor(&heading.take().unwrap_or_default(), &mut seen);
                    page.headings.insert(name);
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::Start(
                    Tag::Link {
                        link_type,
                        dest_url,
                        ..
                    }
                    | Tag::Image {
                        link_type,
                        dest_url,
                        ..
                    },
                ) if link_type != LinkType::Autolink && link_type != LinkType::Email => {
                    page.links.push(Link::new(path, range, &dest_url)?);
                }
                _ => {}
            }
        }
        page.text = text;
        Ok(page)
    }
}

impl Link {
    fn new(page: &str, range: Range<usize>, address: &str) -> Result<Link> {
        let mut link = Link {
            range,
            address: address.to_owned(),
            file: None,
            heading: None,
        };
        if address.contains("://") || address.starts_with("mailto:") {
            return Ok(link);
        }
        let (file, heading) = match address.split_once('#') {
            Some((file, heading)) => (file, Some(heading.to_owned())),
            None => (address, None),
        };
        link.heading = heading;
        link.file = Some(if file.is_empty() {
            page.to_owned()
        } else {
            resolve(page, file)?
        });
        Ok(link)
    }
}

/// The path, relative to the root, of what a page calls `address`.
fn resolve(page: &str, address: &str) -> Result<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts
                    .pop()
                    .with_context(|| format!("{address} leaves the repository"))?;
            }
            name => parts.push(name),
        }
    }
    Ok(parts.join("/"))
}

/// What GitHub and mdBook call a heading: its words in lower case, joined by hyphens, and a number if there was one like
/// it before.
fn anchor(heading: &str, seen: &mut HashMap<String, usize>) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let name: String = heading.to_lowercase().chars().filter(kept).collect();
    let name = name.trim().replace(' ', "-");
    let count = seen.entry(name.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => name,
        n => format!("{name}-{}", n - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> Pages {
        let page = |(path, text): &(&str, &str)| {
            let page = Page::new(path, (*text).to_owned()).expect("a page");
            ((*path).to_owned(), page)
        };
        let mut files: BTreeSet<String> =
            texts.iter().map(|(path, _)| (*path).to_owned()).collect();
        files.insert("c/program.c".to_owned());
        Pages {
            pages: texts.iter().map(page).collect(),
            files,
        }
    }

    #[test]
    fn living_links_are_not_reported() {
        let text = "# A `b`, c!\n## Same\n## Same\n[1](#a-b-c) [2](docs/x.md#y) [3](c) [4](c/program.c) [5](#same-1) \
            [6](https://example.org/#z)\n```sh\n[7](nowhere)\n```\n";
        let pages = pages(&[
            ("README.md", text),
            ("docs/x.md", "# Y\n[up](../README.md#same)\n"),
        ]);
        assert_eq!(pages.dead_links(), Vec::<String>::new());
    }

    #[test]
    fn dead_links_are_reported_with_their_line() {
        let text = "# A\n\n[1](b.md)\n\n| t |\n|---|\n| [2](#b) |\n\n![3](c/none.svg) [4](c/program.c#L3)\n";
        let found = pages(&[("docs/a.md", text), ("b.md", "")]).dead_links();
        let expected = ["3: b.md", "7: #b", "9: c/none.svg", "9: c/program.c#L3"];
        assert_eq!(found, expected.map(|line| format!("docs/a.md:{line}")));
    }

    #[test]
    fn links_out_of_the_repository_are_refused() {
        assert!(Page::new("docs/a.md", "[up](../../x.md)".to_owned()).is_err());
    }
}
