import type { TrackedTable } from '@acc/contract';

/** A table in Markdown, as TensorBoard shows text. */
export function markdownTable({ columns, rows }: TrackedTable): string {
  const cell = (value: unknown) =>
    String(value ?? '')
      .replaceAll('|', '\\|')
      .replace(/\s*\n\s*/g, ' ');
  const line = (cells: readonly unknown[]) => `| ${cells.map(cell).join(' | ')} |\n`;
  return line(columns) + line(columns.map(() => '---')) + rows.map(line).join('');
}
