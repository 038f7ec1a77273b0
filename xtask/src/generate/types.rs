//! The element types of the C interface, and their functions from a template.

/// An element type of the C interface.
pub struct Type {
    /// The suffix of its functions, and the name of its directory.
    pub suffix: &'static str,
    /// The Rust type of an element in memory.
    pub element: &'static str,
    /// The Rust type of a scalar argument.
    pub scalar: &'static str,
    /// What the documentation of a function says instead of repeating that of the form on f32, and of a query.
    differs: Option<[&'static str; 2]>,
}

/// The element types.
pub const TYPES: [Type; 2] = [
    Type {
        suffix: "f32",
        element: "f32",
        scalar: "f32",
        differs: None,
    },
    Type {
        suffix: "f64",
        element: "f64",
        scalar: "f64",
        differs: Some(["in double", "for the double forms"]),
    },
];

impl Type {
    /// The documentation of a function for this type, if it refers to that of the form on f32.
    pub fn instead_of_doc(&self, name: &str) -> Option<String> {
        let [form, query] = self.differs?;
        let name = name.replace(self.suffix, TYPES[0].suffix);
        let differs = if name.ends_with("_workspace") {
            query
        } else {
            form
        };
        Some(comment(&format!("As dpt_{name}, {differs}.")))
    }

    /// The functions of a file in `ffi/templates` for this type. There `ELEMENT` is the type of an element in memory,
    /// `SCALAR` that of a scalar argument, and names end with `SUFFIX`. The documentation is that of the form on f32.
    pub fn functions(&self, template: &str) -> String {
        const MARK: &str = "#[unsafe(no_mangle)]\n";
        let text = template.replace("ELEMENT", self.element);
        let text = text.replace("SCALAR", self.scalar);
        let text = text.replace("SUFFIX", self.suffix);
        let mut parts = text.split(MARK);
        let mut functions = String::new();
        let mut before = parts.next().unwrap_or_default();
        for part in parts {
            let name = part
                .split_once("fn dpt_")
                .and_then(|(_, rest)| rest.split_once('('));
            match self.instead_of_doc(name.map_or("", |(name, _)| name)) {
                Some(doc) => functions += &(without_doc(before).to_owned() + &doc),
                None => functions += before,
            }
            functions += MARK;
            before = part;
        }
        functions + before
    }
}

/// Source text without the documentation at its end.
fn without_doc(text: &str) -> &str {
    let lines = text.split_inclusive('\n').rev();
    let doc: usize = lines
        .take_while(|line| line.starts_with("///"))
        .map(str::len)
        .sum();
    &text[..text.len() - doc]
}

/// A paragraph as lines of documentation.
pub fn comment(paragraph: &str) -> String {
    const WIDTH: usize = 100;
    let (mut text, mut width) = (String::from("///"), 3);
    for word in paragraph.split_whitespace() {
        if width + 1 + word.len() > WIDTH {
            text += "\n///";
            width = 3;
        }
        text += " ";
        text += word;
        width += 1 + word.len();
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_on_f64_refer_to_those_on_f32() {
        let template = "use x;\n\n/// Adds.\n///\n/// More.\n#[unsafe(no_mangle)]\n\
                        fn dpt_add_SUFFIX(x: *const ELEMENT, y: SCALAR) {}\n";
        let single = "use x;\n\n/// Adds.\n///\n/// More.\n#[unsafe(no_mangle)]\n\
                      fn dpt_add_f32(x: *const f32, y: f32) {}\n";
        let double = "use x;\n\n/// As dpt_add_f32, in double.\n#[unsafe(no_mangle)]\n\
                      fn dpt_add_f64(x: *const f64, y: f64) {}\n";
        let [f32, f64] = &TYPES;
        assert_eq!(f32.functions(template), single);
        assert_eq!(f64.functions(template), double);
    }
}
