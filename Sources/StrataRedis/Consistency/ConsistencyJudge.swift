internal import Strata

/// Decides whether what an instance's memory holds is older than what Redis holds.
///
/// Redis is looked at, then the instance is asked, then Redis is looked at again. If both looks see the same, Redis
/// held that when memory was looked at, because no version comes back: each write has a stamp of its own. Stamps have
/// no order, so another stamp in memory proves nothing by itself: it may be newer, of a value whose store Redis has
/// refused, or that was fetched while Redis did not answer. An observation is an inconsistency for certain when memory
/// serves the entry fresh, on the strength of a link, and one of three holds:
///
/// 1. **It was superseded.** Redis was seen to hold this very stamp before the first look, which sees another or none.
///    Each stamp stands in Redis once, without a gap. So it was replaced before memory was looked at.
/// 2. **It is from before the change.** The entry was in memory when the change was made, and has another stamp than
///    Redis, or none. Every change of a key voids what memory had of it, no matter which instance made it. Two bounds
///    decide the order, both on this process's clock. The instance tells how long the entry has been there at the
///    least, so it came before (answer read − age). The monitor's link tells up to which instant all changes have been
///    told (see ``LinkMachine``), so a change that is told later was made later. If the entry came before that instant,
///    it came before the change.
/// 3. **It is void.** Memory holds the stamp that Redis holds, and the numbers in Redis, read before the instance was
///    asked, void it: its own number is below that of a tag or of the last clear.
///
/// What neither way proves is undecided, and counts neither as consistent nor as inconsistent. Three more kinds of
/// entries do not count: those that memory would not serve without asking below (void, expired, suspect), those that it
/// serves marked as stale, and those that were read while the instance's link was down and end within seconds.
///
/// The monitor looks again before it reports, so an entry that is being voided is none. What it cannot exclude:
/// instances that lie; a program that writes an older envelope back byte by byte; a failover that brings an older
/// version back, where the monitor's own link has not noticed it yet.
struct ConsistencyJudge: Sendable {
    enum Verdict: Sendable, Hashable {
        case consistent
        case inconsistent(Inconsistency.Stored, Inconsistency.Cause)
        case stale
        case suspect
        case undecided
        case unknown
    }

    let check: ConsistencySchedule.Check
    /// What Redis held before and after the instance was asked.
    let look: KeyLook
    /// What it was seen to hold before.
    let versions: [EntryVersion]
    /// When the answers were there.
    let answered: MonotonicInstant

    /// Clocks of machines differ in speed by less than a thousandth; and an entry's age is read from a coarse clock.
    private static let margin: Int64 = 50_000_000

    func verdict(on found: VersionAnswer.Key, in answer: VersionAnswer) -> Verdict {
        switch KeyFinding.State(rawValue: found.state) {
        case .absent, .expired, .voidByTag, .voidByChange: return .consistent
        case .suspect: return .suspect
        case .stale: return .stale
        case .unknown, nil: return .unknown
        case .fresh: break
        }
        if found.timed == true { return .suspect }
        if found.version != nil, found.stamp == nil { return .unknown }
        if let version = found.stamp, case .entry(version) = look.held {
            return look.isVoid ? .inconsistent(.void, cause(of: found, in: answer)) : .consistent
        }
        let isSuperseded = found.stamp.map { versions.contains($0) } ?? false
        guard isSuperseded || isOlder(found) else { return .undecided }
        let stored: Inconsistency.Stored =
            switch look.held {
            case .nothing: .nothing
            case .entry(let version): .entry(version)
            case .other: .other
            }
        return .inconsistent(stored, cause(of: found, in: answer))
    }

    /// Whether the entry came into memory before the change was made.
    private func isOlder(_ found: VersionAnswer.Key) -> Bool {
        guard check.told != .distantPast, let age = found.age, age > 0, age < 1 << 40 else { return false }
        let least = Int64(age) * 999_000 - Self.margin
        return answered.advanced(byNanoseconds: -least) < check.told
    }

    /// What the instance's trail says of the change.
    private func cause(of found: VersionAnswer.Key, in answer: VersionAnswer) -> Inconsistency.Cause {
        guard answer.told else { return .notListening }
        if answer.link != nil { return .linkLost }
        // The change was heard of here at `heard`, there perhaps somewhat earlier.
        let sinceHeard = Int(check.heard.nanoseconds(to: answered) / 1_000_000)
        let since = sinceHeard + 2000
        func isRecent(_ ago: Int?) -> Bool { ago.map { (0...since).contains($0) } ?? false }
        if isRecent(answer.listening) { return .missedInGap }
        let heard = (found.heard ?? []) + [answer.everything].compactMap { $0 }
        if heard.contains(where: { isRecent($0) }) || look.isVoid && isRecent(answer.tags) { return .heardAndKept }
        return answer.reach > sinceHeard ? .neverHeard : .unknown
    }
}
