import Foundation
import GRDB
import Synchronization

/// The database: slow, and to be spared.
final class Catalogue: Sendable {
    /// A product that takes this much longer to look up: some rows of a real database do.
    static let slowProduct = 1
    private static let slowness: Duration = .milliseconds(1_500)
    static let categories = ["books", "games", "tools", "toys"]

    private let pool: DatabasePool
    private let delay: Duration
    private let counts = Mutex<[Int: Int]>([:])

    init(path: String, delay: Duration) throws {
        self.delay = delay
        pool = try DatabasePool(path: path)
    }

    /// Creates the table, with products in it.
    static func create(path: String, products: Int = 400) throws {
        let pool = try DatabasePool(path: path)
        try pool.write { database in
            try database.create(table: "product") { table in
                table.primaryKey("id", .integer)
                table.column("name", .text).notNull()
                table.column("category", .text).notNull().indexed()
                table.column("cents", .integer).notNull()
                table.column("revision", .integer).notNull()
            }
            for id in 1...products {
                let category = categories[id % categories.count]
                try Product(id: id, name: "Product \(id)", category: category, cents: 100 + id, revision: 1)
                    .insert(database)
            }
        }
        try pool.close()
    }

    /// How often each product was looked up by this process.
    var queries: [Int: Int] { counts.withLock { $0 } }

    /// Looks products up, by one query.
    func products(_ ids: [Int]) async throws -> [Int: Product] {
        counts.withLock { counts in for id in ids { counts[id, default: 0] += 1 } }
        try await Task.sleep(for: ids.contains(Self.slowProduct) ? delay + Self.slowness : delay)
        return try await pool.read { database in
            try Product.filter(keys: ids).fetchAll(database).reduce(into: [:]) { $0[$1.id] = $1 }
        }
    }

    /// Only the revision, which is cheaper to ask for than the whole.
    func revision(of id: Int) async throws -> Int? {
        try await pool.read { try Int.fetchOne($0, sql: "SELECT revision FROM product WHERE id = ?", arguments: [id]) }
    }

    /// Changes a price.
    ///
    /// - Returns: The product as it is now; `nil` when there is none.
    func setPrice(of id: Int, to cents: Int) async throws -> Product? {
        try await pool.write { database in
            guard var product = try Product.fetchOne(database, key: id) else { return nil }
            product.cents = cents
            product.revision += 1
            try product.update(database)
            return product
        }
    }
}

extension Product: FetchableRecord, PersistableRecord {}
