import Strata
import Testing

/// The first group stands in FIPS 180 and its example files; the others were made with OpenSSL's implementation.
@Suite("SHA-256")
struct SHA256Tests {
    private static let pattern = (0..<200).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(
        "the published examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
                    + "nopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
        ]
    )
    func published(text: String, expected: String) {
        #expect(hex(SHA256.hash(Array(text.utf8))) == expected)
    }

    @Test("a million times the letter a")
    func million() {
        let hash = SHA256.hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(hex(hash) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(
        "lengths around the padding",
        arguments: [
            (1, "9d1e0e2d9459d06523ad13e28a4093c2316baafe7aec5b25f30eba2e113599c4"),
            (55, "b2ca0adc388a66d3a5a7f6541239331d5a867eede554e11262241271faaf36c5"),
            (56, "3768eff44f1df02704a832cf708935fbed9bb74d0714fbe75454c266c4e12856"),
            (57, "a35b6298adfbc5ec16dc51a8d52145daa2a68f1d66e837d85bed6783d874c5cb"),
            (63, "dc06ea9e456da9f9fc2276564018231c36196ff7745bf505fd7f503aec5c67fd"),
            (64, "b68fe543b0b5a544e32eb08712e697bfcd3a3cb491563c3b1cba112d378f4bdb"),
            (65, "587cdb9ad9be371721f2f84a84eb09f2b698ec19bbe2d7c222179996547a04a6"),
            (119, "b27b61037be684924f5497ee79c784f09c971d8c8c3136f6270e0fd34775aa1b"),
            (120, "00c666e960132985e9c99dc98bf25782df791138d0f1252b69781694ed97d693"),
            (128, "cd77acfc16d0964a4c3ef06f0678a5c88d2d610de00f7b997676fea5b4d2ae9e"),
            (200, "db057a75ef112511a720d3e712bc7299cc1a3037fc53cd8fe11197fc6df0c6dc"),
        ]
    )
    func lengths(count: Int, expected: String) {
        #expect(hex(SHA256.hash(Array(Self.pattern.prefix(count)))) == expected)
    }

    @Test("all lengths from 0 to 200: the hash of all their hashes")
    func allLengths() {
        let hashes = (0...200).flatMap { SHA256.hash(Array(Self.pattern.prefix($0))) }
        #expect(hex(SHA256.hash(hashes)) == "a0b467bb960e58387aceb2f39cbf8fbc0ca59b277b040842812d22b7c7db3ba8")
    }
}
