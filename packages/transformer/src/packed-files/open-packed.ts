import { slice } from '@tensorflow/tfjs-core';
import type { StoredWeight } from '@acc/checkpoint';
import type { StateLayer } from '@acc/contract';
import { awq } from './awq.js';
import { bitsandbytes } from './bitsandbytes.js';
import { compressedTensors } from './compressed-tensors.js';
import { unsupportedQuantization } from './errors.js';
import { gptq } from './gptq.js';
import { Parts, type PackedWeight, type Packing } from './parts.js';
import { torchao } from './torchao.js';

type Config = Readonly<Record<string, unknown>>;

/** By the `quant_method` of a config. Each refuses what it does not read. */
const METHODS: Readonly<Record<string, (config: Config, stored: readonly StoredWeight[]) => Packing>> = {
  'compressed-tensors': compressedTensors,
  bitsandbytes,
  gptq,
  awq,
  torchao,
};

/**
 * Replaces the tensors of packed weights by the weights, float32, in the Hub's names and shapes. Other
 * tensors stay as they are.
 *
 * @param config The `quantization_config` of a config.json.
 * @throws AccError `ACC_MODEL_UNSUPPORTED`, `ACC_PACKED_WEIGHTS_INVALID`.
 */
export async function openPacked(
  stored: readonly StoredWeight[],
  config: Config,
  layer: StateLayer,
): Promise<StoredWeight[]> {
  const { quant_method: method } = config;
  if (typeof method !== 'string' || !Object.hasOwn(METHODS, method)) {
    throw unsupportedQuantization(`has the quant_method ${JSON.stringify(method)}`);
  }
  const packing = METHODS[method]!(config, stored);
  const packed = partsOf(stored, packing);
  const taken = new Set<string>();
  for (const { prefix } of packed) for (const end of packing.ends) taken.add(prefix + end);
  const opened: StoredWeight[] = stored.filter(({ name }) => !taken.has(name));
  for (const parts of packed) opened.push(weightOf(parts.prefix, await packing.open(parts, layer)));
  return opened;
}

function partsOf(stored: readonly StoredWeight[], { marker, ends }: Packing): Parts[] {
  const byName = new Map(stored.map((weight) => [weight.name, weight]));
  return stored.flatMap(({ name }) => {
    if (!name.endsWith(marker)) return [];
    const parts = new Parts(name.slice(0, -marker.length));
    for (const end of ends) {
      const part = byName.get(parts.prefix + end);
      if (part) parts.set(end, part);
    }
    return [parts];
  });
}

function weightOf(prefix: string, packed: PackedWeight): StoredWeight {
  return {
    name: `${prefix}weight`,
    shape: packed.shape,
    dtype: 'float32',
    async read(layer, box) {
      const target = layer.allocate('float32', packed.shape);
      try {
        const { buffer, byteOffset, byteLength } = target.bytes;
        await packed.fill(new Float32Array(buffer, byteOffset, byteLength / 4), layer);
      } catch (error) {
        target.dispose();
        throw error;
      }
      const whole = target.toTensor();
      if (!box || box.sizes.join() === packed.shape.join()) return whole;
      const part = slice(whole, [...box.offset], [...box.sizes]);
      whole.dispose();
      return part;
    },
  };
}
