#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension TwoWayTransformer where Input: LosslessStringConvertible, Output == String {
    /// Numbers, and other values that their Swift text describes completely, as that text.
    ///
    /// - Throws: On the way back, ``CacheError/Code/codec`` for text that is not a value.
    public static var lossless: TwoWayTransformer {
        TwoWayTransformer {
            $0.description
        } inverse: { text in
            guard let value = Input(text) else {
                throw CacheError(code: .codec, message: "the text is not a valid \(Input.self)")
            }
            return value
        }
    }
}

extension TwoWayTransformer {
    /// Dates, numbers and whatever else a format style can write and read, as their text.
    ///
    /// ```swift
    /// let day = TwoWayTransformer(Date.ISO8601FormatStyle().year().month().day())
    /// let price = TwoWayTransformer(Decimal.FormatStyle.Currency(code: "EUR", locale: Locale(identifier: "de_DE")))
    /// ```
    ///
    /// The styles of numbers and those with a locale are Foundation's; ISO 8601 needs FoundationEssentials only.
    ///
    /// - Parameter style: What it throws for text that it cannot read reaches the caller.
    public init<Style: ParseableFormatStyle & Sendable>(_ style: Style)
    where Style.FormatInput == Input, Style.FormatOutput == Output, Style.Strategy: Sendable {
        let strategy = style.parseStrategy
        self.init {
            style.format($0)
        } inverse: {
            try strategy.parse($0)
        }
    }
}

extension TwoWayTransformer where Input == Date, Output == String {
    /// Dates as ISO 8601 has them (RFC 3339), in whole seconds and in UTC: `2026-03-01T12:00:00Z`.
    public static var iso8601: TwoWayTransformer { TwoWayTransformer(Date.ISO8601FormatStyle()) }
}
