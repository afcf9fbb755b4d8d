fn main() {
    for folder in std::env::args().skip(1) {
        let folder = std::path::PathBuf::from(folder);
        let run = serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).unwrap())
            .unwrap();
        println!(
            "{}",
            superstep_report::page::redraw(&folder, &run)
                .unwrap()
                .display()
        );
    }
}
