"""A plot of medians as an SVG: bars, with a whisker from the 25th to the 95th percentile."""
import html
import math

LABEL, BAR, ROW, HEAD, RIGHT = 230, 520, 24, 46, 150
COLOURS = {"cloche": "#2563a8", "other": "#8a8f98"}


def ticks(limit):
    step = 10 ** math.floor(math.log10(limit))
    for part in (0.2, 0.5, 1, 2):
        if limit / (step * part) <= 6:
            break
    return [i * step * part for i in range(int(limit / (step * part)) + 1)]


def text(x, y, words, **more):
    attributes = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in more.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{html.escape(words)}</text>'


def panel(top, title, rows):
    """rows: (label, {median_ms, p25_ms, p95_ms, ratio}, ours). Gives the lines and the height."""
    # One slow contestant must not flatten the others; what does not fit is cut, and its figure says so.
    medians = sorted(figures["median_ms"] for _, figures, _ in rows)
    limit = min(max(figures["p95_ms"] for _, figures, _ in rows), 4 * medians[len(medians) // 2] + medians[0])
    limit = max(limit, medians[0]) * 1.05
    place = lambda ms: LABEL + BAR * min(ms, limit) / limit
    bottom = top + HEAD + ROW * len(rows)
    out = [text(12, top + 22, title, font_size=15, font_weight="bold")]
    for tick in ticks(limit):
        out.append(f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{top + HEAD - 8}" y2="{bottom}" stroke="#e3e5e8"/>')
        out.append(text(place(tick), bottom + 16, f"{tick:g} ms", text_anchor="middle", fill="#666"))
    for number, (label, figures, ours) in enumerate(rows):
        y = top + HEAD + ROW * number
        middle = y + 8
        colour = COLOURS["cloche" if ours else "other"]
        low, high = place(figures["p25_ms"]), place(figures["p95_ms"])
        out.append(text(LABEL - 8, middle + 4, label, text_anchor="end"))
        out.append(f'<rect x="{LABEL}" y="{y}" width="{place(figures["median_ms"]) - LABEL:.1f}" height="16" fill="{colour}"/>')
        out.append(f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8" '
                   'stroke="#222" fill="none"/>')
        out.append(text(LABEL + BAR + 12, middle + 4, f'{figures["median_ms"]:.2f} ms  (× {figures["ratio"]:.2f})'))
    return out, HEAD + ROW * len(rows) + 34


def write(path, title, note, panels):
    lines, top = [], 58
    for name, rows in panels:
        drawn, height = panel(top, name, rows)
        lines += drawn
        top += height
    width = LABEL + BAR + RIGHT
    with open(path, "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
                'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n')
        f.write(text(12, 26, title, font_size=18, font_weight="bold") + "\n" + text(12, 45, note, fill="#666") + "\n")
        f.write("\n".join(lines) + "\n</svg>\n")
