import ArgumentParser

/// Names of faults and kinds of work as an argument has them: by commas, `none` for none.
struct SoakFaultList: ExpressibleByArgument {
    var faults: [SoakFault]

    init?(argument: String) {
        faults = []
        for name in argument.split(separator: ",") where name != "none" {
            guard let fault = SoakFault(rawValue: String(name)) else { return nil }
            faults.append(fault)
        }
    }

    static var allValueStrings: [String] { SoakFault.allCases.map(\.rawValue) + ["none"] }
}
