import type { RunSet } from '../runs/run-set.js';
import type { WatchedRun } from '../runs/watched-run.js';
import { describeRun, drawCurves, type CurveRequest } from './describe.js';

/** An answer in JSON. */
export interface Answer {
  readonly status: number;
  readonly body: object;
}

const MOST_PIXELS = 8192;

/** Answers a request for figures. */
export async function answerOf(runs: RunSet, path: string, query: URLSearchParams): Promise<Answer> {
  switch (path) {
    case '/api/runs':
      return ok({ runs: runs.summaries });
    case '/api/run': {
      const run = await runs.open(query.get('id') ?? '');
      return run ? ok(await describeRun(run)) : wrong(404, 'There is no such run.');
    }
    case '/api/curves': {
      const request = curveRequest(query);
      if (!request) return wrong(400, 'Expected axis, width, and from and to or neither.');
      const ids = (query.get('runs') ?? '').split(',');
      const found = await Promise.all(ids.map((id) => runs.open(id)));
      const known = found.filter((run): run is WatchedRun => run !== undefined);
      return known.length === ids.length
        ? ok(drawCurves(known, request))
        : wrong(404, 'There is no such run.');
    }
    default:
      return wrong(404, 'There is nothing at this address.');
  }
}

const ok = (body: object): Answer => ({ status: 200, body });
const wrong = (status: number, message: string): Answer => ({ status, body: { message } });

/** Undefined: a part is missing or wrong. */
function curveRequest(query: URLSearchParams): CurveRequest | undefined {
  const axis = query.get('axis');
  const width = Number(query.get('width'));
  const isWhole = !query.has('from') && !query.has('to');
  const [from, to] = [Number(query.get('from') ?? NaN), Number(query.get('to') ?? NaN)];
  if (axis !== 'step' && axis !== 'seconds') return undefined;
  if (!Number.isInteger(width) || width < 1 || width > MOST_PIXELS) return undefined;
  if (!isWhole && !(from < to && Number.isFinite(to - from))) return undefined;
  return { axis, width, range: isWhole ? undefined : { from, to } };
}
