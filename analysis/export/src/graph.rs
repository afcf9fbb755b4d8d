//! The graph of CTAs: a node for each entity (kernel and CTA), an edge for the bytes that one received from another. GraphML is
//! read by Gephi, yEd, NetworkX and igraph.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event as Xml};
use superstep_analysis::analyse;
use superstep_analysis::communication::Options;
use superstep_table::{FileError, Staged};
use superstep_trace::Capture;

use crate::error::Result;

/// An entity: kernel (demangled name without parameters) and linear CTA number.
pub type Entity = (String, u32);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Graph {
    pub nodes: BTreeMap<Entity, [u32; 3]>,
    /// From source to receiver: distinct bytes and distinct reads, summed over the launches.
    pub edges: BTreeMap<(Entity, Entity), (u64, u64)>,
}

impl Graph {
    pub fn new(capture: &Capture) -> Result<Self> {
        let options = Options {
            transfers: true,
            ..Options::default()
        };
        let analysis = analyse(capture, options)?;
        let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
        let mut graph = Self::default();
        analysis.communication.transfers.each(|transfer| {
            let mut node = |launch: u32, cta: u32| {
                let launch = launches.get(launch as usize)?;
                let name = capture.sites().display_name(&launch.kernel).to_owned();
                let entity = (name, cta);
                let coordinates = launch.cta_coordinates(cta);
                graph.nodes.insert(entity.clone(), coordinates);
                Some(entity)
            };
            let source = node(transfer.source_launch, transfer.source_cta);
            let receiver = node(transfer.receiver_launch, transfer.receiver_cta);
            if let (Some(source), Some(receiver)) = (source, receiver) {
                let (bytes, count) = graph.edges.entry((source, receiver)).or_default();
                *bytes += transfer.bytes;
                *count += transfer.count;
            }
        })?;
        Ok(graph)
    }
}

/// Writes the graph of a capture's communication to `path`; on an error there is no file.
pub fn write(capture: &Capture, path: &Path) -> Result<PathBuf> {
    let graph = Graph::new(capture)?;
    let mut file = Staged::create(path)?;
    graphml(&graph, &mut file).map_err(FileError::at("write", path))?;
    Ok(file.finish()?)
}

/// Keys of GraphML: id, what they belong to, name, type.
const KEYS: [(&str, &str, &str, &str); 7] = [
    ("kernel", "node", "kernel", "string"),
    ("cta", "node", "cta", "long"),
    ("x", "node", "cta_x", "long"),
    ("y", "node", "cta_y", "long"),
    ("z", "node", "cta_z", "long"),
    ("bytes", "edge", "bytes", "long"),
    ("count", "edge", "count", "long"),
];

fn graphml(graph: &Graph, file: &mut impl Write) -> std::io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *file, b' ', 1);
    xml.write_event(Xml::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("graphml")
        .with_attribute(("xmlns", "http://graphml.graphdrawing.org/xmlns"))
        .write_inner_content(|xml| {
            for (id, of, name, kind) in KEYS {
                xml.create_element("key")
                    .with_attribute(("id", id))
                    .with_attribute(("for", of))
                    .with_attribute(("attr.name", name))
                    .with_attribute(("attr.type", kind))
                    .write_empty()?;
            }
            xml.create_element("graph")
                .with_attribute(("edgedefault", "directed"))
                .write_inner_content(|xml| content(graph, xml))?;
            Ok(())
        })?;
    file.write_all(b"\n")
}

fn content<W: Write>(graph: &Graph, xml: &mut Writer<W>) -> std::io::Result<()> {
    let numbers: BTreeMap<&Entity, usize> = graph.nodes.keys().zip(0..).collect();
    for (node, [x, y, z]) in &graph.nodes {
        let (kernel, cta) = node;
        let id = format!("n{}", numbers[node]);
        xml.create_element("node")
            .with_attribute(("id", id.as_str()))
            .write_inner_content(|xml| {
                data(xml, "kernel", kernel)?;
                for (key, value) in [("cta", cta), ("x", x), ("y", y), ("z", z)] {
                    data(xml, key, &value.to_string())?;
                }
                Ok(())
            })?;
    }
    for ((source, receiver), (bytes, count)) in &graph.edges {
        xml.create_element("edge")
            .with_attribute(("source", format!("n{}", numbers[source]).as_str()))
            .with_attribute(("target", format!("n{}", numbers[receiver]).as_str()))
            .write_inner_content(|xml| {
                data(xml, "bytes", &bytes.to_string())?;
                data(xml, "count", &count.to_string())
            })?;
    }
    Ok(())
}

fn data<W: Write>(xml: &mut Writer<W>, key: &str, text: &str) -> std::io::Result<()> {
    xml.create_element("data")
        .with_attribute(("key", key))
        .write_text_content(BytesText::new(text))?;
    Ok(())
}
