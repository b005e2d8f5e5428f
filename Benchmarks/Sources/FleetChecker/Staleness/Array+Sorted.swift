extension Array {
    /// The first place whose element fulfils a condition that, once fulfilled, stays so to the end; the count if none
    /// does.
    func firstIndexOfSorted(where condition: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
