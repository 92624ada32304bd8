import { InvalidArgumentError } from 'commander';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Parses a size in bytes. @throws InvalidArgumentError for an invalid size. */
export function parseSize(text: string): number {
  const [, digits, unit = 'B'] = /^(\d+(?:\.\d+)?)\s*([KMGT]?B)?$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * 1000 ** UNITS.indexOf(unit.toUpperCase()));
  if (bytes > 0) return bytes;
  throw new InvalidArgumentError('Expected a size such as 500MB or 5GB.');
}

export function formatSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}
