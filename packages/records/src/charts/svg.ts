/** Parts of pictures as SVG, which are readable on light and dark pages. */

/** The colours of lines and bars, by their class. */
export type ChartColor = 'a' | 'b' | 'c' | 'd' | 'e' | 'f';

const LIGHT = {
  back: '#ffffff',
  text: '#24292f',
  grid: '#d0d7de',
  a: '#0969da',
  b: '#bc4c00',
  c: '#1a7f37',
  d: '#8250df',
  e: '#bf8700',
  f: '#8c959f',
};
const DARK = {
  back: '#0d1117',
  text: '#d1d7e0',
  grid: '#3d444d',
  a: '#58a6ff',
  b: '#f0883e',
  c: '#3fb950',
  d: '#bc8cff',
  e: '#d29922',
  f: '#6e7681',
};

export const LEGEND_HEIGHT = 30;

/** A whole picture. It has a background of its own, so that it is readable on any page. */
export function frame(
  { width, height, label }: { readonly width: number; readonly height: number; readonly label: string },
  content: string,
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escape(label)}">
<style>
  text { font: 11px system-ui, sans-serif; stroke: none; }
  .title { font-weight: 600; }
  .line { fill: none; stroke-width: 2; }
  .dashed { stroke-dasharray: 4 4; stroke-width: 1.5; }
  .dot { stroke: none; }
${colors(LIGHT)}
  @media (prefers-color-scheme: dark) {
${colors(DARK)}
  }
</style>
<rect width="${width}" height="${height}" rx="6" class="back"/>
${content}
</svg>
`;
}

function colors({ back, text: ofText, grid, ...ofData }: typeof LIGHT): string {
  const classes = Object.entries(ofData).map(
    ([name, color]) =>
      `.line.${name} { stroke: ${color}; } .dot.${name}, .bar.${name}, .label.${name} { fill: ${color}; }`,
  );
  return `  .back { fill: ${back}; } text { fill: ${ofText}; } .grid { stroke: ${grid}; }\n  ${classes.join('\n  ')}`;
}

/** The names of lines or bars beside their marks, in one row after a title. */
export function legend(
  at: number,
  title: string,
  entries: readonly { readonly name: string; readonly mark: (x: number) => string }[],
): string {
  let left = at + widthOf(title) + 20;
  const drawn = entries.map(({ name, mark }) => {
    const start = left;
    left += 44 + widthOf(name);
    return mark(start) + text(start + 30, 22, name);
  });
  return [text(at, 22, title, 'class="title"'), ...drawn].join('\n');
}

/** The width of the row that {@link legend} draws. */
export function widthOfLegend(at: number, title: string, names: readonly string[]): number {
  return at + widthOf(title) + 20 + names.reduce((sum, name) => sum + 44 + widthOf(name), 0);
}

/** An estimate, because there is no renderer to ask. */
export const widthOf = (string: string): number => 6.5 * string.length;

export const round = (number: number): number => Math.round(10 * number) / 10;

/** A text for HTML and SVG, also in attributes. */
export const escape = (string: string): string =>
  string.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

export const text = (x: number, y: number, string: string | number, attributes = ''): string =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escape(`${string}`)}</text>`;
