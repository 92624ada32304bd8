import type { ReplayedCall } from '@acc/native';
import { factsOfOperator, type CallFacts, type CallKind } from '../fusion/call-facts.js';
import { groupBy } from './group-by.js';
import { textOfLines } from './line-ranges.js';
import type { ReplayTimes } from './replay-times.js';
import type { SourcePlaces } from './source-places.js';

/** The largest number of lines of calls. */
const MAX_ROWS = 40;

const KINDS: Readonly<Record<CallKind, string>> = {
  product: 'matrix products and convolutions',
  attention: 'attention operators',
  recurrent: 'recurrent layers, products and cells',
  program: 'fused programs',
  other: 'other operators that run alone',
};

export interface Profiled {
  readonly calls: readonly ReplayedCall[];
  /** By the number of a call. Undefined if the calls are those that were recorded. */
  readonly facts: readonly CallFacts[] | undefined;
  readonly places: SourcePlaces;
  readonly times: ReplayTimes;
}

interface TimedCall extends CallFacts {
  readonly ms: number;
}

/** The time of a replay by kinds of calls and by calls, with the lines of the user's program. */
export function profileLines({ calls, facts, places, times }: Profiled): string[] {
  const timed = calls.map(({ number, ms, op, result, place }): TimedCall => {
    const known = facts?.[number] ?? factsOfOperator(op ?? 'program', result, [place]);
    return { ...known, ms };
  });
  return [
    ...totalLines(timed, times),
    'calls, those that take most time first:',
    ...callLines(timed, places, times),
  ];
}

function totalLines(calls: readonly TimedCall[], times: ReplayTimes): string[] {
  const { replays, replayMs, actionsMs } = times;
  if (replays === 0) return ['No replay was timed yet.'];
  const kinds = groupBy(calls, ({ kind }) => kind);
  const rows = [...kinds].map(
    ([kind, ofKind]) => [sumOf(ofKind), `${ofKind.length} × ${KINDS[kind]}`] as const,
  );
  const actions = [...actionsMs].map(([what, ms]) => [ms, what] as const);
  const rest = actions.reduce((left, [ms]) => left - ms, replayMs - sumOf(calls));
  return [
    `A replay takes ${replayMs.toFixed(3)} ms, the mean of the last of ${replays} replays:`,
    ...[
      ...rows.toSorted(([a], [b]) => b - a),
      ...actions,
      [rest, 'the rest: tensors in and out'] as const,
    ].map(([ms, text]) => `${timeText(ms, times)} ${text}`),
  ];
}

function callLines(calls: readonly TimedCall[], places: SourcePlaces, times: ReplayTimes): string[] {
  const groups = groupBy(calls, ({ kind, text, reason }) => JSON.stringify([kind, text, reason]));
  const rows = [...groups.values()].toSorted((a, b) => sumOf(b) - sumOf(a) || b.length - a.length);
  const lines = rows.slice(0, MAX_ROWS).flatMap((row) => linesOfRow(row, places, times));
  const left = rows.slice(MAX_ROWS).flat();
  if (left.length > 0) lines.push(`${timeText(sumOf(left), times)} ${left.length} other calls`);
  return lines;
}

function linesOfRow(row: readonly TimedCall[], places: SourcePlaces, times: ReplayTimes): string[] {
  const [{ kind, text, reason }] = row as [TimedCall];
  const numbers = new Set(row.flatMap((call) => call.places));
  const lines = textOfLines([...numbers].flatMap((place) => places.lineOf(place) ?? []));
  const what = kind === 'program' ? `fused ${text}` : text;
  return [
    `${timeText(sumOf(row), times)} ${row.length} × ${what}`,
    ...(lines === undefined ? [] : [`${INDENT} at ${lines}`]),
    ...(reason === undefined || kind !== 'other' ? [] : [`${INDENT} alone: ${reason}`]),
  ];
}

const sumOf = (calls: readonly TimedCall[]): number => calls.reduce((sum, { ms }) => sum + ms, 0);

const INDENT = ' '.repeat(22);

/** The time of a replay and its share. Blank if no replay was timed. */
function timeText(ms: number, { replays, replayMs }: ReplayTimes): string {
  if (replays === 0) return INDENT;
  return `${ms.toFixed(3).padStart(10)} ms ${((100 * ms) / replayMs).toFixed(1).padStart(6)} %`.padEnd(22);
}
