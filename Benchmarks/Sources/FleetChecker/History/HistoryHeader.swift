/// The first page of a history file, as words.
enum HistoryHeader {
    /// "STRHIST1", the format's name and release.
    static let magic: UInt64 = 0x3154_5349_4852_5453
    static let magicWord = 0
    static let keyCountWord = 1
    static let seedWord = 2
    static let initialVersionWord = 3
    static let processWord = 4
    /// How many blocks of records were handed out.
    static let blocksWord = 16
    /// How many events found no room.
    static let droppedWord = 32
    /// Where the stripes of ``RecordClaims`` begin, two cache lines for each.
    static let stripesWord = 256
    static let wordCount = SharedFile.pageSize / 8
}
