/// What is kept in `load memory`: a struct of the size that services keep, with one reference inside.
struct Product: Sendable {
    var id: Int
    var name: String
    var price: Double
    var stock: Int

    init(_ id: Int) {
        self.id = id
        name = "The product with the number \(id)"
        price = Double(id)
        stock = id
    }
}

/// A key of `load memory`, made of a number.
protocol LoadKey: Hashable, Sendable {
    static var name: String { get }
    init(number: Int)
}

extension Int: LoadKey {
    static var name: String { "int" }
    init(number: Int) { self = number }
}

extension String: LoadKey {
    static var name: String { "string" }
    init(number: Int) { self = "product:\(number)" }
}
