import { isRecord } from '@acc/contract';
import type { RunSet } from '../runs/run-set.js';
import { progressOf, type WatchedRun } from '../runs/watched-run.js';
import { describeRun, drawCurves, type CurveRequest } from './describe.js';

/** An answer in JSON. */
export interface Answer {
  readonly status: number;
  readonly body: object;
}

const MOST_PIXELS = 8192;
/** An operator's shapes and layer are in each event, so more steps make long files. */
const MOST_STEPS = 20;

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
    case '/api/window':
    case '/api/memory':
      return windowAnswer(await runs.open(query.get('run') ?? ''), path, query);
    default:
      return wrong(404, 'There is nothing at this address.');
  }
}

/** Hands the request of a person to a running job. */
export async function ask(runs: RunSet, given: unknown): Promise<Answer> {
  const { run: id, ask: what, steps } = isRecord(given) ? given : {};
  const run = await runs.open(String(id));
  if (!run?.job) return wrong(404, 'acc monitor is not attached to this run.');
  if (what !== 'stacks' && what !== 'window') return wrong(400, 'Expected ask: stacks or window.');
  const isCount = typeof steps === 'number' && Number.isInteger(steps) && steps >= 1 && steps <= MOST_STEPS;
  if (what === 'window' && !isCount) return wrong(400, `A window has 1 to ${MOST_STEPS} steps.`);
  const refusal =
    what === 'stacks' ? await run.job.askStacks() : await run.job.askWindow(progressOf(run), Number(steps));
  if (refusal !== undefined) return wrong(409, refusal);
  return ok({});
}

async function windowAnswer(
  run: WatchedRun | undefined,
  path: string,
  query: URLSearchParams,
): Promise<Answer> {
  const id = Number(query.get('id'));
  const answer =
    path === '/api/memory' ? run?.windows.memory(id, Number(query.get('rank'))) : await drawn(run, id, query);
  return answer ? ok(answer) : wrong(404, 'There is no such window.');
}

async function drawn(run: WatchedRun | undefined, id: number, query: URLSearchParams) {
  const view = viewOf(query);
  return view && run?.windows.draw(id, { width: view.width, ...view.range });
}

const ok = (body: object): Answer => ({ status: 200, body });
const wrong = (status: number, message: string): Answer => ({ status, body: { message } });

/** Undefined: a part is missing or wrong. */
function curveRequest(query: URLSearchParams): CurveRequest | undefined {
  const axis = query.get('axis');
  const view = viewOf(query);
  return view && (axis === 'step' || axis === 'seconds') ? { axis, ...view } : undefined;
}

/** The columns of pixels, and the part that they show. Undefined: one is missing or wrong. */
function viewOf(query: URLSearchParams): Omit<CurveRequest, 'axis'> | undefined {
  const width = Number(query.get('width'));
  const isWhole = !query.has('from') && !query.has('to');
  const [from, to] = [Number(query.get('from') ?? NaN), Number(query.get('to') ?? NaN)];
  if (!Number.isInteger(width) || width < 1 || width > MOST_PIXELS) return undefined;
  if (!isWhole && !(from < to && Number.isFinite(to - from))) return undefined;
  return { width, range: isWhole ? undefined : { from, to } };
}
