import { Session, type Profiler } from 'node:inspector/promises';
import { basename } from 'node:path';

/** The time of a part of the step, in ms per step. */
export interface PartTime {
  readonly name: string;
  readonly ms: number;
}

/** The interval between samples. Each sample interrupts the thread. */
const INTERVAL_US = 200;
const GARBAGE = '(garbage collector)';

/**
 * The time that V8's sampling profiler saw on the main thread during `run`, which calls `runSteps`
 * for `steps` steps: in native calls, in the garbage collector, and in the code of each package.
 */
export async function sampleFunctions(
  run: () => void,
  steps: number,
): Promise<{ nativeMs: number; packages: PartTime[]; functions: PartTime[] }> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.post('Profiler.start');
  run();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();

  const isInSteps = stepsOf(profile);
  const byPackage = new Sums(steps);
  const byFunction = new Sums(steps);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  profile.samples!.forEach((id, i) => {
    const { functionName, url, lineNumber } = nodes.get(id)!.callFrame;
    if (functionName !== GARBAGE && !isInSteps.has(id)) return;
    const place = placeOf(functionName, url);
    byPackage.add(place, profile.timeDeltas![i]! / 1e3);
    const name = functionName || `(line ${lineNumber + 1} of ${basename(url)})`;
    if (url) byFunction.add(`${name} in ${place.replace('JavaScript, ', '')}`, profile.timeDeltas![i]! / 1e3);
  });
  const packages = byPackage.parts();
  const nativeMs = packages.find(({ name }) => name === NATIVE)?.ms ?? 0;
  return {
    nativeMs,
    packages: packages.filter(({ name }) => name !== NATIVE),
    functions: byFunction.parts(),
  };
}

/** Functions that the loop called, without starting and stopping the profiler. */
function stepsOf({ nodes }: Profiler.Profile): ReadonlySet<number> {
  const children = new Map(nodes.map((node) => [node.id, node.children ?? []]));
  const found = new Set<number>();
  const visit = (id: number): void => {
    found.add(id);
    children.get(id)!.forEach(visit);
  };
  nodes.filter(({ callFrame }) => callFrame.functionName === 'runSteps').forEach(({ id }) => visit(id));
  return found;
}

const NATIVE = 'native';

/**
 * V8 gives no file for functions of an addon, and for few other functions. All functions of the
 * addon have the name of one of them.
 */
function placeOf(functionName: string, url: string): string {
  if (functionName === GARBAGE) return 'garbage collection';
  if (url === '') return NATIVE;
  if (url.includes('/bench/profiling/')) return 'the observer of operators';
  const [, ours] = /\/packages\/([^/]+)\//.exec(url) ?? [];
  if (ours) return `JavaScript, @acc/${ours}`;
  const [, installed] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  return installed ? `JavaScript, ${installed}` : 'JavaScript, the program and Node';
}

/** Sums by name, per step. */
class Sums {
  readonly #sums = new Map<string, number>();

  constructor(readonly steps: number) {}

  add(name: string, ms: number): void {
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + ms);
  }

  /** Sorted from the largest. */
  parts(): PartTime[] {
    return [...this.#sums].map(([name, ms]) => ({ name, ms: ms / this.steps })).sort((a, b) => b.ms - a.ms);
  }
}
