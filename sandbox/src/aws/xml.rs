//! As much XML as AWS Query answers need: elements and escaped text.

/// XML under construction.
#[derive(Debug, Default)]
pub struct Xml(String);

impl Xml {
    /// An element that holds text.
    pub fn leaf(&mut self, name: &str, text: &str) {
        self.nest(name, |xml| {
            for character in text.chars() {
                match character {
                    '&' => xml.0.push_str("&amp;"),
                    '<' => xml.0.push_str("&lt;"),
                    '>' => xml.0.push_str("&gt;"),
                    '"' => xml.0.push_str("&quot;"),
                    plain => xml.0.push(plain),
                }
            }
        });
    }

    /// An element that holds elements.
    pub fn nest(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.0.extend(["<", name, ">"]);
        content(self);
        self.0.extend(["</", name, ">"]);
    }

    /// A list of texts, each a `member`.
    pub fn members<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.nest(name, |list| {
            for text in texts {
                list.leaf("member", text);
            }
        });
    }

    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut xml = Xml::default();
        xml.nest("a", |a| a.leaf("b", "on ~x:* &y <\">"));
        assert_eq!(xml.finish(), "<a><b>on ~x:* &amp;y &lt;&quot;&gt;</b></a>");
    }
}
