import {
  reshape,
  slice,
  tensor,
  tidy,
  util,
  type NamedTensorMap,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  loadWeights,
  sharedRuns,
  together,
  wholeBox,
  writeModel,
  type LoadedWeights,
  type LoadWeightsOptions,
  type WeightReceiver,
  type WriteModelOptions,
} from '@acc/checkpoint';
import { AccError, type Collective, type KernelLayer, type Strategy, type TensorPart } from '@acc/contract';
import { isModel, type ModelInternals } from '@acc/tfjs-internals';

/** A model of tfjs-layers, or weights of its own. */
export type Weighted = object | readonly Variable[];

interface Parts {
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly strategy: Strategy;
}

/** A weight under the name that files have for it. */
interface NamedWeight {
  readonly name: string;
  readonly variable: Variable;
}

/** Whole weights on every rank, by name. The caller's. */
export function stateDict(model: Weighted, { strategy, collective }: Parts): NamedTensorMap {
  const wholes: NamedTensorMap = {};
  for (const { name, variable } of weightsOf(model)) {
    const parts = strategy.partsOf?.(variable);
    if (parts) Object.assign(wholes, gatherWholes(name, variable, parts, collective));
    else wholes[name] = variable.clone();
  }
  return wholes;
}

/** Writes whole weights on rank 0. Every rank calls it. */
export async function saveModel(
  model: Weighted,
  path: string,
  options: WriteModelOptions,
  parts: Parts,
): Promise<void> {
  const wholes = stateDict(model, parts);
  const { collective, kernels } = parts;
  try {
    await together(collective, async () => {
      if (collective.rank > 0) return;
      const topology = isModel(model) ? model.toJSON(null, false) : undefined;
      const weights = Object.entries(wholes).map(([name, x]) => ({ name, tensor: x }));
      await writeModel(path, { topology, weights }, options, kernels.state);
    });
  } finally {
    for (const whole of Object.values(wholes)) whole.dispose();
  }
}

/** Gives weights what files hold; each rank reads them. Every rank calls it. */
export function loadModel(
  model: Weighted,
  path: string,
  options: LoadWeightsOptions,
  { collective, kernels, strategy }: Parts,
): Promise<LoadedWeights> {
  const receivers = weightsOf(model).flatMap(({ name, variable }) => {
    const parts = strategy.partsOf?.(variable);
    return parts ? receiversOfParts(name, variable, parts) : [receiverOf(name, variable)];
  });
  return together(collective, () => loadWeights(receivers, path, options, kernels.state));
}

/** @throws AccError `ACC_INVALID_ARGUMENT` for what has no weights. */
function weightsOf(model: Weighted): NamedWeight[] {
  if (isModel(model)) {
    return (model as ModelInternals).weights.map((weight) => ({
      name: weight.originalName,
      variable: weight.read(),
    }));
  }
  if (Array.isArray(model)) {
    return (model as Variable[]).map((variable) => ({ name: variable.name, variable }));
  }
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    'Weights are those of a tf.LayersModel, or of a list of tf.Variable.',
  );
}

function receiverOf(name: string, variable: Variable): WeightReceiver {
  const { shape, dtype } = variable;
  return { name, shape, dtype, assign: (values) => variable.assign(values) };
}

/** Of a whole tensor what this rank holds of it. */
function receiversOfParts(name: string, variable: Variable, parts: readonly TensorPart[]): WeightReceiver[] {
  const { dtype } = variable;
  const names = new Map(parts.map((part) => [part.name ?? name, part.shape]));
  return Array.from(names, ([whole, shape]) => ({
    name: whole,
    shape,
    dtype,
    assign(values) {
      const from = values.dataSync();
      const held = variable.dataSync().slice();
      for (const part of parts.filter((each) => (each.name ?? name) === whole)) {
        for (const run of sharedRuns(wholeBox(shape), part)) {
          held.set(from.subarray(run.from, run.from + run.length), part.start + run.to);
        }
      }
      tidy(() => variable.assign(tensor(held, variable.shape, dtype)));
    },
  }));
}

/** Whole tensors of the parts that ranks hold in their variables of the same place. */
function gatherWholes(
  name: string,
  variable: Variable,
  parts: readonly TensorPart[],
  collective: Collective,
): NamedTensorMap {
  const partsOfRanks = collective.allGatherObject({ parts, size: variable.size });
  const all = tidy(() => collective.allGather(reshape(variable, [-1])));
  const wholes: Record<string, { shape: readonly number[]; values: Float32Array | Int32Array | Uint8Array }> =
    {};
  let first = 0;
  for (const { parts: held, size } of partsOfRanks) {
    const values = tidy(() => slice(all, [first], [size]).dataSync());
    for (const part of held) {
      const elements = util.sizeFromShape([...part.shape]);
      const whole = (wholes[part.name ?? name] ??= {
        shape: part.shape,
        values: new (values.constructor as Float32ArrayConstructor)(elements),
      });
      for (const { from, to, length } of sharedRuns(part, wholeBox(part.shape))) {
        whole.values.set(values.subarray(part.start + from, part.start + from + length), to);
      }
    }
    first += size;
  }
  all.dispose();
  const made = Object.entries(wholes).map(([whole, { shape, values }]): [string, Tensor] => [
    whole,
    tensor(values, [...shape], variable.dtype),
  ]);
  return Object.fromEntries(made);
}
