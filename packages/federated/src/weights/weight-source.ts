import { tensor, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { packedOf } from '@acc/kernels';
import { eachWeight, layoutOf, type WeightInfo, type WeightLayout } from '../protocol/layout.js';

/** The members of `tf.LayersModel` that are used. */
export interface FederatedModel {
  readonly weights: readonly FederatedWeight[];
  readonly trainableWeights: readonly FederatedWeight[];
  getWeights(): Tensor[];
  setWeights(weights: Tensor[]): void;
}

/** The members of a weight of tfjs-layers that are used. */
export interface FederatedWeight {
  readonly originalName: string;
  /** The variable itself. */
  read(): Tensor;
}

/** The weights that a program trains: a model of tfjs-layers, or variables. */
export interface WeightsOption {
  readonly model?: FederatedModel | undefined;
  readonly variables?: readonly Variable[] | undefined;
}

/** The weights of a program, whichever kind it has. Tensors keep their owner. */
export interface WeightSource {
  readonly infos: readonly WeightInfo[];
  /** The layout of all weights, in the order of `infos`. */
  readonly layout: WeightLayout;
  /** All weights, in the order of `infos`. */
  tensors(): readonly Tensor[];
  /** Whether each of them is trained. */
  readonly isTrained: readonly boolean[];
  /** Copies values into the weights. The caller keeps the tensors. */
  assign(values: readonly Tensor[]): void;
}

/**
 * @throws AccError `ACC_INVALID_OPTION` unless exactly one of `model` and `variables` is given;
 * `ACC_FEDERATED_MODEL` for weights that cannot be averaged.
 */
export function weightSource(where: string, { model, variables }: WeightsOption): WeightSource {
  if ((model === undefined) === (variables === undefined)) {
    const given = model === undefined ? 'neither is given' : 'both are given';
    throw new AccError('ACC_INVALID_OPTION', `${where}: ${given}; expected either model or variables.`, {
      help: 'Pass `model` for a tf.LayersModel, or `variables` for a list of tf.Variable.',
    });
  }
  const source = model ? ofModel(where, model) : ofVariables(variables!);
  requireAveragable(where, source);
  return { ...source, layout: layoutOf(source.infos) };
}

type Source = Omit<WeightSource, 'layout'>;

function ofModel(where: string, model: FederatedModel): Source {
  if (typeof model.getWeights !== 'function' || !Array.isArray(model.weights) || model.weights.length === 0) {
    throw new AccError('ACC_FEDERATED_MODEL', `${where}: the model has no weights.`, {
      help: 'Pass a built tf.LayersModel. A sequential model is built if its first layer has an inputShape.',
    });
  }
  const trained = new Set(model.trainableWeights);
  return {
    infos: model.weights.map((weight) => ({ name: weight.originalName, shape: weight.read().shape })),
    tensors: () => model.weights.map((weight) => weight.read()),
    isTrained: model.weights.map((weight) => trained.has(weight)),
    assign: (values) => model.setWeights([...values]),
  };
}

function ofVariables(variables: readonly Variable[]): Source {
  return {
    infos: variables.map(({ name, shape }) => ({ name, shape })),
    tensors: () => variables,
    isTrained: variables.map(({ trainable }) => trainable),
    assign: (values) => variables.forEach((variable, i) => variable.assign(values[i]!)),
  };
}

function requireAveragable(where: string, { infos, tensors }: Source): void {
  const other = tensors().findIndex(({ dtype }) => dtype !== 'float32');
  const packed = tensors().findIndex((each) => packedOf(each));
  const names = infos.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  const problem =
    names.length === 0
      ? 'there are no weights'
      : other >= 0
        ? `'${names[other]}' has the dtype ${tensors()[other]!.dtype}; only float32 can be averaged`
        : packed >= 0
          ? `'${names[packed]}' is quantized, so it gets no averaged values`
          : twice !== undefined
            ? `two weights have the name '${twice}'`
            : undefined;
  if (problem === undefined) return;
  throw new AccError('ACC_FEDERATED_MODEL', `${where}: ${problem}.`, {
    help: 'Pass the float32 variables that all clients train, each with its own name.',
  });
}

/** The weights of a source in another order. `order` as in {@link readFlat}. */
function orderedLayout({ infos, layout }: WeightSource, order: readonly number[] | undefined) {
  if (!order) return { positions: infos.map((_, i) => i), layout };
  return { positions: order, layout: layoutOf(order.map((position) => infos[position]!)) };
}

/**
 * The weights as one vector.
 *
 * @param order The weights, by position in the source. Default: all in their order.
 */
export async function readFlat(source: WeightSource, order?: readonly number[]): Promise<Float32Array> {
  const tensors = source.tensors();
  const { positions, layout } = orderedLayout(source, order);
  // All reads begin before the first await: the values are those of one moment.
  const values = await Promise.all(positions.map((position) => tensors[position]!.data<'float32'>()));
  const flat = new Float32Array(layout.total);
  eachWeight(layout, (index, start) => flat.set(values[index]!, start));
  return flat;
}

/** Copies a vector into the weights. `order` as in {@link readFlat}. */
export function assignFlat(source: WeightSource, flat: Float32Array, order?: readonly number[]): void {
  const { positions, layout } = orderedLayout(source, order);
  const created = tensorsOf(flat, layout);
  const values: Tensor[] = [];
  positions.forEach((position, i) => (values[position] = created[i]!));
  source.assign(values);
  for (const each of created) each.dispose();
}

/** New tensors with the elements of a vector. The caller disposes them. */
export function tensorsOf(flat: Float32Array, layout: WeightLayout): Tensor[] {
  const created: Tensor[] = [];
  eachWeight(layout, (index, start, size) => {
    created.push(tensor(flat.slice(start, start + size), [...layout.weights[index]!.shape], 'float32'));
  });
  return created;
}
