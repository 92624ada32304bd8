import type { Profile } from './profile-result.js';

/** Rows of the table of operators. */
const MOST_ROWS = 20;

/** A profile as text. */
export function reportOf(
  profile: Omit<Profile, 'toString'>,
  {
    rank,
    size,
    isTraceFull,
  }: { readonly rank: number; readonly size: number; readonly isTraceFull: boolean },
): string {
  const { steps, stepMs, parts, memory, trace } = profile;
  const partLines = Object.entries(parts)
    .filter(([, ms]) => ms > 0)
    .map(([name, ms]) => `  ${name.padEnd(14)}${number(ms, 10)} ms ${percent(ms / stepMs)}`);
  return [
    `Profile of ${steps} steps on rank ${rank} of ${size}: ${stepMs.toFixed(3)} ms a step`,
    ...partLines,
    '',
    ...flopLines(profile),
    `Peak of allocated tensors: ${(memory.peakBytes / 2 ** 20).toFixed(1)} MiB`,
    '',
    ...tableLines(profile),
    ...(trace === undefined ? [] : ['', `Trace: ${trace} (open it in Perfetto)`]),
    ...(trace !== undefined && isTraceFull ? ['  It has the first million operators only.'] : []),
  ].join('\n');
}

function flopLines({ flops, mfu, peak, stepMs }: Omit<Profile, 'toString'>): string[] {
  const giga = (count: number) => (count / 1e9).toPrecision(4);
  const hidden =
    flops.hidden > 0 ? `, of them ${giga(flops.hidden)} for positions that causal attention hides` : '';
  return [
    `FLOPs of products in a step: ${giga(flops.model)} G for the model${hidden}; ${giga(flops.hardware)} G with recomputation`,
    `MFU: ${percent(mfu).trim()} = ${giga(flops.model)} GFLOP / ${stepMs.toFixed(3)} ms / ${giga(peak.flopsPerSecond)} GFLOP/s`,
    `  (peak: ${peak.dtype} products of ${peak.size} × ${peak.size} on ${peak.threads} threads, measured after the steps)`,
  ];
}

function tableLines({ table }: Omit<Profile, 'toString'>): string[] {
  const rows = table.slice(0, MOST_ROWS).map(({ name, shapes, calls, ms, share }) => {
    const count = Number.isInteger(calls) ? String(calls) : calls.toFixed(1);
    return `${number(ms, 10)} ms ${percent(share)} ${count.padStart(6)} × ${name} ${shapes}`.slice(0, 110);
  });
  const rest = table.slice(MOST_ROWS);
  const restMs = rest.reduce((sum, { ms }) => sum + ms, 0);
  const more = rest.length > 0 ? [`${number(restMs, 10)} ms in ${rest.length} other rows`] : [];
  return ['Operators of a step, those that take most time first:', ...rows, ...more];
}

const number = (value: number, width: number): string => value.toFixed(3).padStart(width);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);
