#if Configuration
import Strata
import Testing

@testable import StrataConfiguration

@Suite("Durations and sizes as they are written")
struct DurationTextTests {
    @Test(
        "a number with a unit, or a number of seconds",
        arguments: [
            ("500ms", Duration.milliseconds(500)), ("2s", .seconds(2)), ("5m", .seconds(300)), ("3h", .seconds(10_800)),
            ("1d", .seconds(86_400)), ("0s", .zero), ("0", .zero), ("7", .seconds(7)), ("1.5", .milliseconds(1_500)),
            ("0.25s", .milliseconds(250)), ("1.5m", .seconds(90)), ("0.001ms", .microseconds(1)),
            ("36525d", .seconds(3_155_760_000)),
        ]
    )
    func read(text: String, duration: Duration) throws {
        #expect(try DurationText.read(text) == duration)
    }

    @Test(
        "other forms are refused",
        arguments: [
            "", "s", "ms", "-1s", "+1s", "1 s", " 1s", "1s ", "1S", "1sec", "1min", "1h30m", "1e3", "1e3s", ".5s",
            "5.s", "1,5s",
            "0x10", "nan", "inf", "∞", "１s", "1ms2", "none", "PT5S", "500us", "5w",
        ]
    )
    func malformed(text: String) {
        #expect(throws: DurationText.Failure.wrongForm) { try DurationText.read(text) }
    }

    @Test(
        "too long ones are refused and never wrap around",
        arguments: ["36526d", "1e9", "99999999999999999999d", "999999999999s"]
    )
    func tooLong(text: String) {
        #expect(throws: DurationText.Failure.self) { try DurationText.read(text) }
    }

    @Test("numbers that are no seconds", arguments: [-1, -0.001, Double.nan, .infinity, 1e300])
    func noSeconds(number: Double) {
        #expect(throws: DurationText.Failure.outOfRange) { try DurationText.read(seconds: number) }
    }

    @Test("what is written is read as the same duration")
    func roundTrip() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            let unit = [1, 1_000, 60_000, 3_600_000, 86_400_000].randomElement(using: &random) ?? 1
            let duration = Duration.milliseconds(Int64.random(in: 0...400, using: &random) * Int64(unit))
            #expect(try DurationText.read(DurationText.write(duration)) == duration, "seed \(seed)")
        }
        #expect(DurationText.write(.seconds(300)) == "5m")
        #expect(DurationText.write(.seconds(90)) == "90s")
        #expect(DurationText.write(.milliseconds(1_500)) == "1500ms")
        #expect(DurationText.write(.milliseconds(100) ... .seconds(5)) == "100ms...5s")
    }

    @Test("sizes are bytes, or have a unit of 1 024")
    func sizes() {
        for (text, bytes) in [("0", 0), ("1", 1), ("64KiB", 65_536), ("16MiB", 16 << 20), ("1GiB", 1 << 30)] {
            #expect(SizeText.read(text) == bytes)
            #expect(SizeText.read(SizeText.write(bytes)) == bytes)
        }
        for text in ["", "KiB", "1KB", "1k", "-1", "1.5MiB", "1 MiB", "9999999999GiB", "99999999999999999999"] {
            #expect(SizeText.read(text) == nil, "\(text)")
        }
        #expect(SizeText.write(1_536) == "1536")
    }
}
#endif
