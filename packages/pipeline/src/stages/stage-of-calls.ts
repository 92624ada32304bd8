import { AccError, nearestName } from '@acc/contract';
import type { GraphCall, GraphLayer } from '@acc/tfjs-internals';

/**
 * The stage of each call. A layer's first call is in the stage that names it. A later call, as of
 * tied embeddings, is in the first stage that has its inputs.
 *
 * @param calls The calls of the model's layers, in order, without those of its inputs.
 * @param names The names of layers, a list for each stage. Inputs of the model may be among them.
 * @throws AccError `ACC_PIPELINE_STAGES` for a name that no layer has, for a layer that is named
 * twice or not at all, and for a layer whose inputs come from a later stage.
 */
export function stagesByName(
  calls: readonly GraphCall[],
  names: readonly (readonly string[])[],
  inputNames: readonly string[],
): number[] {
  const stageOf = stageOfNames(calls, names, inputNames);
  const madeIn = new Map<number, { readonly stage: number; readonly layer: GraphLayer }>();
  const called = new Set<GraphLayer>();
  return calls.map(({ layer, inputs, outputs }) => {
    const sources = inputs.flatMap((id) => madeIn.get(id) ?? []);
    const latest = sources.reduce((a, b) => (b.stage > a.stage ? b : a), { stage: 0, layer });
    const named = stageOf.get(layer.name)!;
    if (!called.has(layer) && latest.stage > named) throw outOfOrder({ layer, stage: named }, latest);
    called.add(layer);
    const stage = Math.max(named, latest.stage);
    for (const id of outputs) if (!madeIn.has(id)) madeIn.set(id, { stage, layer });
    return stage;
  });
}

function stageOfNames(
  calls: readonly GraphCall[],
  names: readonly (readonly string[])[],
  inputNames: readonly string[],
): Map<string, number> {
  const known = new Set(calls.map(({ layer }) => layer.name));
  const stageOf = new Map<string, number>();
  names.forEach((list, stage) => {
    if (list.length === 0) throw stagesError(`stage ${stage} has no layers.`, 'Name at least one in each.');
    for (const name of list) {
      if (inputNames.includes(name)) continue;
      if (!known.has(name)) throw unknown(name, [...known]);
      const before = stageOf.get(name);
      if (before !== undefined)
        throw stagesError(
          `layer '${name}' is in stage ${before} and in stage ${stage}.`,
          'Name each layer once.',
        );
      stageOf.set(name, stage);
    }
  });
  const missing = [...known].filter((name) => !stageOf.has(name));
  if (missing.length > 0)
    throw stagesError(`no stage has ${quoted(missing)}.`, 'Name each layer of the model in one stage.');
  return stageOf;
}

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

function unknown(name: string, known: readonly string[]): AccError {
  const nearest = nearestName(name, known);
  return stagesError(
    `the model has no layer '${name}'.`,
    nearest ? `Did you mean '${nearest}'?` : `Its layers are ${quoted(known)}.`,
  );
}

function outOfOrder(
  { layer, stage }: { readonly layer: GraphLayer; readonly stage: number },
  source: { readonly layer: GraphLayer; readonly stage: number },
): AccError {
  return stagesError(
    `layer '${layer.name}' in stage ${stage} needs '${source.layer.name}', which is in stage ${source.stage}.`,
    'Put layers in the order in which the model calls them.',
  );
}

function masksEverywhere(stages: number): AccError {
  return stagesError(
    `the model cannot be divided into ${stages} stages: masks of its layers would have to leave their stages.`,
    'Use fewer stages, or mask in the loss in place of layers.',
  );
}

const stagesError = (problem: string, help: string): AccError =>
  new AccError('ACC_PIPELINE_STAGES', `stages: ${problem}`, { help });

/** Stages of the first calls. */
interface Division {
  /** The number of stages that train nothing. */
  readonly idle: number;
  /** The cost of the most expensive stage. */
  readonly most: number;
  /** The sum of the squares of their costs. */
  readonly squares: number;
  /** Where each stage but the first begins. */
  readonly bounds: readonly number[];
}

const isBetter = (a: Division, b: Division): boolean =>
  (a.idle - b.idle || a.most - b.most || a.squares - b.squares) < 0;

/**
 * Divides calls into stages so that as few stages as possible train nothing. Among such divisions, the
 * most expensive stage costs as little as possible, and then the squares of costs sum to the least.
 *
 * @param costs The cost of each call, in any unit.
 * @param trains Whether each call is the first one of a layer with trained weights.
 * @param inner The calls with which no stage may begin.
 * @throws AccError `ACC_PIPELINE_STAGES` if there are fewer calls than stages, or if too few of them
 * may begin one.
 */
export function stagesByCost(
  costs: readonly number[],
  trains: readonly boolean[],
  stages: number,
  inner: ReadonlySet<number> = new Set(),
): number[] {
  const count = costs.length;
  if (count < stages) {
    throw stagesError(
      `the model has ${count} layers, which cannot be divided into ${stages} stages.`,
      'Use a smaller axis pipeline, or a schedule with fewer stages on each rank.',
    );
  }
  const sums = prefixSums(costs);
  const trained = prefixSums(trains.map(Number));

  /** The division with one more stage, from `begin` to `end`. */
  function extended(before: Division, begin: number, end: number): Division {
    const local = sums[end]! - sums[begin]!;
    return {
      idle: before.idle + (trained[end] === trained[begin] ? 1 : 0),
      most: Math.max(before.most, local),
      squares: before.squares + local * local,
      bounds: begin === 0 ? [] : [...before.bounds, begin],
    };
  }

  const nothing: Division = { idle: 0, most: 0, squares: 0, bounds: [] };
  // The first `end` calls in one stage, then in two, and so on.
  let best: (Division | undefined)[] = sums.map((_, end) =>
    end > 0 ? extended(nothing, 0, end) : undefined,
  );
  for (let k = 1; k < stages; k++) {
    best = sums.map((_, end) => {
      const divisions = best
        .slice(0, end)
        .flatMap((before, begin) => (before && !inner.has(begin) ? extended(before, begin, end) : []));
      return divisions.reduce<Division | undefined>((a, b) => (a && !isBetter(b, a) ? a : b), undefined);
    });
  }
  const found = best[count];
  if (!found) throw masksEverywhere(stages);
  const { bounds } = found;
  return costs.map((_, i) => bounds.filter((bound) => bound <= i).length);
}

function prefixSums(numbers: readonly number[]): number[] {
  const sums = [0];
  for (const number of numbers) sums.push(sums.at(-1)! + number);
  return sums;
}
