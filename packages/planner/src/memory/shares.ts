import { sum, vocabularyOf } from '../flops.js';
import type { Model } from '../model.js';
import type { Plan } from '../plan.js';
import { elementsOf } from './model-sizes.js';
import { tensorsOf } from './architecture.js';

/** The layers of each stage of a pipeline, the head and the embedding counted as a layer if that comes out even. */
export function layersOfStages(layers: number, stages: number): number[] {
  if (stages > 2 && layers % stages !== 0 && (layers + 2) % stages === 0) {
    const each = (layers + 2) / stages;
    return Array.from({ length: stages }, (_, stage) => each - (stage === 0 || stage === stages - 1 ? 1 : 0));
  }
  const [least, more] = [Math.floor(layers / stages), layers % stages];
  return Array.from({ length: stages }, (_, stage) => least + (stage < more ? 1 : 0));
}

/** The parameters of the parts of a device's share, as tensor parallelism divides them. */
export interface ShareSizes {
  readonly layer: number;
  readonly embedding: number;
  readonly head: number;
}

export const shareSizes = (model: Model, { mesh }: Plan): ShareSizes =>
  remembered(model, `share ${mesh.tensor} ${mesh.pipeline > 1}`, () => countedShares(model, mesh));

function countedShares(model: Model, { tensor, pipeline }: Plan['mesh']): ShareSizes {
  const tokens = vocabularyOf(model, tensor) * model.hidden;
  const count = (unit: string) => {
    const own = tensorsOf({ ...model, layers: 1 }).filter((each) => each.unit === unit);
    const sizes = own.map(({ name, shape }) =>
      name === 'embedding.tokens' || unit === 'head' ? tokens : elementsOf(shape) / tensor,
    );
    return sum(sizes);
  };
  // The last stage has a copy of a tied embedding.
  const head = model.isTied && pipeline > 1 ? tokens : count('head');
  return { layer: count('layers.0'), embedding: count('embedding'), head: head + count('norm') };
}

/** The parameters of each rank of a pipeline by layer, with the embedding and the head in their places. */
export const layerSizesOfRanks = (model: Model, plan: Plan): readonly (readonly number[])[] =>
  remembered(model, `ranks ${plan.mesh.tensor} ${plan.mesh.pipeline} ${plan.chunks}`, () =>
    countedRanks(model, plan),
  );

function countedRanks(model: Model, plan: Plan): number[][] {
  const { layer, embedding, head } = shareSizes(model, plan);
  const ranks = plan.mesh.pipeline;
  const stages = layersOfStages(model.layers, ranks * plan.chunks);
  return Array.from({ length: ranks }, (_, rank) => [
    ...(rank === 0 ? [embedding] : []),
    ...stages
      .filter((_, stage) => stage % ranks === rank)
      .flatMap((layers) => Array<number>(layers).fill(layer)),
    ...(rank === ranks - 1 ? [head] : []),
  ]);
}

/** The devices that divide the optimizer's state of their parameters. */
export function optimizerShards({ mesh, stage }: Plan): number {
  if (mesh.fsdp > 1) return mesh.fsdp;
  return stage === 1 || stage === 2 ? mesh.data * mesh.context : 1;
}

/** The parameters of the rank that has most. */
export const mostParameters = (model: Model, plan: Plan): number =>
  remembered(model, `most ${plan.mesh.tensor} ${plan.mesh.pipeline} ${plan.chunks}`, () =>
    Math.max(...layerSizesOfRanks(model, plan).map(sum)),
  );

/** Numbers of a model, which a search asks for thousands of times. */
const memory = new WeakMap<Model, Map<string, unknown>>();

function remembered<T>(model: Model, key: string, compute: () => T): T {
  const known = memory.get(model) ?? new Map<string, unknown>();
  memory.set(model, known);
  if (!known.has(key)) known.set(key, compute());
  return known.get(key) as T;
}
