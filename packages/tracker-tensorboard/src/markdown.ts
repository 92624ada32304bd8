import type { TrackedTable } from '@acc/contract';

/** Formats a table as Markdown, which TensorBoard renders in text. */
export function markdownTable({ columns, rows }: TrackedTable): string {
  const cell = (value: unknown) =>
    String(value ?? '')
      .replaceAll('|', '\\|')
      .replace(/\s*\n\s*/g, ' ');
  const line = (cells: readonly unknown[]) => `| ${cells.map(cell).join(' | ')} |\n`;
  return line(columns) + line(columns.map(() => '---')) + rows.map(line).join('');
}
