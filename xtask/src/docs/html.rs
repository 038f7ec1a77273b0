//! Links of the built book. mdBook does not check them, and it names pages and headings by rules of its own.
use anyhow::Result;
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A line for each link in the text of a page that leads to no file or heading of the book.
pub fn dead_links(book: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for entry in WalkDir::new(book) {
        let path = entry?.into_path();
        if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    let headings: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path.as_path(), values(text, "id").collect()))
        .collect();
    let mut dead = Vec::new();
    for (path, text) in &pages {
        for link in values(main(text), "href").chain(values(main(text), "src")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = normal(&path.with_file_name(file));
            let target = if file.is_empty() { path } else { &target };
            let alive = match headings.get(target.as_path()) {
                Some(headings) => heading.is_empty() || headings.contains(heading),
                None => target.is_file(),
            };
            if !alive && !link.contains("://") {
                dead.push(format!("{}: {link}", path.strip_prefix(book)?.display()));
            }
        }
    }
    Ok(dead)
}

/// The text of a page, without the frame that all pages have.
fn main(html: &str) -> &str {
    let text = html.split_once("<main>").map_or("", |(_, rest)| rest);
    text.split_once("</main>").map_or(text, |(text, _)| text)
}

/// The values of an attribute, in order.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {attribute}=\"");
    let parts: Vec<&str> = html.split(&start).skip(1).collect();
    parts.into_iter().filter_map(|rest| rest.split('"').next())
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}
