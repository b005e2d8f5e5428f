internal import Strata

/// Places in the order of their expiry.
///
/// Taking the first is O(1) amortised; inserting too, behind all that expire earlier, and O(n) elsewhere.
struct ExpiryQueue: Sendable {
    struct Place: Sendable {
        let target: PendingInvalidations.Target
        let number: UInt64
        let expiresAt: MonotonicInstant
    }

    private var storage: [Place] = []
    private var head = 0

    var count: Int { storage.count - head }
    var first: Place? { head < storage.count ? storage[head] : nil }
    var places: ArraySlice<Place> { storage[head...] }

    mutating func insert(_ place: Place) {
        guard let last = storage.last, head < storage.count, place.expiresAt < last.expiresAt else {
            storage.append(place)
            return
        }
        var (low, high) = (head, storage.count)
        while low < high {
            let middle = low + (high - low) / 2
            if storage[middle].expiresAt > place.expiresAt { high = middle } else { low = middle + 1 }
        }
        storage.insert(place, at: low)
    }

    mutating func removeFirst() {
        head += 1
        if 2 * head > storage.count { trim() }
    }

    mutating func keep(_ belongs: (Place) -> Bool) {
        trim()
        storage.removeAll { !belongs($0) }
    }

    private mutating func trim() {
        storage.removeFirst(head)
        head = 0
    }
}
