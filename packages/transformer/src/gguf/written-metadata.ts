import type { ResolvedLlamaConfig } from '../models/llama-config.js';
import { rotaryOf } from '../models/llama.js';
import { factorsOf } from './rope-factors.js';
import type { WrittenValue } from './write-header.js';

type Entry = readonly [key: string, value: WrittenValue];

/** The version of the layouts of blocks. */
const QUANTIZATION_VERSION = 2;

/** The metadata that llama.cpp needs for a Llama. The file has no vocabulary. */
export function metadataOf(config: ResolvedLlamaConfig, fileType: number): Entry[] {
  const { num_attention_heads: heads, hidden_size: width } = config;
  const headDim = config.head_dim ?? width / heads;
  const { theta = 10_000, scaling } = rotaryOf(config);
  const own: Entry[] = [
    ['vocab_size', { count: config.vocab_size }],
    ['context_length', { count: config.max_position_embeddings }],
    ['embedding_length', { count: width }],
    ['block_count', { count: config.num_hidden_layers }],
    ['feed_forward_length', { count: config.intermediate_size }],
    ['attention.head_count', { count: heads }],
    ['attention.head_count_kv', { count: config.num_key_value_heads ?? heads }],
    ['attention.key_length', { count: headDim }],
    ['attention.value_length', { count: headDim }],
    ['attention.layer_norm_rms_epsilon', { float: config.rms_norm_eps }],
    ['rope.dimension_count', { count: headDim }],
    ['rope.freq_base', { float: theta }],
    ...(scaling?.type === 'linear'
      ? ([
          ['rope.scaling.type', { text: 'linear' }],
          ['rope.scaling.factor', { float: scaling.factor }],
        ] as Entry[])
      : []),
  ];
  return [
    ['general.architecture', { text: 'llama' }],
    ['general.file_type', { count: fileType }],
    ['general.quantization_version', { count: QUANTIZATION_VERSION }],
    ...own.map(([key, value]): Entry => [`llama.${key}`, value]),
    ['tokenizer.ggml.model', { text: 'no_vocab' }],
  ];
}

/** The values of the tensor `rope_freqs.weight`. Undefined: the model needs none. */
export function ropeFactorsOf(config: ResolvedLlamaConfig): Float32Array | undefined {
  const { theta = 10_000, scaling } = rotaryOf(config);
  if (scaling?.type !== 'llama3') return undefined;
  const headDim = config.head_dim ?? config.hidden_size / config.num_attention_heads;
  return factorsOf(headDim / 2, theta, scaling);
}
