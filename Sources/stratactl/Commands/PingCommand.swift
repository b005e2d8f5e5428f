import ArgumentParser
import StrataRedis

struct PingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Measures round trips, and shows which server answers.",
        discussion: "Of a cluster, each primary is measured."
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("How many round trips to measure, 1 to 1000.", valueName: "n"))
    var count = 10

    func validate() throws {
        guard (1...1000).contains(count) else { throw ValidationError("--count is not within 1 to 1000") }
    }

    func run() async throws {
        let (place, isCluster, results) = try await connection.withClient { redis in
            var results: [PingResult] = []
            for server in try await redis.primaries() {
                let report = try await ServerReport.take(server, samples: count)
                results.append(PingResult(report, endpoint: server.configuration.place))
            }
            return (redis.configuration.place, redis.isCluster, results)
        }
        switch output.format {
        case .table, .plain:
            for (number, result) in results.enumerated() {
                if number > 0, output.format == .table { StandardOutput.lines([""]) }
                StandardOutput.fields(result.fields, in: output.format)
            }
        case .json where isCluster: try JSONDocument.print(ClusterResult(endpoint: place, primaries: results))
        case .json: for result in results { try JSONDocument.print(result) }
        }
    }
}

private struct ClusterResult: Encodable {
    let endpoint: String
    let primaries: [PingResult]
}

private struct PingResult: Encodable {
    let endpoint: String
    let hiredis: String
    let product: String?
    let version: String?
    let mode: String?
    let role: String?
    let connectMilliseconds: Double
    let roundTripMilliseconds: [Double]

    init(_ report: ServerReport, endpoint: String) {
        self.endpoint = endpoint
        hiredis = HiredisVersion.current.description
        product = report.product
        version = report.version
        mode = report.mode
        role = report.role
        connectMilliseconds = Self.milliseconds(report.connect)
        roundTripMilliseconds = report.roundTrips.map(Self.milliseconds)
    }

    var fields: FieldList {
        func printable(_ text: String?) -> String { text.map { PrintableText.escape(Array($0.utf8)) } ?? "unknown" }
        func span(_ milliseconds: Double) -> String { TimeSpan.text(seconds: milliseconds / 1000) }
        let sorted = roundTripMilliseconds.sorted()
        var fields = FieldList()
        fields.add("endpoint", endpoint)
        fields.add("server", product == nil ? printable(nil) : "\(printable(product)) \(printable(version))")
        fields.add("mode", printable(mode))
        fields.add("role", printable(role))
        fields.add("hiredis", hiredis)
        fields.add("connect", span(connectMilliseconds))
        fields.add("round trip", "\(span(sorted[sorted.count / 2])) median of \(sorted.count)")
        fields.add("", "\(span(sorted[0])) least, \(span(sorted[sorted.count - 1])) most")
        return fields
    }

    private static func milliseconds(_ duration: Duration) -> Double {
        (TimeSpan.seconds(duration) * 1_000_000).rounded() / 1000
    }
}
