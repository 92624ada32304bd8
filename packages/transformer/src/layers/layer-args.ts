import { type layers } from '@tensorflow/tfjs-layers';
import type * as z from 'zod';
import { parseOptions } from '@acc/contract';

/** The arguments that every layer of tfjs-layers takes: `name`, `inputShape`, `trainable`. */
export type LayerArgs = NonNullable<ConstructorParameters<typeof layers.Layer>[0]>;

const OF_EVERY_LAYER = [
  'batchInputShape',
  'batchSize',
  // From tfjs-layers, when it loads a model.
  'customObjects',
  'dtype',
  'inputDType',
  'inputShape',
  'name',
  'trainable',
  'updatable',
  'weights',
];

/**
 * Validates the arguments of a layer and fills in defaults.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function parseArgs<S extends z.ZodObject>(layer: string, schema: S, args: object): z.output<S> {
  const isOwn = (key: string) => !OF_EVERY_LAYER.includes(key) || key in schema.shape;
  const own = Object.entries(args).filter(([key, value]) => isOwn(key) && value !== undefined);
  return parseOptions(layer, schema, Object.fromEntries(own)) as z.output<S>;
}
