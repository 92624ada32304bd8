import { files, join, storageErrorOf } from '@acc/platform';
import { perfettoTrace, type TraceContent } from './perfetto.js';
import { LANES, type Lane, type Span } from './spans.js';

const CODES: Readonly<Record<string, string>> = {
  ENOSPC: 'ACC_STORAGE_FULL',
  EDQUOT: 'ACC_STORAGE_FULL',
  EACCES: 'ACC_STORAGE_DENIED',
  EROFS: 'ACC_STORAGE_DENIED',
};

/** Categories by which tools for Kineto's traces know the events. */
const CATEGORIES: Readonly<Record<Lane, string>> = {
  steps: 'user_annotation',
  phases: 'user_annotation',
  operators: 'kernel',
  collectives: 'kernel',
  'garbage collection': 'user_annotation',
};

/**
 * The spans of a rank as Chrome's trace events ("Trace Event Format"), with times in microseconds from
 * `baseTimeNanoseconds` on, which is since 1970. A number has too few digits for microseconds since 1970. Ranks are processes, so traces of several ranks can be opened together.
 */
export function chromeTrace({ spans, rank, size }: TraceContent): object {
  const base = quarterOf(performance.timeOrigin);
  const toMicroseconds = (at: number) => (performance.timeOrigin - base + at) * 1000;
  const named = LANES.map((lane, tid) => [
    { ph: 'M', name: 'thread_name', pid: rank, tid, args: { name: lane } },
    { ph: 'M', name: 'thread_sort_index', pid: rank, tid, args: { sort_index: tid } },
  ]).flat();
  return {
    displayTimeUnit: 'ms',
    baseTimeNanoseconds: base * 1e6,
    distributedInfo: { rank, world_size: size },
    traceEvents: [
      { ph: 'M', name: 'process_name', pid: rank, tid: 0, args: { name: `rank ${rank}` } },
      ...named,
      ...spans.map((span) => chromeEvent(span, rank, toMicroseconds)),
    ],
  };
}

/**
 * Names as in Kineto's traces, by which HolisticTraceAnalysis finds steps and communication, whatever the
 * collective engine.
 */
function kinetoName(lane: Lane, name: string): string {
  if (lane === 'collectives') return `ncclKernel ${name}`;
  return lane === 'steps' ? name.replace('step ', 'ProfilerStep#') : name;
}

/** The begin of the quarter of a year, from which Kineto counts too. The same on all ranks. */
function quarterOf(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), 3 * Math.floor(date.getUTCMonth() / 3));
}

function chromeEvent(
  { lane, name, start, ms, args }: Span,
  pid: number,
  toMicroseconds: (at: number) => number,
): object {
  const tid = LANES.indexOf(lane);
  const category = CATEGORIES[lane];
  const ts = toMicroseconds(start);
  return {
    ...{ ph: 'X', cat: category, name: kinetoName(lane, name), pid, tid },
    // An event ends where the next one begins, also after both have been rounded.
    ...{ ts, dur: toMicroseconds(start + ms) - ts },
    args: { ...args, lane, ...(category === 'kernel' && { stream: tid }) },
  };
}

/**
 * Writes the trace of a rank to `folder` in both formats, and returns the paths. Files of an earlier
 * profile are replaced.
 *
 * @throws AccError `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`, `ACC_STORAGE_FAILED`.
 */
export function writeTraces(folder: string, content: TraceContent): { perfetto: string; chrome: string } {
  const path = (extension: string) => join(folder, `trace-rank-${content.rank}.${extension}`);
  const [perfetto, chrome] = [path('pftrace'), path('json')];
  writing(perfetto, () => {
    files.makeFolder(folder);
    files.write(perfetto, perfettoTrace(content));
  });
  writing(chrome, () => files.write(chrome, JSON.stringify(chromeTrace(content))));
  return { perfetto, chrome };
}

function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw storageErrorOf(CODES[code] ?? 'ACC_STORAGE_FAILED', `Writing ${path}`, message, error);
  }
}
