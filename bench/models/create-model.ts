import { createConvnet, type ConvnetSizes } from './convnet.js';
import { createGpt, type GptSizes } from './gpt.js';
import { createMlp, type MlpSizes } from './mlp.js';
import type { BenchModel, Tf } from './model.js';

/** The sizes of the model named beside them, as `workloads.json` states them. */
export type Sizes = ConvnetSizes | GptSizes | MlpSizes;

const creators: Record<string, (tf: Tf, sizes: never) => BenchModel> = {
  convnet: createConvnet,
  gpt: createGpt,
  mlp: createMlp,
};

/** @throws Error when no model has that name. */
export function createModel(tf: Tf, name: string, sizes: Sizes): BenchModel {
  const create = creators[name];
  if (!create) throw new Error(`No model '${name}'; there are ${Object.keys(creators).join(', ')}.`);
  return create(tf, sizes as never);
}
