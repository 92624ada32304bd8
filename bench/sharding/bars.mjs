/** Groups of bars as SVG, readable on light and dark pages. */

const BAR = { width: 34, gap: 12 };
const GROUP_GAP = 36;
const PLOT = { height: 220, left: 52, top: 78, bottom: 46, right: 20 };

const STYLE = `
  text { font: 11px system-ui, sans-serif; }
  .title { font-weight: 600; }
${colors({ back: '#ffffff', text: '#24292f', grid: '#d0d7de', parts: ['#0969da', '#54aeff', '#ddf4ff'], mark: '#bc4c00' })}
  @media (prefers-color-scheme: dark) {
${colors({ back: '#0d1117', text: '#d1d7e0', grid: '#3d444d', parts: ['#58a6ff', '#1f6feb', '#0c2d6b'], mark: '#f0883e' })}
  }`;

function colors({ back, text, grid, parts, mark }) {
  const filled = parts.map((color, i) => `.part${i} { fill: ${color}; }`).join(' ');
  return `  .back { fill: ${back}; } text { fill: ${text}; } .grid { stroke: ${grid}; }
  ${filled} .mark { stroke: ${mark}; stroke-width: 2; }`;
}

/**
 * Bars of values that include each other: the smallest is drawn last. A line marks a further value.
 *
 * @param groups `{name, bars: [{name, values, mark}]}`; `values` ascend.
 * @param labels `{title, parts, mark, label}`: `parts` names the values, `label` describes the
 * picture for readers who cannot see it.
 */
export function drawBars(groups, { title, parts, mark, label }) {
  const top = niceCeiling(
    Math.max(...groups.flatMap(({ bars }) => bars.flatMap((bar) => [...bar.values, bar.mark]))),
  );
  const y = (value) => PLOT.top + PLOT.height * (1 - value / top);
  let left = PLOT.left + GROUP_GAP / 2;
  const drawn = groups.map(({ name, bars }) => {
    const start = left;
    const each = bars.map((bar) => {
      const text = drawBar(bar, left, y);
      left += BAR.width + BAR.gap;
      return text;
    });
    const middle = (start + left - BAR.gap) / 2;
    left += GROUP_GAP - BAR.gap;
    return [
      ...each,
      textAt(middle, PLOT.top + PLOT.height + 34, name, 'text-anchor="middle" class="title"'),
    ].join('\n');
  });
  const [width, height] = [left + PLOT.right, PLOT.top + PLOT.height + PLOT.bottom];
  const ticks = Array.from({ length: 5 }, (_, i) => (top * i) / 4);
  const grid = ticks.map(
    (tick) =>
      `<line class="grid" x1="${PLOT.left}" x2="${width - PLOT.right}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>` +
      textAt(PLOT.left - 6, y(tick) + 4, round(tick), 'text-anchor="end"'),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escape(label)}">
<style>${STYLE}
</style>
<rect width="${width}" height="${height}" rx="6" class="back"/>
${drawLegend(title, parts, mark)}
${grid.join('\n')}
${drawn.join('\n')}
</svg>
`;
}

function drawBar({ name, values, mark }, left, y) {
  const bottom = PLOT.top + PLOT.height;
  const parts = values.map(
    (value, i) =>
      `<rect class="part${i}" x="${round(left)}" y="${round(y(value))}" width="${BAR.width}" height="${round(bottom - y(value))}"/>`,
  );
  const at = round(y(mark));
  return [
    ...parts.reverse(),
    `<line class="mark" x1="${round(left - 4)}" x2="${round(left + BAR.width + 4)}" y1="${at}" y2="${at}"/>`,
    textAt(left + BAR.width / 2, bottom + 16, name, 'text-anchor="middle"'),
  ].join('\n');
}

function drawLegend(title, parts, mark) {
  const entries = parts.map(
    (name, i) =>
      `<rect class="part${i}" x="${PLOT.left + 160}" y="${9 + 15 * i}" width="12" height="10"/>` +
      textAt(PLOT.left + 178, 18 + 15 * i, name),
  );
  const at = 14 + 15 * parts.length;
  const line = `<line class="mark" x1="${PLOT.left + 158}" x2="${PLOT.left + 174}" y1="${at}" y2="${at}"/>`;
  return [
    textAt(PLOT.left, 18, title, 'class="title"'),
    ...entries,
    line + textAt(PLOT.left + 178, at + 4, mark),
  ].join('\n');
}

/** A number that four steps divide well. */
function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 4, 8, 10].find((step) => step * power >= value);
}
const round = (number) => Math.round(100 * number) / 100;
const escape = (string) => `${string}`.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const textAt = (x, y, string, attributes = '') =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escape(string)}</text>`;
