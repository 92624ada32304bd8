/**
 * The rows of a table and the items of the list after it, as text, between two comments with a name. Their
 * layout is that of the formatter.
 *
 * @param page A page in Markdown.
 */
export function linesOfTable(page: string, name: string): string[] {
  const [, between = ''] = page.split(new RegExp(`<!-- /?${name} -->`));
  const lines = between.replace(/\n {2}(?=\S)/g, ' ').split('\n');
  const rows = lines.filter((line) => line.startsWith('|') && !/^\|[\s|:-]+\|$/.test(line));
  const cells = rows.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
      .join(' | '),
  );
  return [...cells, ...lines.filter((line) => line.startsWith('- '))];
}
