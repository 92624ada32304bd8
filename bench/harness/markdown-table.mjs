/** Returns a Markdown table with aligned columns. Cells and titles are strings. */
export function formatColumns(header, rows) {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const format = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const rule = format(widths.map((width) => '-'.repeat(width)));
  return [format(header), rule, ...rows.map(format)].join('\n');
}
