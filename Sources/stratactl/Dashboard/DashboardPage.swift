#if Dashboard
import Hummingbird
import Mustache
import Strata
import StrataRedis

/// The pages as templates; whatever is put into them is escaped.
enum DashboardPage {
    private static let top = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{{title}} · Strata</title>
        <link rel="stylesheet" href="/assets/dashboard.css">
        <script src="/assets/dashboard.js" defer></script>
        </head>
        <body>
        <a class="skip" href="#main">Skip to content</a>
        <header>
        <strong>Strata</strong>
        {{#csrf}}
        <nav aria-label="Pages"><a href="/">Keyspaces</a> <a href="/doctor">Doctor</a></nav>
        <form method="post" action="/logout"><input type="hidden" name="csrf" value="{{csrf}}"><button>Log out</button></form>
        {{/csrf}}
        </header>
        <main id="main" tabindex="-1">
        <h1>{{title}}</h1>

        """
    private static let bottom = "</main></body></html>\n"

    private static let parts: [String: String] = [
        "login": """
        {{#trouble}}<p class="warning" role="alert">{{trouble}}</p>{{/trouble}}
        <form method="post" action="/login" class="box">
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
        <button>Log in</button>
        </form>
        <p>The token is in the file that the dashboard was started with, or in what it printed.</p>
        """,
        "trouble": """
        <p class="warning" role="alert">{{text}}</p>
        <p><a href="/">Back to the keyspaces</a></p>
        """,
        "keyspaces": """
        <p>Redis at {{place}}.</p>
        {{^rows}}<p>No keyspace holds anything under the prefix “{{prefix}}”.</p>{{/rows}}
        <div class="scroll"><table>
        <thead><tr><th scope="col">Keyspace</th><th scope="col">Values</th><th scope="col">Leases</th><th scope="col">About</th></tr></thead>
        <tbody>{{#rows}}<tr><th scope="row"><a href="/keyspace?name={{link}}">{{name}}</a></th><td>{{values}}</td><td>{{leases}}</td><td>{{bytes}}</td></tr>
        {{/rows}}</tbody></table></div>
        """,
        "keyspace": """
        <form action="/why" class="box">
        <input type="hidden" name="name" value="{{name}}">
        <label for="key">Why does a read of a key get what it gets?</label>
        <input id="key" name="key" required autocomplete="off" spellcheck="false">
        <button>Explain</button>
        </form>
        <p>{{#verifies}}The consistency of the instances is being measured. <a href="/keyspace?name={{link}}">Stop that</a>.{{/verifies}}
        {{^verifies}}<a href="/keyspace?name={{link}}&amp;verify=1">Measure the consistency</a>: asks the instances about up to 20 changes a second.{{/verifies}}
        <a href="/doctor?name={{link}}">Doctor</a></p>
        <div id="live" data-stream="/stream?name={{link}}{{#verifies}}&amp;verify=1{{/verifies}}" data-why="/why?name={{link}}&amp;key=">
        <p id="state" role="status">Waiting for the first figures …</p>
        <noscript><p class="warning">Live figures need JavaScript; the other pages do not.</p></noscript>
        <section aria-labelledby="h-rates"><h2 id="h-rates">Rates</h2><div id="charts" class="charts"></div></section>
        <section aria-labelledby="h-fleet"><h2 id="h-fleet">Instances</h2><div class="scroll" id="instances"></div></section>
        <section aria-labelledby="h-hot"><h2 id="h-hot">Hottest keys</h2><ul id="hottest"></ul></section>
        <section aria-labelledby="h-leases"><h2 id="h-leases">Leases</h2><div class="scroll" id="leases"></div></section>
        {{#verifies}}<section aria-labelledby="h-nines"><h2 id="h-nines">Consistency</h2><div class="scroll" id="nines"></div></section>{{/verifies}}
        <section aria-labelledby="h-events"><h2 id="h-events">Changes</h2><button id="pause" type="button" aria-pressed="false">Pause</button><ol id="events" reversed></ol></section>
        </div>
        """,
        "why": """
        <p>In keyspace <a href="/keyspace?name={{link}}">{{name}}</a>.</p>
        <dl>{{#fields}}<dt>{{name}}</dt>{{#lines}}<dd>{{.}}</dd>{{/lines}}
        {{/fields}}</dl>
        {{#removes}}<p><a class="danger" href="/remove?name={{link}}&amp;key={{keyLink}}">Remove this key …</a></p>{{/removes}}
        """,
        "remove": """
        {{#trouble}}<p class="warning" role="alert">{{trouble}}</p>{{/trouble}}
        <p>The key <code>{{key}}</code> of the keyspace <code>{{name}}</code> is removed from Redis and from the memory of all
        instances, as by <code>stratactl remove</code>. {{presence}}</p>
        <form method="post" action="/remove" class="box">
        <input type="hidden" name="csrf" value="{{csrf}}">
        <input type="hidden" name="name" value="{{name}}">
        <input type="hidden" name="key" value="{{key}}">
        <label for="token">The token, once more</label>
        <input id="token" name="token" type="password" autocomplete="off" required>
        <button class="danger">Remove</button> <a href="/why?name={{link}}&amp;key={{keyLink}}">Cancel</a>
        </form>
        """,
        "removed": """
        <p role="status">{{text}}</p>
        <p><a href="/why?name={{link}}&amp;key={{keyLink}}">What a read gets now</a> · <a href="/keyspace?name={{link}}">The keyspace</a></p>
        """,
        "doctor": """
        <p>{{place}}: {{summary}}.</p>
        <ul class="findings">{{#findings}}<li class="{{severity}}"><strong>{{severity}}</strong> {{check}}: {{line}}{{#advice}}<br>→ {{advice}}{{/advice}}</li>
        {{/findings}}</ul>
        """,
    ]

    private static let templates: [String: MustacheTemplate] = {
        var templates: [String: MustacheTemplate] = [:]
        for (name, part) in parts {
            do { templates[name] = try MustacheTemplate(string: top + part + bottom) } catch {
                preconditionFailure("the template \(name) is wrong: \(error)")
            }
        }
        return templates
    }()

    /// A page.
    ///
    /// - Parameters:
    ///   - name: The template.
    ///   - title: What it is about.
    ///   - session: The session that its forms belong to; `nil` before the login.
    ///   - content: What it shows.
    ///   - status: The status of the response.
    /// - Returns: The response.
    static func show(
        _ name: String,
        _ title: String,
        for session: DashboardSessions.Session?,
        _ content: [String: Any] = [:],
        status: HTTPResponse.Status = .ok
    ) -> Response {
        var content = content
        content["title"] = title
        if let session { content["csrf"] = session.formToken }
        let text = templates[name]?.render(content) ?? ""
        return Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    static func trouble(_ title: String, _ text: String, status: HTTPResponse.Status) -> Response {
        show("trouble", title, for: nil, ["text": text.isEmpty ? title : text], status: status)
    }

    /// A text as it stands in the query of a link.
    static func link(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += "%" + Hexadecimal.text([byte])
            }
        }
        return result
    }
}
#endif
