/// Changes of a cached list: steps that run in their order when they are applied.
///
/// ```swift
/// let actions = ListActions<Order>()
///     .addFirst(order)
///     .evictEach { $0.isCancelled }
///     .evictAll(keepingFirst: 100)
/// try await orders.apply(actions, to: customer)
/// ```
///
/// A value: nothing happens until ``AtomicLevel/apply(_:to:lifetime:tags:within:)``, and the same actions may be
/// applied to many lists. No step fails: a number that is larger than the list means all of it, one below zero none of
/// it.
///
/// Where an update begins anew, so do all steps. The closures must have no side effects.
public struct ListActions<Element: Sendable>: Sendable {
    /// A place in a list: the position, from 0, and the count of the list before this step.
    public typealias Place = @Sendable (_ position: Int, _ count: Int) -> Bool
    /// An element with its place.
    public typealias Match = @Sendable (_ position: Int, _ count: Int, _ element: Element) -> Bool

    private var steps: [@Sendable (inout [Element]) -> Void] = []

    /// No actions yet.
    public init() {}

    /// The list after all steps.
    ///
    /// O(steps × count).
    public func applied(to list: [Element]) -> [Element] {
        steps.reduce(into: list) { list, step in step(&list) }
    }

    private func then(_ step: @escaping @Sendable (inout [Element]) -> Void) -> ListActions {
        var actions = self
        actions.steps.append(step)
        return actions
    }

    /// The first positions that match; all of them, or one at most.
    private static func positions(in list: [Element], _ match: Match, isEach: Bool) -> [Int] {
        var found: [Int] = []
        for (position, element) in list.enumerated() where match(position, list.count, element) {
            found.append(position)
            if !isEach { break }
        }
        return found
    }
}

// MARK: Adding

extension ListActions {
    /// Adds an element before all others.
    public func addFirst(_ element: Element) -> ListActions { addAllFirst([element]) }

    /// Adds an element after all others.
    public func addLast(_ element: Element) -> ListActions { addAllLast([element]) }

    /// Adds elements before all others, in their order.
    public func addAllFirst(_ elements: [Element]) -> ListActions { then { $0.insert(contentsOf: elements, at: 0) } }

    /// Adds elements after all others, in their order.
    public func addAllLast(_ elements: [Element]) -> ListActions { then { $0.append(contentsOf: elements) } }

    /// Adds an element at the first place for which the closure says so.
    ///
    /// It is asked for each position from 0 to the count, which is the place after the last element. Without such a
    /// place the list stays as it is.
    public func add(_ element: Element, at place: @escaping Place) -> ListActions { addAll([element], at: place) }

    /// Adds elements at the first place for which the closure says so, in their order.
    public func addAll(_ elements: [Element], at place: @escaping Place) -> ListActions {
        then { list in
            guard let position = (0...list.count).first(where: { place($0, list.count) }) else { return }
            list.insert(contentsOf: elements, at: position)
        }
    }
}

// MARK: Evicting

extension ListActions {
    /// Takes out the first elements.
    ///
    /// - Parameters:
    ///   - number: How many; one by default.
    ///   - condition: Whether to do it, by the count of the list.
    /// - Returns: These actions and then this one.
    public func evictFirst(
        _ number: Int = 1,
        if condition: @escaping @Sendable (_ count: Int) -> Bool = { _ in true }
    ) -> ListActions {
        then { list in if condition(list.count) { list.removeFirst(min(max(0, number), list.count)) } }
    }

    /// Takes out the last elements.
    ///
    /// - Parameters:
    ///   - number: How many; one by default.
    ///   - condition: Whether to do it, by the count of the list.
    /// - Returns: These actions and then this one.
    public func evictLast(
        _ number: Int = 1,
        if condition: @escaping @Sendable (_ count: Int) -> Bool = { _ in true }
    ) -> ListActions {
        then { list in if condition(list.count) { list.removeLast(min(max(0, number), list.count)) } }
    }

    /// Takes out the first element that satisfies a condition.
    public func evict(where condition: @escaping @Sendable (Element) -> Bool) -> ListActions {
        evict { _, _, element in condition(element) }
    }

    /// Takes out the first element that satisfies a condition, with its place.
    public func evict(at match: @escaping Match) -> ListActions { evict(match, isEach: false) }

    /// Takes out each element that satisfies a condition.
    public func evictEach(where condition: @escaping @Sendable (Element) -> Bool) -> ListActions {
        evictEach { _, _, element in condition(element) }
    }

    /// Takes out each element that satisfies a condition, with its place.
    public func evictEach(at match: @escaping Match) -> ListActions { evict(match, isEach: true) }

    private func evict(_ match: @escaping Match, isEach: Bool) -> ListActions {
        then { list in
            for position in Self.positions(in: list, match, isEach: isEach).reversed() { list.remove(at: position) }
        }
    }

    /// Takes out all elements; an empty list is kept.
    public func evictAll() -> ListActions { then { $0.removeAll() } }

    /// Takes out all elements but the first.
    public func evictAll(keepingFirst number: Int) -> ListActions { then { $0 = Array($0.prefix(max(0, number))) } }

    /// Takes out all elements but the last.
    public func evictAll(keepingLast number: Int) -> ListActions { then { $0 = Array($0.suffix(max(0, number))) } }
}

// MARK: Updating

extension ListActions {
    /// Replaces the first element that satisfies a condition.
    ///
    /// - Parameters:
    ///   - condition: Which element.
    ///   - change: From the old element to the new one.
    /// - Returns: These actions and then this one.
    public func update(
        where condition: @escaping @Sendable (Element) -> Bool,
        _ change: @escaping @Sendable (Element) -> Element
    ) -> ListActions {
        update(at: { _, _, element in condition(element) }, change)
    }

    /// Replaces the first element that satisfies a condition, with its place.
    ///
    /// - Parameters:
    ///   - match: Which element.
    ///   - change: From the old element to the new one.
    /// - Returns: These actions and then this one.
    public func update(at match: @escaping Match, _ change: @escaping @Sendable (Element) -> Element) -> ListActions {
        update(match, isEach: false, change)
    }

    /// Replaces each element that satisfies a condition.
    ///
    /// - Parameters:
    ///   - condition: Which elements.
    ///   - change: From the old element to the new one.
    /// - Returns: These actions and then this one.
    public func updateEach(
        where condition: @escaping @Sendable (Element) -> Bool = { _ in true },
        _ change: @escaping @Sendable (Element) -> Element
    ) -> ListActions {
        updateEach(at: { _, _, element in condition(element) }, change)
    }

    /// Replaces each element that satisfies a condition, with its place.
    ///
    /// - Parameters:
    ///   - match: Which elements.
    ///   - change: From the old element to the new one.
    /// - Returns: These actions and then this one.
    public func updateEach(
        at match: @escaping Match,
        _ change: @escaping @Sendable (Element) -> Element
    ) -> ListActions {
        update(match, isEach: true, change)
    }

    private func update(
        _ match: @escaping Match,
        isEach: Bool,
        _ change: @escaping @Sendable (Element) -> Element
    ) -> ListActions {
        then { list in
            for position in Self.positions(in: list, match, isEach: isEach) { list[position] = change(list[position]) }
        }
    }
}
