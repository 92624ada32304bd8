import { createConvnet, type ConvnetSizes } from './convnet.js';
import { createGpt, type GptSizes } from './gpt.js';
import { createLstm, type LstmSizes } from './lstm.js';
import { createMlp, type MlpSizes } from './mlp.js';
import type { BenchModel, Tf } from './model.js';
import { createResnet, type ResnetSizes } from './resnet.js';

/** The sizes of a model, as `workloads.json` states them. */
export type Sizes = ConvnetSizes | GptSizes | LstmSizes | MlpSizes | ResnetSizes;

const creators: Record<string, (tf: Tf, sizes: never) => BenchModel> = {
  convnet: createConvnet,
  gpt: createGpt,
  'gpt-plain': createGpt,
  lstm: createLstm,
  mlp: createMlp,
  resnet: createResnet,
};

/** @throws Error when no model has that name. */
export function createModel(tf: Tf, name: string, sizes: Sizes): BenchModel {
  const create = creators[name];
  if (!create)
    throw new Error(`There is no model '${name}'. The models are ${Object.keys(creators).join(', ')}.`);
  return create(tf, sizes as never);
}
