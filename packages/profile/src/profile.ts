import { AccError } from '@acc/contract';
import { addFlops, NO_FLOPS } from '@acc/kernels';
import type { ResolvedProfileOptions } from './options.js';
import type { Peak } from './peak.js';
import { reportOf } from './report.js';
import type { Session } from './session.js';
import type { Profile, ProfilerContext } from './profile-result.js';
import { writeTraces } from './trace.js';

interface Surroundings extends ProfilerContext {
  readonly options: ResolvedProfileOptions;
  /** Called once, after the steps. */
  readonly peak: () => Peak;
}

/** @throws AccError `ACC_INVALID_OPTION` if `fn` took no active step; the errors of `writeTrace`. */
export function profileOf(session: Session, surroundings: Surroundings): Profile {
  const { rank, size, options } = surroundings;
  const { schedule, traceDir } = options;
  const steps = session.ends.length;
  if (steps < schedule.active) throw tooFewSteps(session.steps, schedule);
  const ms = session.ends.at(-1)! - session.begin;
  const stepMs = ms / steps;
  // Ranks that write traces of different sizes would not measure at the same time.
  const peak = surroundings.peak();
  const { spans } = session;
  const { end: traceEnd } = spans;
  const kept = session.memory.samples.filter(({ at }) => at <= traceEnd);
  const content = { rank, size, spans: spans.all, memory: kept };
  const traces = traceDir === undefined ? undefined : writeTraces(traceDir, content);
  const table = session.operators.rows(steps);
  const flops = addFlops(NO_FLOPS, session.operators.flops, 1 / steps);
  const mfu = flops.model / (stepMs / 1000) / peak.flopsPerSecond;
  const { peakBytes, owners, samples: timeline } = session.memory;
  const memory = { peakBytes, owners, timeline };
  const figures = {
    steps,
    stepMs,
    parts: session.parts.parts(ms, steps),
    table,
    layers: session.layers.rows(steps),
    flops,
    mfu,
    peak,
    memory,
    trace: traces?.perfetto,
    chromeTrace: traces?.chrome,
  };
  return { ...figures, toString: () => reportOf(figures, { rank, size, traceEnd }) };
}

function tooFewSteps(steps: number, { wait, warmup, active }: ResolvedProfileOptions['schedule']): AccError {
  const needed = wait + warmup + active;
  return new AccError(
    'ACC_INVALID_OPTION',
    `profile: fn took ${steps} optimizer steps; the schedule needs ${needed} (wait ${wait}, warmup ${warmup}, active ${active}).`,
    { help: 'Train for more steps in fn, await what it starts, or give a shorter schedule.' },
  );
}
