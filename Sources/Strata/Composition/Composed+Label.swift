extension Composed {
    /// `composed`, with all composed levels in one list, however they were nested.
    public var label: LevelLabel {
        let (above, below) = (upper.label, lower.label)
        let inner = [above, below].filter { $0.kind == "composed" }.flatMap(\.counters)
        func total(_ name: String, _ own: Int) -> LevelLabel.Counter {
            .init(name, inner.reduce(own) { $0 + ($1.name == name ? $1.value : 0) })
        }
        return LevelLabel(
            "composed",
            counters: [
                total("failed_reads", failedReads), total("failed_fills", failedFills), total("late_fills", lateFills),
                total("refreshes_under_way", refreshes.count),
            ],
            parts: [above, below].flatMap { $0.kind == "composed" ? $0.parts : [$0] },
            durations: [],
            hubs: [above, below].filter { $0.kind == "composed" }.flatMap(\.hubs) + [events]
        )
    }
}
