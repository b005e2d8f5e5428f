/// Which of two levels hears of changes made elsewhere, and so has a gate.
@usableFromInline
enum Hearing: Sendable {
    case neither
    case upper
    case lower
    case both

    init(upper: FillGate?, lower: FillGate?) {
        self =
            switch (upper, lower) {
            case (nil, nil): .neither
            case (_, nil): .upper
            case (nil, _): .lower
            case (_, _): .both
            }
    }
}
