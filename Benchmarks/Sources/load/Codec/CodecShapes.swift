#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a shop keeps of a product: the struct of about 320 bytes of JSON that the budgets speak of.
struct ShopProduct: Codable, Equatable, Sendable {
    struct Dimensions: Codable, Equatable, Sendable {
        var width: Double
        var height: Double
        var depth: Double
    }

    var id: Int
    var name: String
    var description: String
    var price: Double
    var currency: String
    var tags: [String]
    var stock: [String: Int]
    var created: Date
    var dimensions: Dimensions
    var isActive: Bool
    var isFeatured: Bool

    static func sample(_ number: Int = 42) -> ShopProduct {
        ShopProduct(
            id: 1_000_000 + number,
            name: "Espresso machine \(number)",
            description: "Two boilers, rotary pump, pre-infusion.",
            price: 1249.95,
            currency: "EUR",
            tags: ["kitchen", "coffee", "steel"],
            stock: ["berlin": 12, "lyon": 3, "porto": 148],
            created: Date(timeIntervalSinceReferenceDate: 780_000_000.123_456 + Double(number)),
            dimensions: Dimensions(width: 31.5, height: 42.25, depth: 48.1),
            isActive: true,
            isFeatured: false
        )
    }
}

/// An order with customer, lines and history: about 4 KiB of JSON, four levels deep.
struct ShopOrder: Codable, Equatable, Sendable {
    struct Address: Codable, Equatable, Sendable {
        var street: String
        var city: String
        var postalCode: String
        var country: String
    }

    struct Customer: Codable, Equatable, Sendable {
        var id: UUID
        var name: String
        var email: String
        var billing: Address
        var shipping: Address?
        var preferences: [String: String]
    }

    struct Line: Codable, Equatable, Sendable {
        var sku: String
        var title: String
        var quantity: Int
        var unitPriceCents: Int
        var discountPercent: Int?
        var isBackordered: Bool
        var attributes: [String: String]
    }

    enum Event: Codable, Equatable, Sendable {
        case placed(at: Date)
        case paid(at: Date, reference: String)
        case shipped(at: Date, carrier: String, parcels: [String])
        case note(text: String)
    }

    var id: Int
    var state: String
    var placed: Date
    var customer: Customer
    var lines: [Line]
    var history: [Event]
    var totals: [String: Double]
    var isGift: Bool

    static let sample: ShopOrder = {
        let start = Date(timeIntervalSinceReferenceDate: 781_234_567.25)
        let home = Address(street: "Rua das Flores 27", city: "Porto", postalCode: "4050-262", country: "PT")
        return ShopOrder(
            id: 9_876_543_210,
            state: "shipped",
            placed: start,
            customer: Customer(
                id: UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF") ?? UUID(),
                name: "Maria Fernandes",
                email: "maria.fernandes@example.com",
                billing: home,
                shipping: Address(street: "Main Street 1", city: "Lyon", postalCode: "69001", country: "FR"),
                preferences: ["language": "pt", "newsletter": "weekly", "currency": "EUR"]
            ),
            lines: (1...20)
                .map { number in
                    Line(
                        sku: "SKU-\(10_000 + number * 37)",
                        title: "Article number \(number)",
                        quantity: number % 5 + 1,
                        unitPriceCents: number * 399,
                        discountPercent: number.isMultiple(of: 3) ? 15 : nil,
                        isBackordered: number.isMultiple(of: 7),
                        attributes: ["colour": "blue", "size": "\(number)"]
                    )
                },
            history: [
                .placed(at: start),
                .paid(at: start + 61.5, reference: "TX-55-0001-AB"),
                .shipped(at: start + 86_400, carrier: "Post", parcels: ["RR123456785PT", "RR123456799PT"]),
                .note(text: "Left with the neighbour."),
            ],
            totals: ["net": 2345.67, "tax": 539.5, "shipping": 12.9],
            isGift: false
        )
    }()
}

/// One row of a list of a thousand.
struct ShopRow: Codable, Equatable, Sendable {
    var id: Int
    var title: String
    var score: Double
    var isOpen: Bool

    static let list: [ShopRow] = (0..<1000)
        .map { number in
            ShopRow(
                id: number * 7919,
                title: "Row number \(number) of the list",
                score: Double(number) / 7,
                isOpen: number.isMultiple(of: 2)
            )
        }
}
