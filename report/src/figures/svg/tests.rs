//! Tests for `svg`.

use super::super::multiples::{Layout, Mark, Multiples, Plot, Scale};
use super::super::{markup, palette, svg};
use superstep_table::Table;

fn figure(plot: Plot, layout: Layout) -> Multiples {
    let legend = [("loads", palette::BLUE), ("published", palette::VERMILLION)];
    let table = Table::of::<super::super::data_volume::DataVolumeRow>(&[]);
    Multiples::new("name", "Title", "", &legend, vec![plot], table).with_layout(layout)
}

fn bars() -> Multiples {
    let plot = Plot {
        x: Scale::bands(["<a>".to_owned()], ""),
        y: Scale::shares("share"),
        marks: vec![
            Mark::Area((0.1, 0.0), (0.9, 0.25), palette::BLUE),
            Mark::Line(vec![(0.1, 0.26), (0.9, 0.26)], 2.5, palette::VERMILLION),
            Mark::Text((0.5, 0.25), "label".to_owned()),
        ],
        ..Plot::default()
    };
    figure(plot, Layout::Grid)
}

#[test]
fn marks_have_their_value_and_series_on_hover() {
    let page = markup(&bars(), "a").unwrap().0;
    assert!(page.contains("<title>&lt;a&gt;: 25.0 % (loads)</title>"));
    assert!(page.contains("<title>&lt;a&gt;: 26.0 % (published)</title>"));
    assert_eq!(page.matches("<title>").count(), 2);
}

#[test]
fn figures_use_the_colours_of_their_page_and_files_have_a_white_background() {
    let page = markup(&bars(), "a").unwrap().0;
    assert!(page.contains("fill=\"currentColor\"") && page.contains("stroke=\"currentColor\""));
    assert!(!page.contains("#fff") && !page.contains("#000\"") && !page.contains("font-family"));
    let file = svg(&bars()).unwrap();
    assert!(file.contains("fill=\"#fff\"") && file.contains("color=\"#000\""));
}

/// Returns the number after `text`.
fn after(page: &str, text: &str) -> f64 {
    let (_, rest) = page.split_once(text).expect(text);
    let number = rest.trim_start_matches('"');
    let end = number.find(|c: char| c != '.' && !c.is_ascii_digit());
    number[..end.unwrap()].parse().unwrap()
}

#[test]
fn label_that_would_touch_a_published_line_is_moved_above_it() {
    let page = markup(&bars(), "a").unwrap().0;
    let line = page.find("stroke-width=\"2.5\"").unwrap();
    let path = &page[page[..line].rfind("<path").unwrap()..];
    let height = after(&path[path.find(' ').unwrap() + 4..], " ");
    let label = page.find(">label<").unwrap();
    let label = after(&page[page[..label].rfind("<text").unwrap()..], "y=");
    assert!(label < height - 3.0, "label at {label}, line at {height}");
}

fn map(side: u64) -> Multiples {
    let cell = |x: u64, y: u64| {
        let (left, bottom) = (x as f64, y as f64);
        let shade = if x == y {
            palette::BLUE
        } else {
            palette::SKY_BLUE
        };
        Mark::Cell(
            (left, bottom),
            (left + 1.0, bottom + 1.0),
            shade,
            format!("{x} to {y}"),
        )
    };
    let cells = (0..side).flat_map(|y| (0..side).map(move |x| cell(x, y)));
    let plot = Plot {
        x: Scale::within(0.0, side as f64, "", |v| v.to_string()),
        y: Scale::within(0.0, side as f64, "", |v| v.to_string()),
        marks: cells.collect(),
        cells: (side, side),
        ..Plot::default()
    };
    figure(plot, Layout::Maps)
}

#[test]
fn cells_of_a_map_have_whole_pixels_and_titles() {
    let page = markup(&map(7), "a").unwrap().0;
    assert_eq!(page.matches("width=\"34\" height=\"34\" fill=").count(), 49);
    assert!(page.contains("<title>3 to 4</title>"));
}

#[test]
fn map_of_many_cells_is_a_small_picture_with_one_pixel_per_cell() {
    let page = markup(&map(200), "a").unwrap().0;
    assert!(page.contains("width=\"200\" height=\"200\" style=\"image-rendering:pixelated\""));
    assert!(!page.contains("<title>"));
    assert!(page.len() < 6000, "{} bytes", page.len());
}
