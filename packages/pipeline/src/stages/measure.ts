import { dispose, ones, sum, tidy, zeros, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type Collective, type RunForward } from '@acc/contract';
import type { GraphCall, LayerGraph } from '@acc/tfjs-internals';
import { costsOfGrowingBatches, type BatchSize } from './growing-batches.js';
import { layerCalls } from './plan.js';

const TIMES = 3;

export interface MeasureContext {
  /** All ranks of the job. */
  readonly collective: Collective;
  readonly runForward: RunForward;
  /** Whether this rank measures. The first rank of all does, and those that compute layers with it. */
  readonly measures: boolean;
  /** The number of ranks that each have a shard of a sequence. */
  readonly shards: number;
}

/** The measurements of each layer call. */
export interface MeasuredCalls {
  /** The time forward and backward, in milliseconds: the median of a few. */
  readonly costs: readonly number[];
  /** Whether its result has a mask. */
  readonly masked: readonly boolean[];
}

/**
 * The time that each layer call takes on a batch of zeros. All ranks call it, and all get
 * the times of the first rank. Layers run as in prediction, so no statistics change. The batch grows until its layers, not their calls, take the
 * time: see {@link costsOfGrowingBatches}.
 *
 * @throws AccError `ACC_PIPELINE_STAGES` on every rank if the model cannot run on the smallest batch.
 */
export function measureCalls(model: LayerGraph, context: MeasureContext): MeasuredCalls {
  const { collective, measures, shards } = context;
  const isOpen = model.inputs.some(({ shape }) => shape.slice(1).includes(null));
  // Of ranks with shards of a sequence, some may refuse a longer one, and the others would wait for them.
  let masked: readonly boolean[] = [];
  const costs = costsOfGrowingBatches(isOpen && shards === 1, (size) => {
    const local = measures ? attempt(() => measuredOn(size, model, context)) : {};
    // All ranks go on as the first one does.
    const { found, problem } = collective.broadcastObject<Attempt>({
      found: local.found,
      problem: local.error === undefined ? undefined : String(local.error),
    });
    if (found) {
      ({ masked } = found);
      return found.costs;
    }
    return new AccError(
      'ACC_PIPELINE_STAGES',
      `The costs of the layers could not be measured on a batch of ${size.rows} rows of zeros, with ${size.openDim} for other open dims: ${problem}`,
      { help: 'Name the layers of each stage: stages: [[…], […]].', cause: local.error },
    );
  });
  return { costs, masked };
}

interface Attempt {
  readonly found?: MeasuredCalls | undefined;
  readonly problem?: string | undefined;
}

function attempt(measure: () => MeasuredCalls): {
  readonly found?: MeasuredCalls;
  readonly error?: unknown;
} {
  try {
    return { found: measure() };
  } catch (error) {
    return { error };
  }
}

function measuredOn(
  { rows, openDim }: BatchSize,
  model: LayerGraph,
  { runForward, shards }: MeasureContext,
): MeasuredCalls {
  const ofShard = Math.max(1, Math.floor(openDim / shards));
  const values = new Map<number, Tensor>();
  const masks = new Map<number, Tensor>();
  try {
    for (const { id, shape, dtype } of model.inputs) {
      const dims = shape.map((dim, i) => dim ?? (i === 0 ? rows : ofShard));
      values.set(id, zeros(dims, dtype));
    }
    const given = new Set(values.keys());
    const calls = layerCalls(model);
    const lastUses = new Map(calls.flatMap(({ inputs }, i) => inputs.map((id) => [id, i] as const)));
    const costs = calls.map((call, i) => {
      const cost = costOf(call, { values, given, runForward });
      addMask(call, values, masks);
      for (const [id, value] of values) {
        if ((lastUses.get(id) ?? -1) > i) continue;
        value.dispose();
        values.delete(id);
      }
      return cost;
    });
    return { costs, masked: calls.map(({ outputs }) => outputs.some((id) => masks.has(id))) };
  } finally {
    dispose([...values.values(), ...masks.values()]);
  }
}

/** Adds the mask of a call's result, as a stage does. */
function addMask(
  { layer, inputs, outputs: [id] }: GraphCall,
  values: ReadonlyMap<number, Tensor>,
  masks: Map<number, Tensor>,
): void {
  if (!layer.supportsMasking) return;
  const given = inputs.map((input) => values.get(input)!);
  const ofInputs = inputs.map((input) => masks.get(input) ?? null);
  const [mask] = tidy(() => {
    const created = layer.computeMask(given, ofInputs);
    const first = Array.isArray(created) ? created[0] : created;
    // A layer may return the mask of its input.
    return first ? [first.clone()] : [];
  });
  if (mask) masks.set(id!, mask);
}

interface Measurement {
  /** The values so far that later calls use, by id. */
  readonly values: Map<number, Tensor>;
  /** The inputs of the model, which have no gradient: they may be numbers of rows to gather. */
  readonly given: ReadonlySet<number>;
  readonly runForward: RunForward;
}

/** Also adds the results of the call to the values. */
function costOf(
  { layer, inputs, outputs }: GraphCall,
  { values, given: modelInputs, runForward }: Measurement,
): number {
  const given = inputs.map((id) => values.get(id)!);
  const weights = layer.trainableWeights.map((weight) => weight.read());
  const created = inputs.filter((id) => !modelInputs.has(id)).map((id) => values.get(id)!);
  const xs = [...created.filter(({ dtype }) => dtype === 'float32'), ...weights];
  const times: number[] = [];
  for (let i = 0; i < TIMES + 1; i++) {
    const begin = performance.now();
    const results = run();
    times.push(performance.now() - begin);
    outputs.forEach((id, k) => {
      if (i === 0) values.set(id, results[k]!);
      else results[k]?.dispose();
    });
  }
  // The first run also chooses kernels.
  return times.slice(1).sort((a, b) => a - b)[Math.floor(TIMES / 2)]!;

  function run(): readonly Tensor[] {
    const pass = runForward(
      () => {
        const result = layer.apply(given);
        const tensors = (Array.isArray(result) ? result : [result]) as Tensor[];
        // A layer may return its input, which has another owner, or one tensor twice.
        return tensors.map((tensor, i) =>
          given.includes(tensor) || tensors.indexOf(tensor) < i ? tensor.clone() : tensor,
        );
      },
      xs,
      { isTrial: true },
    );
    const dys = pass.outputs.map(({ shape, dtype }) => (dtype === 'float32' ? ones(shape) : null));
    // Terms that layers add to the loss are part of what they cost.
    const grads = pass.backward(dys, 1);
    for (const each of [...pass.outputs, ...grads]) if (each) awaitValue(each);
    dispose([...dys, ...grads].filter((each) => each !== null));
    return pass.outputs;
  }
}

/** Waits until the device has computed a tensor. To copy it to the host may cost more than its layer. */
function awaitValue(tensor: Tensor): void {
  const total = sum(tensor);
  total.dataSync();
  total.dispose();
}
