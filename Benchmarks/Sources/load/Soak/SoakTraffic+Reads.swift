import FleetChecker
import Strata

extension SoakTraffic {
    /// Reads as `get` does, and takes the trace along where there is more to tell than a hit in memory.
    func read(_ key: Int) async {
        let cache = caches.cache(of: key)
        let room = SoakRoom.of(key, settings).rawValue
        counters.add("\(room).gets")
        let start = HistoryClock.now()
        if let resident = cache.resident(key, at: .coarse) {
            counters.add("\(room).hits")
            return log.got(key, since: start, Reading(resident.value, from: .memory))
        }
        do {
            let (value, trace) = try await cache.getWithTrace(key)
            log.got(key, since: start, Reading(value, from: level(of: trace), marks: marks(of: trace)))
        } catch {
            log.failed(key, since: start)
            counters.note("get", error)
        }
    }

    /// Reads with options; a value that may not be given for their sake is a miss and says nothing.
    func read(_ key: Int, _ options: ReadOptions) async {
        let cache = caches.cache(of: key)
        let start = HistoryClock.now()
        do {
            let (value, trace) = try await cache.getWithTrace(key, options)
            if let what = SoakOptions.breach(options, hasValue: value != nil, trace) { counters.breach(what) }
            guard value != nil || options == .ordinary || options == .reload else {
                return log.missed(key, since: start)
            }
            log.got(key, since: start, Reading(value, from: level(of: trace), marks: marks(of: trace)))
        } catch {
            log.failed(key, since: start)
            counters.note("get with options", error)
        }
    }

    /// Reads several keys by one call, which tells nothing of single values: those that it marks are left out.
    func read(_ keys: [Int]) async {
        let cache = caches.cache(of: keys[0])
        let start = HistoryClock.now()
        do {
            let entries = try await cache.entries(for: keys, ReadRequest())
            for (key, entry) in zip(keys, entries) {
                guard let entry else { continue }
                var marks: ReadMarks = .together
                if entry.isSuspect { marks.insert(.suspect) }
                if !entry.isFresh(at: .now) { marks.insert(.stale) }
                log.got(key, since: start, Reading(entry.value, from: .unknown, marks: marks))
            }
        } catch {
            for key in keys { log.failed(key, since: start, marks: .together) }
            counters.note("get several", error)
        }
    }

    func level(of trace: ReadTrace) -> ReadLevel {
        if trace.hasWaited { return .flight }
        return switch trace.origin {
        case .memory: .memory
        case .redis: .redis
        case .source: .source
        default: .unknown
        }
    }

    func marks(of trace: ReadTrace) -> ReadMarks {
        switch trace.state {
        case .stale: .stale
        case .suspect: .suspect
        default: []
        }
    }
}
