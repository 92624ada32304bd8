import { files, join, storageErrorOf } from '@acc/platform';
import type { Lane, Span } from './spans.js';

const CODES: Readonly<Record<string, string>> = {
  ENOSPC: 'ACC_STORAGE_FULL',
  EDQUOT: 'ACC_STORAGE_FULL',
  EACCES: 'ACC_STORAGE_DENIED',
  EROFS: 'ACC_STORAGE_DENIED',
};

/** Rows of the trace, from top to bottom. */
const LANES: readonly Lane[] = ['steps', 'phases', 'operators', 'collectives', 'garbage collection'];

/**
 * The spans of a rank as Chrome's trace events ("Trace Event Format"), with times in microseconds since
 * 1970. Ranks are processes, so traces of several ranks can be opened together.
 */
export function chromeTrace(spans: readonly Span[], rank: number, size: number): object {
  const named = LANES.map((lane, tid) => [
    { ph: 'M', name: 'thread_name', pid: rank, tid, args: { name: lane } },
    { ph: 'M', name: 'thread_sort_index', pid: rank, tid, args: { sort_index: tid } },
  ]).flat();
  return {
    displayTimeUnit: 'ms',
    distributedInfo: { rank, world_size: size },
    traceEvents: [
      { ph: 'M', name: 'process_name', pid: rank, tid: 0, args: { name: `rank ${rank}` } },
      ...named,
      ...spans.map(({ lane, name, start, ms, args }) => ({
        ...{ ph: 'X', cat: lane, name, pid: rank, tid: LANES.indexOf(lane) },
        ...{ ts: (performance.timeOrigin + start) * 1000, dur: ms * 1000 },
        ...(args && { args }),
      })),
    ],
  };
}

/**
 * Writes a trace to `folder`, and returns its path. A file of an earlier profile is replaced.
 *
 * @throws AccError `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`, `ACC_STORAGE_FAILED`.
 */
export function writeTrace(folder: string, trace: object, rank: number): string {
  const path = join(folder, `trace-rank-${rank}.json`);
  try {
    files.makeFolder(folder);
    files.replace(path, JSON.stringify(trace));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw storageErrorOf(CODES[code] ?? 'ACC_STORAGE_FAILED', `Writing ${path}`, message, error);
  }
  return path;
}
