import { ownerLines } from './memory-owners.js';
import type { Profile } from './profile-result.js';

/** Rows of the table of operators. */
const MOST_ROWS = 20;

/** A profile as text. */
export function reportOf(
  profile: Omit<Profile, 'toString'>,
  { rank, size, traceEnd }: { readonly rank: number; readonly size: number; readonly traceEnd: number },
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
    `Peak of allocated tensors: ${(memory.peakBytes / 2 ** 20).toFixed(1)} MiB${memory.owners ? ', held by:' : ''}`,
    ...(memory.owners ? ownerLines(memory.owners) : []),
    '',
    ...tableLines(profile),
    '',
    ...layerLines(profile),
    ...(trace === undefined ? [] : ['', `Trace: ${trace} (open it in Perfetto)`]),
    ...(trace === undefined ? [] : cutLines(traceEnd)),
  ].join('\n');
}

/** @param end The end of the last step in the trace. Infinity for a whole trace, -Infinity without a step. */
function cutLines(end: number): string[] {
  if (end === Infinity) return [];
  return end === -Infinity
    ? ['  It is empty: the first step alone has more than a million operators.']
    : ['  It ends with the last step before the millionth operator.'];
}

function flopLines({ flops, mfu, peak, stepMs }: Omit<Profile, 'toString'>): string[] {
  const giga = (count: number) => (count / 1e9).toPrecision(4);
  const hidden =
    flops.hidden > 0 ? `, of them ${giga(flops.hidden)} for positions that causal attention hides` : '';
  return [
    `FLOPs of products in a step: ${giga(flops.model)} G for the model${hidden}; ${giga(flops.hardware)} G with recomputation`,
    `MFU: ${percent(mfu).trim()} = ${giga(flops.model)} GFLOP / ${stepMs.toFixed(3)} ms / ${giga(peak.flopsPerSecond)} GFLOP/s`,
    `  (peak: ${peak.dtype} products of ${peak.size} × ${peak.size} on ${peak.threads} threads, measured ${ageOf(peak.measuredAt)})`,
    `Copies reach ${giga(peak.bytesPerSecond)} GB/s.`,
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

function layerLines({ layers }: Omit<Profile, 'toString'>): string[] {
  const rows = layers.slice(0, MOST_ROWS).map(({ layer, forwardMs, backwardMs, share, gigaflops }) => {
    const flops = gigaflops > 0 ? `  ${gigaflops.toPrecision(4)} GFLOP` : '';
    return `${number(forwardMs, 10)} + ${number(backwardMs, 0)} ms ${percent(share)} ${layer}${flops}`;
  });
  return ['Layers of a step, forward + backward:', ...rows];
}

/** How long ago something was measured. */
function ageOf(measuredAt: number): string {
  const minutes = (Date.now() - measuredAt) / 60_000;
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${Math.round(minutes)} minutes ago`;
  return minutes < 2 * 24 * 60
    ? `${Math.round(minutes / 60)} hours ago`
    : `${Math.round(minutes / 1440)} days ago`;
}

const number = (value: number, width: number): string => value.toFixed(3).padStart(width);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);
