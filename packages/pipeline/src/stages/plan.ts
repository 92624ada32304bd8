import type { Scalar, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { callsOf, type GraphCall, type GraphLayer, type LayerGraph } from '@acc/tfjs-internals';

/** The part of a model that is computed together. */
export interface Stage {
  readonly calls: readonly GraphCall[];
  /** The layers of these calls. */
  readonly layers: readonly GraphLayer[];
  /** The ids of the values that come from the stage before, including those that are passed on. */
  readonly receives: readonly number[];
  /** The ids of the values that the next stage gets. */
  readonly sends: readonly number[];
  /** The weights of its layers. */
  readonly weights: readonly Variable[];
}

/** A model in stages. */
export interface StagePlan {
  readonly stages: readonly Stage[];
  /** The ids of the inputs of the model, which every rank has. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** The calls of a model's layers, in order, without those of its inputs. */
export function layerCalls(model: LayerGraph): GraphCall[] {
  const inputs = new Set(model.inputs.map(({ id }) => id));
  const seen = new Set<number>();
  // A layer with several results is listed once for each of them.
  return callsOf(model).filter(({ outputs: [first] }) => {
    const isNew = !inputs.has(first!) && !seen.has(first!);
    seen.add(first!);
    return isNew;
  });
}

/**
 * The stages of a model.
 *
 * @param stageOf The stage of each of its {@link layerCalls}.
 * @throws AccError `ACC_PIPELINE_WEIGHT` for a weight without dims.
 */
export function planOf(model: LayerGraph, stageOf: readonly number[], count: number): StagePlan {
  const calls = layerCalls(model);
  const inputs = model.inputs.map(({ id }) => id);
  const outputs = model.outputs.map(({ id }) => id);
  const last = count - 1;
  /** The stage that makes each value, and the last one that uses it. */
  const madeIn = new Map<number, number>();
  const usedIn = new Map<number, number>(outputs.map((id) => [id, last]));
  calls.forEach((call, i) => {
    for (const id of call.outputs) if (!madeIn.has(id)) madeIn.set(id, stageOf[i]!);
    for (const id of call.inputs) usedIn.set(id, Math.max(usedIn.get(id) ?? 0, stageOf[i]!));
  });
  const crossing = (cut: number) =>
    [...madeIn].flatMap(([id, stage]) => (stage < cut && (usedIn.get(id) ?? -1) >= cut ? [id] : []));
  const stages = Array.from({ length: count }, (_, stage): Stage => {
    const local = calls.filter((__, i) => stageOf[i] === stage);
    const layers = [...new Set(local.map(({ layer }) => layer))];
    const weights = [...new Set(layers.flatMap(({ weights: all }) => all.map((weight) => weight.read())))];
    for (const layer of layers) requireDims(layer);
    return {
      calls: local,
      layers,
      receives: crossing(stage),
      sends: stage < last ? crossing(stage + 1) : [],
      weights,
    };
  });
  return { stages, inputs, outputs };
}

/** The weights that are trained. Programs may freeze layers between steps, and train them again. */
export interface TrainedWeights {
  readonly ofStages: readonly (readonly Variable[])[];
  /** In the order of the model. */
  readonly all: readonly Variable[];
}

/**
 * The weights that are trained now.
 *
 * @param asFit As `fit` does, which leaves out those of layers with `trainable: false`. `minimize`
 * trains all trainable variables: in tfjs-layers, those of a layer that was created so are among them.
 */
export function trainedWeights({ stages }: StagePlan, asFit: boolean): TrainedWeights {
  const ofStages = stages.map(({ layers, weights }) => {
    const ofLayers = new Set(layers.flatMap((layer) => layer.trainableWeights.map((each) => each.read())));
    return weights.filter((variable) => variable.trainable && (!asFit || ofLayers.has(variable)));
  });
  return { ofStages, all: [...new Set(ofStages.flat())] };
}

/** Whether each call is the first one of a layer with trained weights. */
export function trainingCalls(calls: readonly GraphCall[]): boolean[] {
  const seen = new Set<GraphLayer>();
  return calls.map(({ layer }) => {
    const isFirst = !seen.has(layer);
    seen.add(layer);
    return isFirst && layer.trainableWeights.length > 0;
  });
}

/**
 * The calls with which no stage may begin, because a mask would leave its stage.
 *
 * @param masked Whether the result of each call has a mask.
 */
export function callsWithinMasks(
  { outputs: results }: LayerGraph,
  calls: readonly GraphCall[],
  masked: readonly boolean[],
): Set<number> {
  const within = calls.flatMap(({ outputs }, i) => {
    if (!masked[i]) return [];
    const users = calls.flatMap(({ inputs }, k) => (inputs.some((id) => outputs.includes(id)) ? [k] : []));
    const isResult = results.some(({ id }) => outputs.includes(id));
    // A result that layers use, too, goes on to the last stage.
    const last = users.length > 0 && isResult ? calls.length - 1 : Math.max(i, ...users);
    return Array.from({ length: last - i }, (_, k) => i + 1 + k);
  });
  return new Set(within);
}

/** A rank holds a box of each weight in a checkpoint, which without dims cannot be empty. */
function requireDims({ name, weights }: GraphLayer): void {
  const weight = weights.map((each) => each.read()).find(({ shape }) => shape.length === 0);
  if (!weight) return;
  throw new AccError(
    'ACC_PIPELINE_WEIGHT',
    `Layer '${name}' has the weight '${weight.name}' without dims, which no rank can hold alone.`,
    { help: 'Give the weight the shape [1].', details: { layer: name, variable: weight.name } },
  );
}

/**
 * The penalties of regularizers, of layers whose weights pass. As in tfjs-layers, they count once
 * for each call of the layer.
 */
export function penaltiesOf({ stages }: StagePlan, passes: (weight: Variable) => boolean): Scalar[] {
  return stages.flatMap(({ calls }) =>
    calls.flatMap(({ layer }) => {
      const [weight] = layer.weights;
      return weight && passes(weight.read()) ? layer.calculateLosses() : [];
    }),
  );
}

/** The rank that holds each weight: that of the first stage which uses it. */
export function ownersOf({ stages }: StagePlan, ranks: number): Map<Variable, number> {
  const owners = new Map<Variable, number>();
  stages.forEach(({ weights }, stage) => {
    for (const variable of weights) if (!owners.has(variable)) owners.set(variable, stage % ranks);
  });
  return owners;
}

/** A weight that more than one rank uses. */
export interface SharedWeight {
  readonly variable: Variable;
  readonly owner: number;
  /** The other ranks that use it, ascending. */
  readonly users: readonly number[];
}

/** The weights that ranks besides their owner use, in the order of the model. */
export function sharedWeights(plan: StagePlan, ranks: number): SharedWeight[] {
  return [...ownersOf(plan, ranks)].flatMap(([variable, owner]) => {
    const using = plan.stages.flatMap(({ weights }, stage) =>
      weights.includes(variable) ? [stage % ranks] : [],
    );
    const users = [...new Set(using)].filter((rank) => rank !== owner).sort((a, b) => a - b);
    return users.length > 0 ? [{ variable, owner, users }] : [];
  });
}
