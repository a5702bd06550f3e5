//! Where a project is not what the format's schema allows: unknown and missing elements and attributes, and values of
//! another type. The order of elements is not looked at, because programs differ in it.
//!
//! The schema is Bitwig's own file (`schema/`). This reads the parts of XML Schema that it uses: types that extend each
//! other, sequences, choices, and attributes with simple types.

use std::collections::HashMap;
use std::rc::Rc;

use roxmltree::{Document, Node, NodeId};

use crate::remarks::Remarks;
use crate::xml::{Element, elements};

/// Unchanged, from <https://github.com/bitwig/dawproject>.
const SCHEMA: &str = include_str!("../schema/Project.xsd");
/// The longest name or value that a remark repeats.
const LONGEST: usize = 40;
/// Types extend each other; ours has six levels at most.
const MOST_BASES: usize = 16;

const UNKNOWN: &str = "is not in the format's schema";
const MISSING: &str = "is missing, which the format's schema requires";
const WRONG: &str = "is no value that the format's schema allows";
const TOO_MANY: &str = "are more than the format's schema allows";

/// Notes each deviation of `project` and what is in it.
pub(crate) fn check(project: &Element<'_>, remarks: &mut Remarks) {
    let document = Document::parse(SCHEMA);
    // A test reads it, so it is XML.
    let Some(mut schema) = document.as_ref().ok().map(Schema::of) else { return };
    let Some(root) = schema.type_of(schema.top("element", "Project")) else { return };
    let mut open = vec![(*project, root)];
    while let Some((element, of)) = open.pop() {
        let rules = schema.rules(of);
        check_attributes(&element, &rules, remarks);
        let inside = check_children(&element, &rules, remarks);
        let typed = inside
            .into_iter()
            .filter_map(|(child, declared)| schema.type_of(Some(declared)).map(|of| (child, of)));
        // The last one is looked at first, so that remarks come in the order of the text.
        open.extend(typed.collect::<Vec<_>>().into_iter().rev());
    }
}

fn check_attributes(element: &Element<'_>, rules: &Rules<'_>, remarks: &mut Remarks) {
    let own = element.attributes().filter(|attribute| attribute.namespace().is_none());
    for attribute in own {
        let (name, value) = (attribute.name(), attribute.value());
        match rules.attributes.iter().find(|rule| rule.name == name) {
            None => remarks.add_at(
                attribute.range(),
                format!("the attribute '{}' of {}", short(name), tag(element)),
                UNKNOWN,
            ),
            Some(rule) if !rule.text.allows(value) => remarks.add_at(
                attribute.range(),
                format!("{}=\"{}\" of {}", short(name), short(value), tag(element)),
                WRONG,
            ),
            Some(_) => {}
        }
    }
    let missing = |rule: &&Attribute<'_>| rule.required && element.attribute(rule.name).is_none();
    for rule in rules.attributes.iter().filter(missing) {
        let what = format!("the attribute '{}' of {}", rule.name, tag(element));
        remarks.add(element, what, MISSING);
    }
}

/// Returns the children that the schema knows, each with its declaration.
fn check_children<'a, 's>(
    element: &Element<'a>,
    rules: &Rules<'s>,
    remarks: &mut Remarks,
) -> Vec<(Element<'a>, Node<'s, 's>)> {
    let mut counts = vec![0_u32; rules.groups.len()];
    let mut known = Vec::new();
    for child in elements(element) {
        let name = child.tag_name().name();
        let found = rules.groups.iter().enumerate().find_map(|(index, group)| {
            group.members.iter().find(|(member, _)| *member == name).map(|(_, node)| (index, *node))
        });
        match found {
            Some((index, declared)) => {
                counts[index] += 1;
                known.push((child, declared));
            }
            None => remarks.add(&child, format!("{} in {}", tag(&child), tag(element)), UNKNOWN),
        }
    }
    for (group, count) in rules.groups.iter().zip(counts) {
        if count < group.least {
            remarks.add(element, format!("{} in {}", group.names(), tag(element)), MISSING);
        } else if count > group.most {
            let what = format!("{count} of {} in {}", group.names(), tag(element));
            remarks.add(element, what, TOO_MANY);
        }
    }
    known
}

fn tag(element: &Element<'_>) -> String {
    format!("<{}>", short(element.tag_name().name()))
}

/// What anybody wrote, as far as a line has room for it.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The schema's document.
struct Schema<'s> {
    root: Node<'s, 's>,
    known: HashMap<NodeId, Rc<Rules<'s>>>,
}

/// What a type allows.
#[derive(Default)]
struct Rules<'s> {
    attributes: Vec<Attribute<'s>>,
    groups: Vec<Group<'s>>,
}

struct Attribute<'s> {
    name: &'s str,
    text: Text<'s>,
    required: bool,
}

/// One element, or several of which each takes the place of the other.
struct Group<'s> {
    members: Vec<(&'s str, Node<'s, 's>)>,
    least: u32,
    most: u32,
}

impl Group<'_> {
    fn names(&self) -> String {
        match &self.members[..] {
            [(one, _)] => format!("<{one}>"),
            [(first, _), .., (last, _)] => format!("one of <{first}> to <{last}>"),
            [] => "nothing".to_owned(),
        }
    }
}

/// What an attribute may say.
enum Text<'s> {
    Any,
    Int,
    Double,
    Boolean,
    Word(Vec<&'s str>),
    Words(Vec<&'s str>),
}

impl Text<'_> {
    fn allows(&self, value: &str) -> bool {
        let value = value.trim();
        match self {
            Text::Any => true,
            Text::Int => value.parse::<i32>().is_ok(),
            Text::Double => {
                ["INF", "-INF", "NaN"].contains(&value)
                    || value.parse::<f64>().is_ok()
                        && value.ends_with(|c: char| c.is_ascii_digit() || c == '.')
            }
            Text::Boolean => ["true", "false", "1", "0"].contains(&value),
            Text::Word(words) => words.contains(&value),
            Text::Words(words) => value.split_whitespace().all(|word| words.contains(&word)),
        }
    }
}

fn is(node: &Node<'_, '_>, what: &str) -> bool {
    node.tag_name().name() == what
}

impl<'s> Schema<'s> {
    fn of(document: &'s Document<'s>) -> Schema<'s> {
        Schema { root: document.root_element(), known: HashMap::new() }
    }

    /// What is declared at the top with this name.
    fn top(&self, what: &str, name: &str) -> Option<Node<'s, 's>> {
        elements(&self.root).find(|node| is(node, what) && node.attribute("name") == Some(name))
    }

    /// The type of a declared element.
    fn type_of(&self, element: Option<Node<'s, 's>>) -> Option<Node<'s, 's>> {
        let mut element = element?;
        if let Some(name) = element.attribute("ref") {
            element = self.top("element", name)?;
        }
        match element.attribute("type") {
            Some(name) => self.top("complexType", name),
            None => elements(&element).find(|node| is(node, "complexType")),
        }
    }

    fn rules(&mut self, of: Node<'s, 's>) -> Rc<Rules<'s>> {
        if let Some(known) = self.known.get(&of.id()) {
            return Rc::clone(known);
        }
        let mut rules = Rules::default();
        self.collect(of, MOST_BASES, &mut rules);
        let rules = Rc::new(rules);
        self.known.insert(of.id(), Rc::clone(&rules));
        rules
    }

    /// What a type says itself, behind what it extends.
    fn collect(&self, of: Node<'s, 's>, bases: usize, into: &mut Rules<'s>) {
        let content = elements(&of).find(|node| is(node, "complexContent"));
        let extension = content.and_then(|it| elements(&it).find(|node| is(node, "extension")));
        let base = extension.and_then(|it| self.top("complexType", it.attribute("base")?));
        if let Some(base) = base.filter(|_| bases > 0) {
            self.collect(base, bases - 1, into);
        }
        for node in elements(&extension.unwrap_or(of)) {
            match node.tag_name().name() {
                "attribute" => into.attributes.extend(self.attribute(node)),
                "choice" => into.groups.push(choice(node)),
                "sequence" => into.groups.extend(elements(&node).map(|item| {
                    if is(&item, "choice") { choice(item) } else { group(item, vec![item]) }
                })),
                _ => {}
            }
        }
    }

    fn attribute(&self, node: Node<'s, 's>) -> Option<Attribute<'s>> {
        let (name, required) = (node.attribute("name")?, node.attribute("use") == Some("required"));
        let text = match node.attribute("type") {
            Some(name) => self.text(name),
            // The only types without a name are lists.
            None => {
                let list = node.descendants().find(|node| is(node, "list"))?;
                match self.text(list.attribute("itemType")?) {
                    Text::Word(words) => Text::Words(words),
                    _ => Text::Any,
                }
            }
        };
        Some(Attribute { name, text, required })
    }

    fn text(&self, name: &str) -> Text<'s> {
        match name {
            "xs:int" => Text::Int,
            "xs:double" => Text::Double,
            "xs:boolean" => Text::Boolean,
            name => self.top("simpleType", name).map_or(Text::Any, |of| {
                let words = of.descendants().filter(|node| is(node, "enumeration"));
                Text::Word(words.filter_map(|word| word.attribute("value")).collect())
            }),
        }
    }
}

fn choice<'s>(node: Node<'s, 's>) -> Group<'s> {
    group(node, elements(&node).collect())
}

/// How often these elements may occur together.
fn group<'s>(occurs: Node<'s, 's>, declared: Vec<Node<'s, 's>>) -> Group<'s> {
    let number = |name: &str| occurs.attribute(name).map_or(Some(1), |text| text.parse().ok());
    let name = |node: &Node<'s, 's>| node.attribute("ref").or(node.attribute("name"));
    Group {
        members: declared.into_iter().filter_map(|node| Some((name(&node)?, node))).collect(),
        least: number("minOccurs").unwrap_or(1),
        // `unbounded` is no number.
        most: number("maxOccurs").unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use hocket_session::ForeignText;

    fn deviations(xml: &str) -> Vec<String> {
        let text = ForeignText::new(Path::new("project.xml"), xml.to_owned());
        let document = Document::parse(text.text()).unwrap();
        let mut remarks = Remarks::default();
        check(&document.root_element(), &mut remarks);
        remarks.lines(&text)
    }

    fn project(inside: &str) -> String {
        format!(
            "<Project version=\"1.0\"><Application name=\"a\" version=\"1\"/>{inside}</Project>"
        )
    }

    #[test]
    fn every_type_of_the_schema_is_read() {
        let document = Document::parse(SCHEMA).unwrap();
        let mut schema = Schema::of(&document);
        let types: Vec<_> = document.descendants().filter(|node| is(node, "complexType")).collect();
        assert!(types.len() > 50, "{}", types.len());
        for of in types {
            let rules = schema.rules(of);
            for (name, declared) in rules.groups.iter().flat_map(|group| &group.members) {
                assert!(schema.type_of(Some(*declared)).is_some(), "{name}");
            }
        }
        let clip = schema.type_of(schema.top("element", "Clip")).unwrap();
        let names: Vec<_> = schema.rules(clip).attributes.iter().map(|it| it.name).collect();
        assert_eq!(names[..4], ["name", "color", "comment", "time"], "the base's come first");
    }

    #[test]
    fn what_the_schema_allows_is_not_told_whatever_its_order() {
        assert_eq!(deviations(&project("")), [""; 0]);
        let inside = "<Structure><Track contentType=\"audio notes\"><Channel role=\"regular\" audioChannels=\"2\">\
             <Volume unit=\"linear\" value=\"inf\"/><Mute value=\"true\"/><Devices/></Channel></Track></Structure>\
             <Transport><Tempo unit=\"bpm\" value=\"120\"/></Transport>";
        assert_eq!(deviations(&project(inside)), [""; 0]);
    }

    #[test]
    fn each_deviation_is_told_with_its_place() {
        let of = |inside: &str| {
            let told = deviations(&project(inside));
            assert_eq!(told.len(), 1, "{told:?}");
            told[0].clone()
        };
        for (inside, expected) in [
            ("<Hat/>", "<Hat> in <Project> is not in the format's schema"),
            (
                "<Transport speed=\"2\"/>",
                "the attribute 'speed' of <Transport> is not in the format's schema",
            ),
            (
                "<Transport><Tempo/></Transport>",
                "the attribute 'unit' of <Tempo> is missing, which the format's schema requires",
            ),
            (
                "<Transport><Tempo unit=\"furlong\"/></Transport>",
                "unit=\"furlong\" of <Tempo> is no value that the format's schema allows",
            ),
            (
                "<Transport/><Transport/>",
                "2 of <Transport> in <Project> are more than the format's schema allows",
            ),
            (
                "<Scenes><Scene/></Scenes>",
                "one of <Timeline> to <Points> in <Scene> is missing, which the format's schema requires",
            ),
            (
                "<Structure><Track contentType=\"smoke\"/></Structure>",
                "contentType=\"smoke\" of <Track> is no value that the format's schema allows",
            ),
            (
                "<Structure><Track loaded=\"yes\"/></Structure>",
                "loaded=\"yes\" of <Track> is no value that the format's schema allows",
            ),
            (
                "<Structure><Channel audioChannels=\"2.5\"/></Structure>",
                "audioChannels=\"2.5\" of <Channel> is no value that the format's schema allows",
            ),
        ] {
            let told = of(inside);
            assert!(told.ends_with(expected), "{told}");
            assert!(told.contains("project.xml:1:"), "{told}");
        }
        let long = "x".repeat(1000);
        let told = of(&format!("<Transport {long}=\"1\"/>"));
        assert!(told.len() < 200, "{told}");
    }

    #[test]
    fn numbers_are_those_of_xml() {
        for (text, allowed) in [
            ("1.5", true),
            ("-1e3", true),
            ("4.", true),
            ("INF", true),
            ("inf", false),
            ("", false),
            ("1,5", false),
        ] {
            assert_eq!(Text::Double.allows(text), allowed, "{text}");
        }
    }
}
