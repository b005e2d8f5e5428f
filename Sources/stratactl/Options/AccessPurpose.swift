import ArgumentParser
import StrataRedis

/// What a user is for, as an argument.
enum AccessPurpose: String, ExpressibleByArgument, CaseIterable {
    case cache
    case sweep
    case replicas
    case look
    case inspect
    case remove

    var rules: AccessRules.Purpose {
        switch self {
        case .cache: .cache
        case .sweep: .sweep
        case .replicas: .replicas
        case .look: .look
        case .inspect: .inspect
        case .remove: .remove
        }
    }
}
