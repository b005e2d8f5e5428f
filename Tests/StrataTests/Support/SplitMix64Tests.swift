import Strata
import Testing

/// The numbers are those of the authors' reference program (Sebastiano Vigna, splitmix64.c).
@Suite("SplitMix64")
struct SplitMix64Tests {
    @Test(
        "the published sequences",
        arguments: [
            (0, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec]),
            (1, [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e, 0x71c1_8690_ee42_c90b]),
            (1_234_567, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]),
            (.max, [0xe4d9_7177_1b65_2c20, 0xe99f_f867_dbf6_82c9, 0x382f_f84c_b272_81e9]),
        ] as [(UInt64, [UInt64])]
    )
    func published(seed: UInt64, expected: [UInt64]) {
        var generator = SplitMix64(seed: seed)
        #expect(expected.indices.map { _ in generator.next() } == expected)
    }
}
