/// What the driver of `load verify` orders an instance to do.
enum VerifyOrder: Codable {
    /// Changes keys of its own all the time, or makes no more changes.
    case work(Bool)
    /// Writes what its memory holds of keys back into memory by hand: under the same versions, and nothing voids that.
    case keep([Int])
    case change(Int, VerifyChange)
    /// Tells what its memory serves of a key.
    case look(Int)
    case finish
}

/// The ways to change a key.
enum VerifyChange: Codable, CaseIterable {
    case set
    case remove
    case tag
}

/// What an instance of `load verify` answers.
enum VerifyAnswer: Codable {
    case ready
    case done
    /// The version in memory; `nil` when it serves none.
    case serves(UInt64?)
    case failed(String)
}
