import { AccError, showValue } from '@acc/contract';
import type { SizedTensor } from '@acc/planner/memory';

export interface StoredShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/**
 * Tensors in files that are not parameters: masks, positions, rotation frequencies,
 * counters.
 */
const BUFFERS = /(?:^|\.)(?:attn\.masked_bias|rotary_emb\.inv_freq|position_ids|num_batches_tracked)$/;
/** Statistics of batch normalisation, which are held and not trained. */
const STATISTICS = /(?:^|[/.])(?:moving_mean|moving_variance|running_mean|running_var)$/;
/** Records of a quantized weight, which are held as they are stored and not trained. */
const RECORDS = /:(?:bf16|fp16|int8|int4|nf4)\.(?:tensor|row|group\d+)\.(?:first|last)$/;

/**
 * The parameters among stored tensors. Those of a quantized weight are its words, of four bytes each.
 * Buffers are left out.
 *
 * @param frozen The names of layers that are not trained.
 */
export function parametersAmong(
  stored: readonly StoredShape[],
  frozen: ReadonlySet<string> = new Set(),
): SizedTensor[] {
  return stored.flatMap(({ name, shape }) => {
    if (BUFFERS.test(name) || isCausalMask(name, shape)) return [];
    const isHeld = STATISTICS.test(name) || RECORDS.test(name);
    const isTrainable = !isHeld && !name.split('/').some((part) => frozen.has(part));
    return [{ name, shape, unit: unitOf(name), isTrainable }];
  });
}

/** GPT-2's files hold `h.0.attn.bias`, the lower triangle of `[1, 1, positions, positions]`. */
const isCausalMask = (name: string, shape: readonly number[]): boolean =>
  name.endsWith('.attn.bias') && shape.length === 4;

/** The layer of a tensor: `layers.3` of `layers.3.mlp.up.weight`, `dense_1` of `dense_1/kernel`. */
function unitOf(name: string): string {
  if (name.includes('/')) return name.slice(0, name.indexOf('/'));
  return /^.*?\.\d+(?=\.)/.exec(name)?.[0] ?? name.replace(/\.[^.]*$/, '');
}

type Json = Readonly<Record<string, unknown>>;

/**
 * The parameters that a tfjs model.json lists. Only the manifest is read, not the weight files.
 *
 * @param where The file, for messages.
 * @throws AccError `ACC_MODEL_JSON_INVALID`.
 */
export function readModelJson(json: Json, where: string): SizedTensor[] {
  const groups = json.weightsManifest;
  if (!Array.isArray(groups)) throw invalid(where, 'it has no weightsManifest');
  const stored = groups.flatMap((group: { readonly weights?: unknown } | null) => {
    if (!Array.isArray(group?.weights))
      throw invalid(where, 'a group of its weightsManifest lists no weights');
    return group.weights.map((weight: unknown) => requireShape(weight, where));
  });
  return parametersAmong(stored, frozenLayers(json.modelTopology));
}

function requireShape(weight: unknown, where: string): StoredShape {
  const { name, shape } = (weight ?? {}) as Partial<StoredShape>;
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  if (typeof name === 'string' && isShape) return { name, shape };
  throw invalid(where, `an entry of its weightsManifest is ${showValue(weight)}`);
}

/** The names of layers with `trainable: false`, at any depth of the topology. */
function frozenLayers(topology: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { name, trainable } = value as Json;
    if (trainable === false && typeof name === 'string') names.add(name);
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(topology);
  return names;
}

function invalid(where: string, problem: string): AccError {
  return new AccError('ACC_MODEL_JSON_INVALID', `${where} is not a valid model.json of tfjs: ${problem}.`, {
    help: 'Save the model again, with model.save or accelerator.saveModel.',
  });
}
