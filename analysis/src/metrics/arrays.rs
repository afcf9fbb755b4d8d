//! Arrays through which CTAs communicate.

use super::{Source, share};
use crate::columns;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// One array: the allocations made by one line of host code, or one allocation made by an unknown line.
    pub struct ArrayRow = "arrays": Deserialize {
        array: String = "name of the variable or symbol if known, else the allocation's number";
        place: String = columns::PLACE;
        allocations: u64 = "number of allocations";
        bytes: u64 ["bytes"] = "size of the largest one";
        kernels: String = "kernels that loaded bytes stored there by other entities";
        loaded_bytes: u64 ["bytes"] = "loaded, including atomics";
        communicated_loaded_bytes: u64 ["bytes"] = columns::COMMUNICATED_LOADED_BYTES;
        self_loaded_bytes: u64 ["bytes"] = columns::SELF_LOADED_BYTES;
        input_loaded_bytes: u64 ["bytes"] = columns::INPUT_LOADED_BYTES;
        uninitialised_loaded_bytes: u64 ["bytes"] = columns::UNINITIALISED_LOADED_BYTES;
        unordered_loaded_bytes: u64 ["bytes"] = columns::UNORDERED_LOADED_BYTES;
        unknown_loaded_bytes: u64 ["bytes"] = columns::UNKNOWN_LOADED_BYTES;
        local_loaded_bytes: u64 ["bytes"] = columns::LOCAL_LOADED_BYTES;
        within_launch_loaded_bytes: u64 ["bytes"] = columns::WITHIN_LAUNCH_LOADED_BYTES;
        within_launch_atomic_bytes: u64 ["bytes"] = columns::WITHIN_LAUNCH_ATOMIC_BYTES;
        received_bytes: u64 ["bytes"] = columns::RECEIVED_BYTES;
        stored_bytes: u64 ["bytes"] = columns::STORED_BYTES;
        communicated_stored_bytes: u64 ["bytes"] = "stored and later read by another entity";
        share: f64 = "share of all received bytes";
    }
}

#[derive(Default)]
struct Array<'a> {
    row: ArrayRow,
    ids: Vec<Option<u32>>,
    kernels: Vec<&'a str>,
}

/// Returns the accessed arrays, in descending order of received bytes.
pub(super) fn rows(source: &Source<'_>) -> Vec<ArrayRow> {
    let mut arrays: BTreeMap<(String, String), Array<'_>> = BTreeMap::new();
    let mut total = 0;
    for found in &source.communication.arrays {
        let volume = &found.volume;
        let info = source.allocation(found.allocation);
        let (array, place, bytes) = info.map_or_else(
            || ("outside of allocations".to_owned(), String::new(), 0),
            |info| (info.name.clone(), info.place.clone(), info.bytes),
        );
        let Array { row, ids, kernels } = arrays.entry((array, place)).or_default();
        row.bytes = row.bytes.max(bytes);
        let id = found.allocation.map(|id| id.0);
        if !ids.contains(&id) {
            ids.push(id);
            row.allocations += u64::from(id.is_some());
        }
        let name = source.kernel_name(found.kernel);
        if volume.communicated_loaded_bytes > 0 && !kernels.contains(&name) {
            kernels.push(name);
        }
        row.communicated_loaded_bytes += volume.communicated_loaded_bytes;
        row.self_loaded_bytes += volume.self_loaded_bytes;
        row.input_loaded_bytes += volume.input_loaded_bytes;
        row.uninitialised_loaded_bytes += volume.uninitialised_loaded_bytes;
        row.unordered_loaded_bytes += volume.unordered_loaded_bytes;
        row.unknown_loaded_bytes += volume.unknown_loaded_bytes;
        row.local_loaded_bytes += volume.local_loaded_bytes;
        row.within_launch_loaded_bytes += volume.within_launch_loaded_bytes;
        row.within_launch_atomic_bytes += volume.within_launch_atomic_bytes;
        row.loaded_bytes += volume.loaded_bytes;
        row.received_bytes += volume.received_bytes;
        row.stored_bytes += volume.stored_bytes;
        row.communicated_stored_bytes += volume.communicated_stored_bytes;
        total += volume.received_bytes;
    }
    let mut rows: Vec<ArrayRow> = (arrays.into_iter())
        .map(|((array, place), Array { row, kernels, .. })| ArrayRow {
            array,
            place,
            kernels: kernels.join(", "),
            share: share(row.received_bytes, total),
            ..row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.received_bytes));
    rows
}

/// Returns the variable allocated at `column` in a line (from 1; 0 if unknown): the first argument of a call such as
/// `cudaMalloc((void **)&d_a, bytes)`, without casts and `&`, or the assigned (`d_a = allocate(n)`) or declared (`Array
/// d_a(n)`) variable. Returns `None` if that is not a variable or member.
pub fn variable(line: &str, column: u32) -> Option<&str> {
    let at = (column as usize).saturating_sub(1);
    let (before, rest) = line.split_at_checked(at).unwrap_or(("", line));
    if let Some(call) = rest.find("cuda") {
        return argument(&rest[call..]);
    }
    let called = leading_name(rest)?;
    let before = before.trim_end();
    if let Some(target) = before.strip_suffix('=') {
        return trailing_name(target.trim_end());
    }
    let last = before.chars().next_back()?;
    let declares = last.is_ascii_alphanumeric() || ">*&,_".contains(last);
    (declares && !before.ends_with("return") && !before.ends_with("new")).then_some(called)
}

fn argument(call: &str) -> Option<&str> {
    let (_, arguments) = call.split_once('(')?;
    let mut rest = arguments.trim_start();
    // Skip C-style casts: a type in one pair of parentheses.
    while let Some(cast) = rest.strip_prefix('(') {
        match cast.split_once(')') {
            Some((inner, after)) if inner.contains('*') && !inner.contains('&') => {
                rest = after.trim_start();
            }
            _ => rest = cast.trim_start(),
        }
    }
    let cast = rest.strip_prefix("reinterpret_cast<");
    if let Some((_, after)) = cast.and_then(|cast| cast.split_once(">(")) {
        rest = after;
    }
    leading_name(rest.trim_start_matches(['&', ' ']))
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.->[]:".contains(c)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn leading_name(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| is_name(name))
}

fn trailing_name(text: &str) -> Option<&str> {
    let start = text.rfind(|c| !is_name_char(c)).map_or(0, |at| at + 1);
    Some(&text[start..]).filter(|name| is_name(name))
}

#[cfg(test)]
mod tests;
