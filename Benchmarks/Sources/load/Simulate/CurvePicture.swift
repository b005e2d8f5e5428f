import Foundation

/// Curves over two logarithmic axes, as an SVG that is readable on white and on black.
struct CurvePicture {
    struct Curve {
        var name: String
        var colour: String
        var points: [(x: Double, y: Double)]
    }

    var title: String
    var description: String
    var xLabel: String
    var yLabel: String
    var xRange: ClosedRange<Double>
    var yRange: ClosedRange<Double>
    /// Values of the vertical axis that have a line, and their names.
    var yTicks: [(Double, String)]
    var curves: [Curve]

    private let left = 60.0
    private let top = 30.0
    private let width = 520.0
    private let height = 300.0

    private func x(_ value: Double) -> Double { left + width * share(value, xRange) }
    private func y(_ value: Double) -> Double { top + height * (1 - share(value, yRange)) }

    private func share(_ value: Double, _ range: ClosedRange<Double>) -> Double {
        let value = min(max(value, range.lowerBound), range.upperBound)
        return log(value / range.lowerBound) / log(range.upperBound / range.lowerBound)
    }

    var svg: String {
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 390" width="800" height="390" role="img"
                 aria-labelledby="title description" font-family="-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">
              <title id="title">\(title)</title>
              <desc id="description">\(description)</desc>
              <!-- Made by `load simulate curves`. -->
              <style>
                .axis { stroke: #768390; stroke-width: 1; }
                .grid { stroke: #768390; stroke-width: 0.5; stroke-dasharray: 3 4; }
                .note { font-size: 13px; fill: #6e7781; }
                .curve { fill: none; stroke-width: 2.5; }
                @media (prefers-color-scheme: dark) { .note { fill: #9ea7b3; } }
              </style>
            """
        ]
        for power in 1...4 where xRange.contains(pow(10, Double(power))) {
            let value = pow(10, Double(power))
            lines.append(line("grid", x(value), top, x(value), top + height))
            lines.append(text(Int(value).formatted(.number.grouping(.never)), x(value), top + height + 20, "middle"))
        }
        for (value, name) in yTicks {
            lines.append(line("grid", left, y(value), left + width, y(value)))
            lines.append(text(name, left - 8, y(value) + 4, "end"))
        }
        lines.append(line("axis", left, top + height, left + width, top + height))
        lines.append(line("axis", left, top, left, top + height))
        lines.append(text(xLabel, left + width / 2, top + height + 44, "middle"))
        lines.append(text(yLabel, left, top - 12, "start"))
        var lastLabel = -Double.infinity
        for curve in curves.sorted(by: { y($0.points.last?.y ?? 0) < y($1.points.last?.y ?? 0) }) {
            let path = curve.points.map { "\(Self.short(x($0.x))),\(Self.short(y($0.y)))" }.joined(separator: " ")
            lines.append(#"  <polyline class="curve" stroke="\#(curve.colour)" points="\#(path)"/>"#)
            let place = max(y(curve.points.last?.y ?? 0) + 4, lastLabel + 18)
            lastLabel = place
            lines.append(text(curve.name, left + width + 10, place, "start", curve.colour))
        }
        return lines.joined(separator: "\n") + "\n</svg>\n"
    }

    private func line(_ kind: String, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        let (x1, y1, x2, y2) = (Self.short(x1), Self.short(y1), Self.short(x2), Self.short(y2))
        return #"  <line class="\#(kind)" x1="\#(x1)" y1="\#(y1)" x2="\#(x2)" y2="\#(y2)"/>"#
    }

    private func text(_ text: String, _ x: Double, _ y: Double, _ anchor: String, _ colour: String? = nil) -> String {
        let style = colour.map { #" style="fill: \#($0)""# } ?? ""
        let place = #"x="\#(Self.short(x))" y="\#(Self.short(y))" text-anchor="\#(anchor)""#
        return #"  <text class="note" \#(place)\#(style)>\#(text)</text>"#
    }

    private static func short(_ number: Double) -> String { String(format: "%.1f", number) }
}
