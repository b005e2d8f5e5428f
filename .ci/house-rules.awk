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

FNR == 1 { proof = 0; exempt = 0 }

FNR == 401 && FILENAME ~ /^Sources\// { finding("above 400 lines: look for the second idea inside") }

/^[ \t]*\/\// {
    if ($0 ~ /Proof|Sendable:/) { proof = 1 }
    if (tolower($0) ~ /never sent/) { exempt = 1 }
    next
}

{
    code = $0
    if (tolower(code) ~ /\/\/.*never sent/) { exempt = 1 }
    # Not after a colon or a quote, so that the // of a URL stays.
    sub(/(^|[ \t])\/\/.*$/, "", code)

    module = imported(code)
    if (module == "CHiredis" && FILENAME !~ /^Sources\/StrataRedis\/Wire\//) {
        finding("CHiredis is imported in Sources/StrataRedis/Wire and nowhere else")
    }
    if (module == "COpenSSL" && FILENAME !~ /^Sources\/StrataRedis\/Wire\/TLS\//) {
        finding("COpenSSL is imported in Sources/StrataRedis/Wire/TLS and nowhere else")
    }
    if (module ~ /^_?NIO/ && FILENAME ~ /^Sources\/Strata(Redis|Disk|Testing)?\//) { finding("no NIO here") }
    if (module ~ /^Strata/ && FILENAME ~ /^Sources\/Strata\//) { finding("the bottom imports no sibling") }
    if (module ~ /^Strata(Redis|Testing)/ && FILENAME ~ /^Sources\/Strata(Disk|HTTP)\//) {
        finding("this room may import Strata only")
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

    if (code ~ /@unchecked[ \t]+Sendable/ && !proof) {
        finding("@unchecked Sendable without a comment above that proves it (\"Proof: …\" or \"Sendable: …\")")
    }

    # An attribute on its own line stands between a comment and its declaration without parting them.
    if (code !~ /^[ \t]*@[A-Za-z_]+(\([^)]*\))?[ \t]*$/) { proof = 0; exempt = 0 }
}

END { exit found }
