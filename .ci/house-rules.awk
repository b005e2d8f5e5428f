# The house rules of .ci/lint, one pass over each Swift file; a finding is printed as path:line: text.

function finding(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; found = 1 }

# The module that an import declaration names, or "".
function imported(code) {
    sub(/^[ \t]*(@[A-Za-z_]+(\([^)]*\))?[ \t]+)*/, "", code)
    sub(/^(public|package|internal|fileprivate|private)[ \t]+/, "", code)
    if (code !~ /^import[ \t]/) { return "" }
    sub(/^import[ \t]+((typealias|struct|class|enum|protocol|let|var|func)[ \t]+)?/, "", code)
    sub(/[^A-Za-z0-9_].*$/, "", code)
    return code
}

# Whether a line declares something public that needs a comment of its own. What implements a requirement of the levels'
# protocols or of the standard library's needs none: the requirement's comment holds for it.
function wants_comment(code) {
    if (code !~ /^[ \t]*(@[A-Za-z_]+(\([^)]*\))?[ \t]+)*([a-z]+[ \t]+)*public[ \t]/) { return 0 }
    if (code !~ /[ \t](func|var|let|init|struct|class|enum|protocol|actor|typealias|subscript)[ \t(?<]/) { return 0 }
    if (code ~ /[ \t]func[ \t]+(entry|entries|store|commit|remove|removeAll|invalidate|relieve|drain|resident|join|lacks)\(/) {
        return 0
    }
    if (code ~ /[ \t]func[ \t]+(fingerprint|hash|encode|==|<)[ (]/) { return 0 }
    if (code ~ /[ \t](var[ \t]+(gate|keepsTickets|origin|label|description)|typealias[ \t]+(Key|Value))[ \t:]/) { return 0 }
    return 1
}

FNR == 1 { proof = 0; exempt = 0; documented = 0; attribute = 0 }

FNR == 401 && FILENAME ~ /^Sources\// { finding("above 400 lines: look for the second idea inside") }

/^[ \t]*\/\// {
    if ($0 ~ /Proof|Sendable:/) { proof = 1 }
    if (tolower($0) ~ /never sent/) { exempt = 1 }
    if ($0 ~ /^[ \t]*\/\/\//) { documented = 1 }
    next
}

{
    code = $0
    if (tolower(code) ~ /\/\/.*never sent/) { exempt = 1 }
    # Not after a colon or a quote, so that the // of a URL stays.
    sub(/(^|[ \t])\/\/.*$/, "", code)

    if (FILENAME ~ /^Sources\// && !documented && wants_comment(code)) {
        finding("a public declaration without a comment")
    }

    # It ends a hang; what is only slow, beside other load or under a sanitizer, must not meet it.
    if (FILENAME ~ /Tests\// && code ~ /timeLimit\(/ && code !~ /timeLimit\(\.minutes\(([5-9]|[1-9][0-9]+)\)\)/) {
        finding("a time limit of less than five minutes")
    }

    module = imported(code)
    if (module == "CHiredis" && FILENAME !~ /^Sources\/StrataRedis\/Wire\//) {
        finding("CHiredis is imported in Sources/StrataRedis/Wire and nowhere else")
    }
    if (module == "COpenSSL" && FILENAME !~ /^Sources\/StrataRedis\/Wire\/TLS\//) {
        finding("COpenSSL is imported in Sources/StrataRedis/Wire/TLS and nowhere else")
    }
    if (module ~ /^_?NIO/ && FILENAME ~ /^Sources\/Strata(CBOR|Redis|Disk|Testing)?\//) { finding("no NIO here") }
    if (module ~ /^Strata/ && module != "StrataCBOR" && FILENAME ~ /^Sources\/Strata\//) {
        finding("Strata imports no sibling but StrataCBOR")
    }
    if (module ~ /^Strata/ && FILENAME ~ /^Sources\/StrataCBOR\//) { finding("the bottom imports no sibling") }
    if (module ~ /^Strata(Redis|Testing)/ && FILENAME ~ /^Sources\/Strata(Disk|HTTP)\//) {
        finding("this module may import Strata only")
    }
    if (module ~ /^Strata(Testing|Disk|HTTP)/ && FILENAME ~ /^Sources\/(StrataRedis|stratactl)\//) {
        finding("imports point down: stratactl, StrataRedis, Strata")
    }

    # KEYS[1] in a script is an argument, not the command: the word counts where it opens a literal, alone or not.
    # "// never sent" on the line or above it exempts, for a table that lists what is refused.
    if (FILENAME ~ /^Sources\// && !exempt) {
        if (code ~ /["']KEYS["' ]/) { finding("KEYS is never sent; SCAN is") }
        if (code ~ /FLUSH(ALL|DB)|["']flush(all|db)["' ]/) { finding("FLUSHALL and FLUSHDB are never sent") }
    }

    # Its hand-over is invisible to ThreadSanitizer, and slow on Linux.
    if (code ~ /(^|[^A-Za-z_])Mutex[<(]/ && FILENAME ~ /^(Sources|Tests)\//) { finding("Locked, not Mutex") }

    # The shim may corrupt the memory of a task that is cancelled in it, in release builds (swiftlang/swift#86204).
    if (code ~ /\.sleep\(for:/ && FILENAME ~ /^(Sources|Benchmarks)\//) { finding("pause(for:) or rest(for:), not sleep(for:)") }

    # Up to Swift 6.3 the runtime looks at the child's memory after its parent may have ended (swiftlang/swift#89883).
    if (code ~ /async[ \t]+let[ \t]/ && FILENAME ~ /^(Sources|Benchmarks)\//) { finding("concurrently(_:and:) or a task group, not async let") }

    if (code ~ /@unchecked[ \t]+Sendable/ && !proof) {
        finding("@unchecked Sendable without a comment above that proves it (\"Proof: …\" or \"Sendable: …\")")
    }

    # An attribute on lines of its own stands between a comment and its declaration without parting them.
    if (code ~ /^[ \t]*@[A-Za-z_]+\([ \t]*$/) { attribute = 1 }
    if (attribute) {
        if (code ~ /^[ \t]*\)[ \t]*$/) { attribute = 0 }
        next
    }
    if (code !~ /^[ \t]*@[A-Za-z_]+(\(.*\))?[ \t]*$/) { proof = 0; exempt = 0; documented = 0 }
}

END { exit found }
