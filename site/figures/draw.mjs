// Shapes of the site's figures. Colours are variables of the theme, so that figures follow it.

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A drawing of `width` × `height` units; a figure is about 480 wide to be readable on a phone. */
export function drawing(width, height, label, shapes) {
  return [
    `<svg viewBox="0 0 ${width} ${height}" style="max-width: ${Math.round(width * 1.35)}px" role="img" aria-label="${escaped(label)}" xmlns="http://www.w3.org/2000/svg">`,
    '<defs><marker id="arrowhead" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="fig-arrowhead"/></marker></defs>',
    ...shapes.flat(Infinity),
    '</svg>',
  ].join('');
}

/** A box with lines of text in its middle. `kind` is one of the classes `fig-…` of the theme. */
export function box({ x, y, width, height, kind = 'plain', text = '', size = 13 }) {
  const lines = text === '' ? [] : text.split('\n');
  const first = y + height / 2 - ((lines.length - 1) * (size + 3)) / 2;
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4" class="fig-box fig-${kind}"/>`,
    ...lines.map((line, i) =>
      label({ x: x + width / 2, y: first + i * (size + 3), text: line, size, anchor: 'middle' }),
    ),
  ];
}

/** One line of text. `y` is its middle. */
export function label({ x, y, text, size = 13, anchor = 'start', kind = '' }) {
  return `<text x="${x}" y="${y}" font-size="${size}" text-anchor="${anchor}" dominant-baseline="central" class="fig-text ${kind && `fig-${kind}`}">${escaped(text)}</text>`;
}

/** A line through points. `heads` is where arrowheads are: 'end', 'both' or 'none'. */
export function arrow(points, { heads = 'end', isDashed = false } = {}) {
  const path = points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('');
  const end = heads === 'none' ? '' : ' marker-end="url(#arrowhead)"';
  const start = heads === 'both' ? ' marker-start="url(#arrowhead)"' : '';
  return `<path d="${path}" class="fig-line${isDashed ? ' fig-dashed' : ''}"${end}${start}/>`;
}

/** A frame without a filling, around things that belong together. */
export function frame({ x, y, width, height, kind = '' }) {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" class="fig-frame ${kind && `fig-frame-${kind}`}"/>`;
}

export const range = (count) => Array.from({ length: count }, (_, i) => i);
