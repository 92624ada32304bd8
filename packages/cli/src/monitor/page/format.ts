const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
const DIGITS = 4;

/** A figure with its unit: `56.12 ms`, `1.3 GB`. */
export function withUnit(value: number, unit: string): string {
  if (unit === 'B') return bytes(value);
  return unit === '' ? plain(value) : `${plain(value)} ${unit}`;
}

/** Without a unit, at most four digits before an exponent begins. */
export function plain(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replace('e+', 'e');
  if (size >= 10 ** DIGITS) return Math.round(value).toLocaleString('en');
  return Number(value.toPrecision(DIGITS)).toString();
}

function unitIndex(value: number): number {
  const power = value > 0 ? Math.floor(Math.log10(value) / 3) : 0;
  return Math.min(Math.max(power, 0), BYTE_UNITS.length - 1);
}

function bytes(value: number): string {
  const index = unitIndex(value);
  return `${Number((value / 1000 ** index).toPrecision(3))} ${BYTE_UNITS[index]}`;
}

/** The labels of an axis: with as many decimals as their distance needs, and the same unit of bytes. */
export function axisLabels(values: readonly number[], distance: number, unit: string): string[] {
  const most = Math.max(...values.map(Math.abs));
  if (unit !== 'B' && most > 0 && (most < 1e-3 || most >= 1e7)) {
    const digits = Math.max(1, Math.ceil(Math.log10(most / distance)));
    return values.map((value) => (value === 0 ? '0' : value.toExponential(digits).replace('e+', 'e')));
  }
  const index = unit === 'B' ? unitIndex(most) : 0;
  const scale = 1000 ** index;
  const decimals = Math.max(0, Math.ceil(-Math.log10(distance / scale) - 1e-9));
  const name = unit === 'B' ? ` ${BYTE_UNITS[index]}` : '';
  return values.map((value) => (value / scale).toFixed(decimals) + name);
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

/** `3 min ago`. */
export function ago(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.floor(hours)} h ago` : `${Math.floor(hours / 24)} days ago`;
}
