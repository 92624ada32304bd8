import type { Configuration, ConfiguredOption } from '@acc/config';
import pc from 'picocolors';

/** Formats where the value of each option comes from. */
export function formatExplanation({ file, options }: Configuration): string {
  const title = file ? `config file: ${file.path} (${file.origin})` : 'config file: none';
  const rows = options.map((option) => [nameOf(option), valueOf(option), option.origin] as const);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(([name, value, origin]) =>
    `${name.padEnd(widths[0]!)}  ${value.padEnd(widths[1]!)}  ${origin === 'default' ? pc.dim(origin) : origin}`.trimEnd(),
  );
  return [title, 'Options of the program and of the command line come before these.', '', ...lines, ''].join(
    '\n',
  );
}

const nameOf = ({ section, name }: ConfiguredOption) => (section === 'launch' ? `launch.${name}` : name);

function valueOf({ value, fallback }: ConfiguredOption): string {
  if (value === undefined) return fallback;
  return Array.isArray(value) ? value.join(', ') : String(value);
}
