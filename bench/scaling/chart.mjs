/** Line charts as SVG: small panels in rows and columns, readable on light and dark pages. */

const PANEL = { width: 220, height: 130 };
const MARGIN = { left: 50, right: 46, top: 30, bottom: 34 };
const CELL = {
  width: MARGIN.left + PANEL.width + MARGIN.right,
  height: MARGIN.top + PANEL.height + MARGIN.bottom,
};
const LEGEND_HEIGHT = 30;
const LINE_HEIGHT = 12;

/** Pictures have their own background, so that they are readable on any page. */
const STYLE = `
  text { font: 11px system-ui, sans-serif; stroke: none; }
  .title { font-weight: 600; }
  .line { fill: none; stroke-width: 2; }
  .dashed { stroke-dasharray: 4 4; stroke-width: 1.5; }
  .dot { stroke: none; }
${colors({ back: '#ffffff', text: '#24292f', grid: '#d0d7de', a: '#0969da', b: '#bc4c00' })}
  @media (prefers-color-scheme: dark) {
${colors({ back: '#0d1117', text: '#d1d7e0', grid: '#3d444d', a: '#58a6ff', b: '#f0883e' })}
  }`;

function colors({ back, text, grid, a, b }) {
  return `  .back { fill: ${back}; } text { fill: ${text}; } .grid { stroke: ${grid}; }
  .line.a { stroke: ${a}; } .dot.a, .label.a { fill: ${a}; } .line.b { stroke: ${b}; } .dot.b, .label.b { fill: ${b}; }`;
}

/**
 * Panels of lines over the same x values, in percent.
 *
 * @param rows Rows of panels `{title, xs, lines: [{name, color: 'a' | 'b', isDashed, ys}]}`. An
 * undefined `y` is left out.
 * @param yTitle The quantity in percent.
 * @param xTitle The quantity of the x values.
 * @param label A description of the picture for readers who cannot see it.
 */
export function drawPanels(rows, { yTitle, xTitle, label }) {
  const columns = Math.max(...rows.map((panels) => panels.length));
  const [width, height] = [columns * CELL.width, rows.length * CELL.height + LEGEND_HEIGHT];
  const top = niceCeiling(
    Math.max(...rows.flat().flatMap(({ lines }) => lines.flatMap(({ ys }) => defined(ys)))),
  );
  const panels = rows.flatMap((ofRow, row) =>
    ofRow.map((panel, column) => {
      const at = `translate(${column * CELL.width + MARGIN.left} ${row * CELL.height + LEGEND_HEIGHT + MARGIN.top})`;
      return `<g transform="${at}">${drawPanel(panel, top, xTitle)}</g>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escape(label)}">
<style>${STYLE}
</style>
<rect width="${width}" height="${height}" rx="6" class="back"/>
${drawLegend(yTitle, rows[0][0].lines)}
${panels.join('\n')}
</svg>
`;
}

function drawPanel({ title, xs, lines }, top, xTitle) {
  const x = (i) => (xs.length === 1 ? PANEL.width / 2 : (i * PANEL.width) / (xs.length - 1));
  const y = (percent) => PANEL.height * (1 - percent / top);
  const ticks = Array.from({ length: top / 25 + 1 }, (_, i) => 25 * i).filter((tick) => tick % 50 === 0);
  const grid = ticks.map(
    (tick) =>
      `<line class="grid" x2="${PANEL.width}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>` +
      text(-6, y(tick) + 4, `${tick} %`, 'text-anchor="end"'),
  );
  const xLabels = xs.map((value, i) => text(x(i), PANEL.height + 15, value, 'text-anchor="middle"'));
  return [
    text(0, -12, title, 'class="title"'),
    ...grid,
    ...xLabels,
    text(PANEL.width / 2, PANEL.height + 29, xTitle, 'text-anchor="middle"'),
    ...lines.map((line) => drawLine(line, x, y)),
    ...drawLastValues(lines, x, y),
  ].join('\n');
}

function drawLine({ color, isDashed, ys }, x, y) {
  const points = ys.flatMap((value, i) => (value === undefined ? [] : [[round(x(i)), round(y(value))]]));
  const path = `<polyline class="line ${color}${isDashed ? ' dashed' : ''}" points="${points.map((point) => point.join()).join(' ')}"/>`;
  if (isDashed) return path;
  return (
    path + points.map(([cx, cy]) => `<circle class="dot ${color}" cx="${cx}" cy="${cy}" r="3"/>`).join('')
  );
}

/** Labels beside the last points of the solid lines, without overlaps. */
function drawLastValues(lines, x, y) {
  let above = -Infinity;
  return lines
    .filter(({ isDashed, ys }) => !isDashed && ys.at(-1) !== undefined)
    .sort((one, other) => other.ys.at(-1) - one.ys.at(-1))
    .map(({ color, ys }) => {
      above = Math.max(y(ys.at(-1)) + 4, above + LINE_HEIGHT);
      return text(x(ys.length - 1) + 8, above, `${Math.round(ys.at(-1))} %`, `class="label ${color}"`);
    });
}

function drawLegend(yTitle, lines) {
  let left = MARGIN.left + widthOf(yTitle) + 20;
  const entries = lines.map(({ name, color, isDashed }) => {
    const [start, end] = [left, left + 24];
    left = end + 20 + widthOf(name);
    const line = `<line class="line ${color}${isDashed ? ' dashed' : ''}" x1="${start}" x2="${end}" y1="18" y2="18"/>`;
    return line + text(end + 6, 22, name);
  });
  return [text(MARGIN.left, 22, yTitle, 'class="title"'), ...entries].join('\n');
}

/** An estimate, because there is no renderer to ask. */
const widthOf = (string) => 6.5 * string.length;

/** The next multiple of 25, and at least 100. */
const niceCeiling = (percent) => Math.max(100, 25 * Math.ceil(percent / 25));
const defined = (ys) => ys.filter((value) => value !== undefined);
const round = (number) => Math.round(10 * number) / 10;
const escape = (string) => `${string}`.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const text = (x, y, string, attributes = '') =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escape(string)}</text>`;
