//! What the generators write. Random numbers are ChaCha8's, whose stream is fixed for ever, keyed with the seed
//! (little-endian, filled up with zeroes); a number below n is ⌊n · (32 random bits) / 2³²⌋.

use std::io::{self, Write};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::generator::Generator;

/// Folder of the cache that knows the generated files; to be changed whenever a generator's output changes.
pub(super) const VERSION: &str = "generated-1";

/// Writes the file and gives its length in bytes.
pub(super) fn write(generator: &Generator, writer: &mut dyn Write) -> io::Result<u64> {
    let mut random = Random::new(generator.seed);
    let mut output = Counted { writer, bytes: 0 };
    generator.write(&mut random, &mut output)?;
    Ok(output.bytes)
}

/// A graph as text: number of nodes; for each node the index of its first edge and their number;
/// the source node; number of edges; for each edge its target and weight (1 to 10).
///
/// Each node draws `degree / 2 − 1` to `degree / 2 + 1` partners, with repetition, and each such edge is entered at
/// both ends: nearly all nodes are reached from any, and their degrees differ.
pub(super) fn graph(
    nodes: u64,
    degree: u64,
    random: &mut Random,
    output: &mut Counted<'_>,
) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let node_count = u32::try_from(nodes).map_err(too_large)?;
    let half = u32::try_from(degree / 2).map_err(too_large)?;
    let mut edges: Vec<(u32, u32, u8)> =
        Vec::with_capacity((node_count as usize).saturating_mul(half as usize));
    let mut degrees = vec![0u32; node_count as usize];
    for node in 0..node_count {
        for _ in 0..half - 1 + random.below(3) {
            let partner = random.below(node_count);
            // Below 10, so it fits.
            let weight = 1 + random.below(10) as u8;
            edges.push((node, partner, weight));
            degrees[node as usize] += 1;
            degrees[partner as usize] += 1;
        }
    }
    let source = random.below(node_count);

    let mut next = Vec::with_capacity(degrees.len());
    let mut total = 0u32;
    for &count in &degrees {
        next.push(total);
        total += count;
    }
    output.numbers(&[node_count])?;
    for (&start, &count) in next.iter().zip(&degrees) {
        output.numbers(&[start, count])?;
    }
    let mut adjacency = vec![(0u32, 0u8); total as usize];
    for (node, partner, weight) in edges {
        for (from, to) in [(node, partner), (partner, node)] {
            let slot = &mut next[from as usize];
            adjacency[*slot as usize] = (to, weight);
            *slot += 1;
        }
    }
    output.text("\n")?;
    output.numbers(&[source])?;
    output.text("\n")?;
    output.numbers(&[total])?;
    adjacency
        .into_iter()
        .try_for_each(|(target, weight)| output.numbers(&[target, u32::from(weight)]))
}

/// One number a line for each cell of a field, layer by layer, row by row: with six decimals, uniform in `[base, base + span)` millionths.
pub(super) fn cells(
    extents: &[u64],
    base: u32,
    span: u32,
    random: &mut Random,
    output: &mut Counted<'_>,
) -> io::Result<()> {
    for _ in 0..extents.iter().product() {
        output.millionths(base + random.below(span))?;
        output.text("\n")?;
    }
    Ok(())
}

/// A line for each row: its number from 1 on, then its features from 0 to 1. Rows are scattered around eight centres.
pub(super) fn feature_table(
    rows: u64,
    features: u64,
    random: &mut Random,
    output: &mut Counted<'_>,
) -> io::Result<()> {
    const CENTRES: usize = 8;
    let centres: Vec<Vec<u32>> = (0..CENTRES)
        .map(|_| (0..features).map(|_| random.below(900_000)).collect())
        .collect();
    for row in 1..=rows {
        let centre = &centres[random.below(CENTRES as u32) as usize];
        output.text(itoa::Buffer::new().format(row))?;
        for feature in centre {
            output.text(" ")?;
            output.millionths(feature + random.below(100_000))?;
        }
        output.text("\n")?;
    }
    Ok(())
}

/// The count, then the numbers below it, shuffled, a line each.
pub(super) fn keys(count: u64, random: &mut Random, output: &mut Counted<'_>) -> io::Result<()> {
    let count = u32::try_from(count).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut keys: Vec<u32> = (0..count).collect();
    for left in (1..count).rev() {
        keys.swap(left as usize, random.below(left + 1) as usize);
    }
    output.numbers(&[count])?;
    keys.iter().try_for_each(|&key| output.numbers(&[key]))
}

pub(super) fn random_bytes(
    bytes: u64,
    random: &mut Random,
    output: &mut Counted<'_>,
) -> io::Result<()> {
    let mut buffer = [0u8; 4096];
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        random.0.fill_bytes(&mut buffer[..part]);
        output.bytes(&buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}

pub(super) struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }
}

pub(super) struct Counted<'a> {
    writer: &'a mut dyn Write,
    bytes: u64,
}

impl Counted<'_> {
    /// Numbers with a space between them, and the end of the line.
    fn numbers(&mut self, numbers: &[u32]) -> io::Result<()> {
        let mut number_text = itoa::Buffer::new();
        for (index, &number) in numbers.iter().enumerate() {
            if index > 0 {
                self.text(" ")?;
            }
            self.text(number_text.format(number))?;
        }
        self.text("\n")
    }

    /// A number of millionths, with six decimals.
    fn millionths(&mut self, millionths: u32) -> io::Result<()> {
        let mut decimals = *b".000000";
        let mut fraction = millionths % 1_000_000;
        for digit in decimals[1..].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        self.text(itoa::Buffer::new().format(millionths / 1_000_000))?;
        self.bytes(&decimals)
    }

    /// Numbers of 32 bits, little-endian.
    pub(super) fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words
            .iter()
            .try_for_each(|word| self.bytes(&word.to_le_bytes()))
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.writer.write_all(bytes)
    }
}
