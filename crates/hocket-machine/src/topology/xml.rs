//! hwloc's XML, formats 1 (no version attribute), 2.x and 3.x, into a [`Draft`].
//!
//! The file may come from anybody, so nothing in it is believed before it is checked: its size, that it declares no
//! entities (hwloc never does, and nested ones are a known way to fill a memory), how deep it is nested, that every
//! number fits and every CPU mask is one, and that no CPU is described twice. Membership follows the nesting of the
//! objects, not their masks, since the masks are missing in some files; where a mask contradicts the nesting a note
//! says so. Attributes and elements that say nothing about seats (devices, distances, memory attributes) are skipped.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use crate::cpuset::{CpuSet, MAX_CPUS};

use super::CacheType;
use super::TopologyError;
use super::bitmap::{self, Mask};
use super::draft::{CacheDraft, CoreDraft, Draft, NumaDraft, PackageDraft, SeatDraft};
use super::kinds::KindRow;

/// No longer file is read: a machine of 8192 CPUs takes about a fifth of this.
const LONGEST: u64 = 32 << 20;
/// No deeper nesting is read: real files stay below 20.
const DEEPEST: usize = 64;
/// No more memory nodes are read: the kernel's limit.
const MOST_NODES: usize = 1024;
/// The newest format this reader knows.
const NEWEST_FORMAT: u32 = 3;

const REMEDY_EXPORT: &str = "export it again with `lstopo --of xml FILE.xml`";

/// What a file held.
pub(crate) struct Reading {
    pub draft: Draft,
    /// `1`, `2.0`, `3.0`.
    pub format_version: String,
    /// The version of the hwloc that looked at the machine, where it wrote it down.
    pub hwloc_version: Option<String>,
}

/// Reads the file's text.
pub(crate) fn load(path: &Path) -> Result<String, TopologyError> {
    let name = path.display().to_string();
    let remedy = "give the name of an XML file that `lstopo --of xml` wrote";
    let failed = |e: std::io::Error| error(&name, None, &crate::kernel_files::plain(&e), remedy);
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        let cause = format!(
            "the file is longer than {} MiB, which no machine's topology is",
            LONGEST >> 20
        );
        return Err(error(&name, None, &cause, remedy));
    }
    String::from_utf8(bytes).map_err(|e| not_utf8(&name, &e))
}

fn not_utf8(name: &str, e: &std::string::FromUtf8Error) -> TopologyError {
    let (good, _) = e.as_bytes().split_at(e.utf8_error().valid_up_to());
    let line = good.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
    let column = good.iter().rev().take_while(|&&b| b != b'\n').count() as u32 + 1;
    error(
        name,
        Some((line, column)),
        "the file is not UTF-8 text",
        "this is not an XML file of hwloc, or it is damaged",
    )
}

/// Understands the text.
pub(crate) fn read(text: &str, name: &str) -> Result<Reading, TopologyError> {
    refuse_entities(text, name)?;
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: 8_000_000, ..ParsingOptions::default() };
    let doc = Document::parse_with_options(text, options).map_err(|e| not_xml(&e, name))?;
    let file = XmlFile { doc: &doc, name };
    let format = file.format()?;
    let v1 = format.0 == 1;
    let outermost = file.outermost(v1)?;
    let machine = machine_within(outermost);
    let mut gathered = Gathered { v1, ..Gathered::default() };
    file.gather(&mut gathered)?;
    file.settle_machine(machine, &mut gathered)?;
    file.kind_rows(&mut gathered)?;
    let hwloc_version = [machine, outermost, doc.root_element()]
        .into_iter()
        .find_map(|node| info(node, "hwlocVersion"));
    Ok(Reading {
        draft: gathered.draft,
        format_version: format.1,
        hwloc_version: hwloc_version.map(String::from),
    })
}

fn refuse_entities(text: &str, name: &str) -> Result<(), TopologyError> {
    let Some(at) = text.find("<!ENTITY") else { return Ok(()) };
    let before = &text[..at];
    let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() as u32 + 1;
    Err(error(
        name,
        Some((line, column)),
        "the file declares XML entities, which hwloc never does",
        REMEDY_EXPORT,
    ))
}

fn not_xml(e: &roxmltree::Error, name: &str) -> TopologyError {
    let message = e.to_string();
    let cause = message.rsplit_once(" at ").map_or(message.as_str(), |(cause, _)| cause);
    let place = match e {
        roxmltree::Error::NoRootNode | roxmltree::Error::NodesLimitReached => None,
        _ => Some((e.pos().row, e.pos().col)),
    };
    error(name, place, &format!("this is not well-formed XML: {cause}"), REMEDY_EXPORT)
}

fn error(file: &str, place: Option<(u32, u32)>, cause: &str, remedy: &str) -> TopologyError {
    TopologyError { file: file.into(), place, cause: cause.into(), remedy: remedy.into() }
}

/// The parsed file and the name for messages.
struct XmlFile<'a> {
    doc: &'a Document<'a>,
    name: &'a str,
}

/// What the walk over the objects collects.
#[derive(Default)]
struct Gathered {
    draft: Draft,
    v1: bool,
    /// The PUs in the order of the file.
    pus: Vec<u32>,
    own_allowed: Vec<(u32, bool)>,
    contradictions: usize,
}

/// What becomes of the PUs below an object when its end is reached.
enum Group {
    Core(usize),
    Package(usize),
    Cache(usize),
    Numa(usize),
    None,
}

/// An object whose end has not been reached.
struct Open<'a> {
    group: Group,
    children: roxmltree::Children<'a, 'a>,
    /// Its PUs are those of [`Gathered::pus`] from here on.
    first_pu: usize,
    /// Memory nodes beside its children that have no mask of their own: they take its PUs.
    maskless_nodes: Vec<usize>,
}

/// # The frame: root, version, machine
impl<'a> XmlFile<'a> {
    fn error(&self, node: Node, cause: &str, remedy: &str) -> TopologyError {
        let at = self.doc.text_pos_at(node.range().start);
        error(self.name, Some((at.row, at.col)), cause, remedy)
    }

    /// Major version and the text of the version.
    fn format(&self) -> Result<(u32, String), TopologyError> {
        let root = self.doc.root_element();
        if root.tag_name().name() != "topology" {
            let cause = format!(
                "the root element is <{}>, but hwloc writes <topology>",
                root.tag_name().name()
            );
            return Err(self.error(root, &cause, REMEDY_EXPORT));
        }
        let Some(version) = root.attribute("version") else { return Ok((1, "1".into())) };
        match version.split('.').next().and_then(|major| major.parse().ok()) {
            Some(major @ 1..=NEWEST_FORMAT) => Ok((major, version.to_string())),
            Some(major) if major > NEWEST_FORMAT => {
                let cause = format!(
                    "XML format {version} is newer than {NEWEST_FORMAT}.x, the newest known here"
                );
                Err(self.error(
                    root,
                    &cause,
                    "export it with `lstopo --of xml --export-xml-flags v2`",
                ))
            }
            _ => Err(self.error(
                root,
                &format!("`{version}` is not a version of the format"),
                REMEDY_EXPORT,
            )),
        }
    }

    /// The object that encloses all others. From format 2 on it is a Machine. hwloc 1.x also wrote a
    /// System above its machines, and left the Machine out where it held nothing but one NUMANode (a small
    /// virtual machine) and the user asked for no more objects than the structure needs.
    fn outermost(&self, v1: bool) -> Result<Node<'a, 'a>, TopologyError> {
        let root = self.doc.root_element();
        let mut objects = root.children().filter(is_object);
        let Some(object) = objects.next() else {
            let cause = "there is no object of type Machine in the topology";
            return Err(self.error(root, cause, REMEDY_EXPORT));
        };
        if let Some(second) = objects.next() {
            let cause = "there is a second outermost object, but one object encloses a machine";
            return Err(self.error(second, cause, REMEDY_EXPORT));
        }
        let kind = object.attribute("type").unwrap_or_default();
        if kind == "Machine" || (v1 && encloses_cpus(kind)) {
            return Ok(object);
        }
        let shown: String = kind.chars().take(40).collect();
        let cause = format!("the outermost object is of type `{shown}`, and there is no Machine");
        Err(self.error(object, &cause, REMEDY_EXPORT))
    }
}

fn is_object(node: &Node) -> bool {
    node.has_tag_name("object")
}

/// Objects of format 1 that may stand for a whole machine. A machine of one CPU may be no more than a PU.
fn encloses_cpus(kind: &str) -> bool {
    const KINDS: [&str; 8] =
        ["System", "Group", "NUMANode", "Socket", "Package", "Cache", "Core", "PU"];
    KINDS.contains(&kind)
}

/// The object that says what holds for all CPUs: the only Machine of a System, or the outermost object.
fn machine_within<'a>(outermost: Node<'a, 'a>) -> Node<'a, 'a> {
    let is_machine = |node: &Node| is_object(node) && node.attribute("type") == Some("Machine");
    let mut machines = outermost.children().filter(is_machine);
    match (machines.next(), machines.next()) {
        (Some(only), None) => only,
        _ => outermost,
    }
}

/// # The walk over the objects
impl<'a> XmlFile<'a> {
    fn gather(&self, out: &mut Gathered) -> Result<(), TopologyError> {
        let mut stack = vec![Open::new(Group::None, self.doc.root_element(), 0)];
        while let Some(top) = stack.last_mut() {
            let Some(child) = top.children.next() else {
                top.close(out);
                stack.pop();
                continue;
            };
            if is_object(&child) {
                let first_pu = out.pus.len();
                let group = self.object(child, top, out)?;
                self.check_depth(child, stack.len())?;
                stack.push(Open::new(group, child, first_pu));
            }
        }
        Ok(())
    }

    fn check_depth(&self, node: Node, depth: usize) -> Result<(), TopologyError> {
        if depth <= DEEPEST {
            return Ok(());
        }
        let cause = format!("objects are nested more than {DEEPEST} deep, which no machine is");
        Err(self.error(node, &cause, REMEDY_EXPORT))
    }

    fn object(
        &self,
        node: Node,
        parent: &mut Open,
        out: &mut Gathered,
    ) -> Result<Group, TopologyError> {
        let mask = self.mask(node, "cpuset")?;
        let kind = node.attribute("type").unwrap_or_default();
        match kind {
            "PU" => self.pu(node, mask, out),
            "Core" => {
                out.draft
                    .cores
                    .push(CoreDraft { os_index: self.os_index(node)?, cpus: Vec::new() });
                Ok(Group::Core(out.draft.cores.len() - 1))
            }
            "Package" | "Socket" => {
                out.draft.packages.push(self.package(node)?);
                Ok(Group::Package(out.draft.packages.len() - 1))
            }
            "NUMANode" => self.numa(node, mask, parent, out),
            _ => Ok(self.cache(node, kind)?.map_or(Group::None, |cache| {
                out.draft.caches.push(cache);
                Group::Cache(out.draft.caches.len() - 1)
            })),
        }
    }

    fn pu(
        &self,
        node: Node,
        mask: Option<Mask>,
        out: &mut Gathered,
    ) -> Result<Group, TopologyError> {
        let Some(cpu) = self.os_index(node)?.filter(|&cpu| cpu < MAX_CPUS) else {
            let cause = format!("a PU (logical CPU) has no os_index below {MAX_CPUS}");
            return Err(self.error(node, &cause, REMEDY_EXPORT));
        };
        if out.draft.seats.insert(cpu, SeatDraft { allowed: true, online: true }).is_some() {
            return Err(self.error(
                node,
                &format!("the PU with os_index {cpu} is described twice"),
                REMEDY_EXPORT,
            ));
        }
        out.pus.push(cpu);
        let own = CpuSet::single(cpu);
        if let Some(allowed) = self.mask(node, "allowed_cpuset")? {
            out.own_allowed.push((cpu, !allowed.within(&own).is_empty()));
        }
        // Format 1 gives CPUs that are off line an empty mask, which contradicts nothing.
        let names_others = |m: Mask| !m.set.is_empty() && m.within(&own).is_empty();
        out.contradictions += usize::from(mask.is_some_and(names_others));
        Ok(Group::None)
    }

    fn package(&self, node: Node<'a, 'a>) -> Result<PackageDraft, TopologyError> {
        let text =
            |key: &str| info(node, key).map(str::trim).filter(|t| !t.is_empty()).map(String::from);
        Ok(PackageDraft {
            os_index: self.os_index(node)?,
            model: text("CPUModel"),
            vendor: text("CPUVendor"),
            family: info(node, "CPUFamilyNumber").and_then(|f| f.trim().parse().ok()),
            cpus: Vec::new(),
        })
    }

    fn cache(&self, node: Node, kind: &str) -> Result<Option<CacheDraft>, TopologyError> {
        let Some((level, instruction)) = self.cache_level(node, kind)? else { return Ok(None) };
        let cache_type = match node.attribute("cache_type") {
            _ if instruction => CacheType::Instruction,
            Some("1") => CacheType::Data,
            Some("2") => CacheType::Instruction,
            _ => CacheType::Unified,
        };
        let size_bytes = self.number::<u64>(node, "cache_size")?.filter(|&size| size > 0);
        let line_bytes = self.number::<u32>(node, "cache_linesize")?.filter(|&line| line > 0);
        Ok(Some(CacheDraft { level, cache_type, size_bytes, line_bytes, cpus: Vec::new() }))
    }

    /// Level and whether it is an instruction cache, if `kind` is a cache of a core (not one beside a memory).
    fn cache_level(&self, node: Node, kind: &str) -> Result<Option<(u32, bool)>, TopologyError> {
        if kind == "Cache" {
            let level = self.number::<u32>(node, "depth")?;
            return Ok(level.map(|level| (level, node.attribute("cache_type") == Some("2"))));
        }
        let Some(rest) = kind.strip_prefix('L') else { return Ok(None) };
        let level = |suffix: &str| rest.strip_suffix(suffix).and_then(|l| l.parse::<u32>().ok());
        Ok(level("iCache").map(|l| (l, true)).or_else(|| level("Cache").map(|l| (l, false))))
    }

    /// In format 1 a node encloses its CPUs. Later it lies beside them and has a mask, else it takes its parent's CPUs.
    fn numa(
        &self,
        node: Node,
        mask: Option<Mask>,
        parent: &mut Open,
        out: &mut Gathered,
    ) -> Result<Group, TopologyError> {
        let index = out.draft.numa.len();
        if index == MOST_NODES {
            return Err(self.error(
                node,
                &format!("there are more than {MOST_NODES} memory nodes"),
                REMEDY_EXPORT,
            ));
        }
        let memory_bytes = self.number::<u64>(node, "local_memory")?;
        let finite = mask.filter(|m| !m.infinite && !out.v1);
        if finite.is_none() && !out.v1 {
            parent.maskless_nodes.push(index);
        }
        let cpus = finite.map(|m| m.set).unwrap_or_default();
        out.draft.numa.push(NumaDraft { os_index: self.os_index(node)?, memory_bytes, cpus });
        Ok(if out.v1 { Group::Numa(index) } else { Group::None })
    }
}

impl<'a> Open<'a> {
    fn new(group: Group, node: Node<'a, 'a>, first_pu: usize) -> Self {
        Self { group, children: node.children(), first_pu, maskless_nodes: Vec::new() }
    }

    /// Gives the object the PUs that were found below it.
    fn close(&mut self, out: &mut Gathered) {
        let Gathered { draft, pus, .. } = out;
        let own = &pus[self.first_pu..];
        match self.group {
            Group::Core(i) => draft.cores[i].cpus = own.to_vec(),
            Group::Package(i) => draft.packages[i].cpus = own.to_vec(),
            Group::Cache(i) => draft.caches[i].cpus = own.to_vec(),
            Group::Numa(i) => draft.numa[i].cpus.extend(own.iter().copied()),
            Group::None => {}
        }
        for &node in &self.maskless_nodes {
            draft.numa[node].cpus.extend(own.iter().copied());
        }
    }
}

/// # What the machine object says of all CPUs, and the kinds
impl<'a> XmlFile<'a> {
    fn settle_machine(
        &self,
        machine: Node<'a, 'a>,
        out: &mut Gathered,
    ) -> Result<(), TopologyError> {
        if out.draft.seats.is_empty() {
            return Err(self.error(
                machine,
                "the topology has no PU, that is no logical CPU",
                REMEDY_EXPORT,
            ));
        }
        let universe = out.draft.cpus();
        if let Some(allowed) = self.mask(machine, "allowed_cpuset")? {
            let allowed = allowed.within(&universe);
            out.draft
                .seats
                .iter_mut()
                .for_each(|(&cpu, seat)| seat.allowed = allowed.contains(cpu));
        }
        for &(cpu, allowed) in &out.own_allowed {
            let seat = out.draft.seats.get_mut(&cpu).expect("own_allowed holds seats");
            seat.allowed &= allowed;
        }
        if let Some(online) = self.mask(machine, "online_cpuset")? {
            let online = online.within(&universe);
            out.draft.seats.iter_mut().for_each(|(&cpu, seat)| seat.online = online.contains(cpu));
        }
        if let Some(complete) = self.mask(machine, "complete_cpuset")?.filter(|m| !m.infinite) {
            out.draft.hidden = complete.set.difference(&universe);
        }
        self.settle_memory(machine, out)?;
        self.settle_models(machine, out);
        self.settle_contradictions(machine, out)
    }

    /// A machine without memory nodes (format 1) has one, of all its CPUs.
    fn settle_memory(&self, machine: Node, out: &mut Gathered) -> Result<(), TopologyError> {
        if out.draft.numa.is_empty() {
            let memory_bytes = self.number::<u64>(machine, "local_memory")?;
            out.draft.numa.push(NumaDraft {
                os_index: Some(0),
                memory_bytes,
                cpus: out.draft.cpus(),
            });
        }
        Ok(())
    }

    /// Some machines write the CPU's name on the machine instead of on each package.
    fn settle_models(&self, machine: Node, out: &mut Gathered) {
        for package in &mut out.draft.packages {
            let model = || info(machine, "CPUModel").map(|m| m.trim().to_string());
            package.model = package.model.take().or_else(model);
            let vendor = || info(machine, "CPUVendor").map(|v| v.trim().to_string());
            package.vendor = package.vendor.take().or_else(vendor);
        }
    }

    fn settle_contradictions(
        &self,
        machine: Node,
        out: &mut Gathered,
    ) -> Result<(), TopologyError> {
        // Format 1 leaves CPUs that are off line, and some versions those that are disallowed, out of the mask.
        let usable =
            |(&cpu, seat): (&u32, &SeatDraft)| (seat.online && seat.allowed).then_some(cpu);
        let usable: CpuSet = out.draft.seats.iter().filter_map(usable).collect();
        if let Some(mask) = self.mask(machine, "cpuset")? {
            out.contradictions += usize::from(mask.within(&usable) != usable);
        }
        if out.contradictions > 0 {
            let count = out.contradictions;
            out.draft.notes.push(format!("{count} CPU masks in the file contradict the nesting of its objects; the nesting was used"));
        }
        Ok(())
    }

    fn kind_rows(&self, out: &mut Gathered) -> Result<(), TopologyError> {
        let universe = out.draft.cpus();
        let is_kind = |n: &Node| n.has_tag_name("cpukind");
        for node in self.doc.root_element().children().filter(is_kind) {
            let Some(mask) = self.mask(node, "cpuset")? else { continue };
            out.draft.kind_rows.push(kind_row(
                node,
                mask.within(&universe),
                self.efficiency(node)?,
            ));
        }
        Ok(())
    }

    fn efficiency(&self, node: Node) -> Result<Option<i64>, TopologyError> {
        // hwloc writes -1 where it does not know.
        let value = self.number::<i64>(node, "forced_efficiency")?;
        Ok(value.filter(|&e| e >= 0))
    }
}

fn kind_row(node: Node, cpus: CpuSet, efficiency: Option<i64>) -> KindRow {
    let number =
        |key: &str| info(node, key).and_then(|v| v.trim().parse::<u32>().ok()).filter(|&v| v > 0);
    let text =
        |key: &str| info(node, key).map(str::trim).filter(|v| !v.is_empty()).map(String::from);
    KindRow {
        cpus,
        efficiency,
        core_type: text("CoreType"),
        part: text("CPUPart").map(|part| (text("CPUImplementer"), part)),
        capacity: number("LinuxCapacity"),
        max_mhz: number("FrequencyMaxMHz"),
        base_mhz: number("FrequencyBaseMHz"),
        order: 0,
    }
}

/// # Attributes, checked
impl XmlFile<'_> {
    fn number<T: std::str::FromStr>(
        &self,
        node: Node,
        key: &str,
    ) -> Result<Option<T>, TopologyError> {
        let Some(text) = node.attribute(key) else { return Ok(None) };
        let wrong = || {
            let shown: String = text.chars().take(40).collect();
            self.error(
                node,
                &format!("{key}=\"{shown}\" is not a number of the expected range"),
                REMEDY_EXPORT,
            )
        };
        text.trim().parse().map(Some).map_err(|_| wrong())
    }

    /// The number the system gives an object; hwloc writes -1 (signed or not) for "none".
    fn os_index(&self, node: Node) -> Result<Option<u32>, TopologyError> {
        if node.attribute("os_index") == Some("-1") {
            return Ok(None);
        }
        Ok(self.number::<u32>(node, "os_index")?.filter(|&i| i != u32::MAX))
    }

    fn mask(&self, node: Node, key: &str) -> Result<Option<Mask>, TopologyError> {
        // Devices of format 1 have an empty mask; it means "none", not zero CPUs.
        let Some(text) = node.attribute(key).filter(|t| !t.trim().is_empty()) else {
            return Ok(None);
        };
        let mask = bitmap::parse(text)
            .map_err(|why| self.error(node, &format!("{key}: {why}"), REMEDY_EXPORT))?;
        Ok(Some(mask))
    }
}

/// The value of an `<info name=... value=...>` child.
fn info<'a>(node: Node<'a, '_>, key: &str) -> Option<&'a str> {
    let is_it = |n: &Node| n.has_tag_name("info") && n.attribute("name") == Some(key);
    node.children().find(is_it)?.attribute("value")
}
