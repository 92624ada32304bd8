import { percent } from '../percent.js';
import type { SizeFigures, Spread, Study } from './study.js';

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function ratesTable({ sizes }: Study): Table {
  const header = ['ranks', 'ms a step', 'samples/s', 'speed-up', 'efficiency', 'Karp-Flatt'];
  const rows = sizes.map((size) => [
    `${size.ranks}`,
    spread(size.stepMs, (ms) => ms.toPrecision(3)),
    spread(size.samplesPerSecond, (rate) => rate.toFixed(rate < 100 ? 1 : 0)),
    size.speedUp.toFixed(2),
    percent(size.efficiency),
    size.karpFlatt === null ? '-' : percent(size.karpFlatt),
  ]);
  return { header, rows };
}

const spread = ({ median, low, high }: Spread, text: (value: number) => string): string =>
  `${text(median)} (${text(low)}-${text(high)})`;

/** The parts of a step of each number of ranks whose parts are known. */
export function sharesTable(sizes: readonly SizeFigures[]): Table {
  const header = [
    ...['ranks', 'computation', 'exposed communication', 'waits for slower ranks', 'all waits'],
    ...['batches', 'checkpoints', 'own code', 'MiB sent by a rank'],
  ];
  const rows = sizes.flatMap(({ ranks, shares, bytesSent }) => {
    if (!shares) return [];
    const { compute, communication, imbalance, data, saves, loop } = shares;
    const parts = [compute, communication, imbalance, communication + imbalance, data, saves, loop];
    return [[`${ranks}`, ...parts.map(percent), (bytesSent / 2 ** 20).toFixed(2)]];
  });
  return { header, rows };
}

export function lawsTable({ amdahl, gustafson, usl }: Study): Table {
  const rows: string[][] = [];
  if (amdahl)
    rows.push(['Amdahl: X(n) = X(1) / (s + (1 - s) / n)', serialText(amdahl), percent(amdahl.error)]);
  if (gustafson)
    rows.push(['Gustafson: X(n) = X(1) (s + (1 - s) n)', serialText(gustafson), percent(gustafson.error)]);
  if (usl) {
    const { contention, coherency, peak, error } = usl;
    const highest = peak === null ? '' : `, highest rate on ${peak.toPrecision(2)} ranks`;
    const parameters = `σ = ${contention.toFixed(3)}, κ = ${coherency.toPrecision(2)}${highest}`;
    rows.push(['USL: X(n) = X(1) n / (1 + σ (n - 1) + κ n (n - 1))', parameters, percent(error)]);
  }
  return { header: ['law', 'parameters', 'error'], rows };
}

const serialText = ({ serial }: { readonly serial: number }): string => `s = ${serial.toFixed(3)}`;
