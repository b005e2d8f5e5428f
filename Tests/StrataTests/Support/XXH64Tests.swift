import Strata
import Testing

/// Expected values are those of the reference implementation by Yann Collet.
@Suite("XXH64")
struct XXH64Tests {
    /// The bytes `i × 167 + 13`, of which every prefix is hashed.
    private static let pattern = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }

    @Test(
        "texts, without a seed",
        arguments: [
            ("", 0xef46_db37_51d8_e999), ("a", 0xd24e_c4f1_a98c_6e5b), ("abc", 0x44bc_2cf5_ad77_0999),
            ("message digest", 0x066e_d728_fcee_b3be), ("abcdefghijklmnopqrstuvwxyz", 0xcfe1_f278_fa89_835c),
            ("strata:products:v:{42}", 0x05b1_f1ef_2bdb_a342),
        ] as [(String, UInt64)]
    )
    func texts(text: String, expected: UInt64) {
        #expect(XXH64.hash(Array(text.utf8)) == expected)
    }

    @Test(
        "lengths around every branch, with three seeds",
        arguments: [
            (0, 0xef46_db37_51d8_e999, 0xd5af_ba13_36a3_be4b, 0x6ec6_d05f_61c7_e7a7),
            (1, 0x2078_e1ad_38ad_738b, 0x8772_18c0_886c_3aa1, 0xb601_b1be_c4b5_5220),
            (3, 0x634d_95fc_01a1_89cd, 0x4f79_f691_95dd_defe, 0x7e33_ffd3_f6ee_cdd4),
            (4, 0xeed3_4090_8a1a_c6c6, 0x0ede_8620_8f01_287b, 0x913c_e248_42fa_69a6),
            (7, 0x0da4_9362_1d6d_c898, 0xd3f4_1c9d_9100_5926, 0x8f17_7470_925a_20b2),
            (8, 0x76f9_16c7_bb52_3126, 0x3f6e_3203_6d62_145e, 0x8bbd_4541_b20e_f43a),
            (12, 0xfb52_f89a_1dc4_49d2, 0xa6a5_6407_6991_d60f, 0xc939_fa86_d874_ad54),
            (31, 0x65c5_feb0_1da7_464d, 0x7af1_d5c3_bf10_2c57, 0x629a_b907_a4a5_c258),
            (32, 0x7665_c921_c9bf_2ec7, 0x4d8c_71d9_fd95_35cd, 0xc1e8_448a_ca8c_e154),
            (33, 0xb5a9_d9ef_259a_e821, 0xfaa0_58ec_508d_bfe0, 0xaf73_4324_8f39_7363),
            (63, 0xb028_9cd9_3240_34f0, 0x3f66_50fb_b316_493a, 0xcc4a_478c_d9b8_2e7a),
            (64, 0xfff2_525c_99bf_2005, 0xa1e8_c806_8065_a557, 0x113b_1f11_3228_b740),
            (127, 0x48b9_95c6_6a54_ba1c, 0x82bd_a17b_4bae_91ec, 0x7911_cbc2_36f7_1ec9),
            (1_000, 0x6264_43c8_029d_0542, 0xc868_28d1_c94b_3f0a, 0xe67a_1af9_abbf_3ba6),
            (65_537, 0xf946_8dab_862f_8d73, 0xe180_cc83_77b5_3b3c, 0xf328_0824_5006_cd48),
        ] as [(Int, UInt64, UInt64, UInt64)]
    )
    func lengths(count: Int, unseeded: UInt64, one: UInt64, golden: UInt64) {
        let bytes = Array(Self.pattern.prefix(count))
        #expect(XXH64.hash(bytes) == unseeded)
        #expect(XXH64.hash(bytes, seed: 1) == one)
        #expect(XXH64.hash(bytes, seed: 0x9e37_79b1_85eb_ca87) == golden)
    }

    @Test("all lengths from 0 to 999, each seeded with the hash before it")
    func chain() {
        var hash: UInt64 = 0
        for count in 0..<1_000 { hash = XXH64.hash(Array(Self.pattern.prefix(count)), seed: hash) }
        #expect(hash == 0x73e2_603b_9b2e_a205)
    }

    @Test("memory that is aligned to nothing hashes like any other")
    func unaligned() {
        let bytes = Array(Self.pattern.prefix(200))
        for offset in 0..<9 {
            let shifted = [UInt8](repeating: 0, count: offset) + bytes
            let hash = shifted.withUnsafeBytes { XXH64.hash(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
            #expect(hash == XXH64.hash(bytes))
        }
        #expect(XXH64.hash(UnsafeRawBufferPointer(start: nil, count: 0)) == 0xef46_db37_51d8_e999)
    }
}
