/// The release that this package is.
package enum StrataVersion {
    package static let current = "0.1.0-dev"
}
