import type { ModelSizesOptions } from './options.js';

const GPT2 = { vocabulary: 50_257, sequence: 1024 };
/** The vocabulary of Megatron-LM's trainings, padded so that devices can share it. */
const MEGATRON = { vocabulary: 51_200, sequence: 2048 };
const LLAMA = { vocabulary: 32_000, sequence: 2048, gated: true };
const LLAMA_2 = { ...LLAMA, sequence: 4096 };
const LLAMA_3 = { vocabulary: 128_256, sequence: 8192, gated: true, kvHeads: 8 };

/** Sizes of published models, by name, with the sequence that they were trained on. */
export const MODELS = {
  /** Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, and the Hub's config.json. */
  gpt2: { layers: 12, hidden: 768, heads: 12, ...GPT2 },
  'gpt2-medium': { layers: 24, hidden: 1024, heads: 16, ...GPT2 },
  'gpt2-large': { layers: 36, hidden: 1280, heads: 20, ...GPT2 },
  'gpt2-xl': { layers: 48, hidden: 1600, heads: 25, ...GPT2 },
  /** Brown et al., "Language Models are Few-Shot Learners", 2020, table 2.1. */
  'gpt3-13b': { layers: 40, hidden: 5120, heads: 40, ...MEGATRON },
  gpt3: { layers: 96, hidden: 12_288, heads: 96, ...MEGATRON },
  /** Narayanan et al., SC 2021, table 1. */
  'megatron-530b': { layers: 105, hidden: 20_480, heads: 128, ...MEGATRON },
  'megatron-1t': { layers: 128, hidden: 25_600, heads: 160, ...MEGATRON },
  /** Touvron et al., "LLaMA", 2023, table 2. */
  'llama-7b': { layers: 32, hidden: 4096, heads: 32, ffn: 11_008, ...LLAMA },
  'llama-13b': { layers: 40, hidden: 5120, heads: 40, ffn: 13_824, ...LLAMA },
  'llama-33b': { layers: 60, hidden: 6656, heads: 52, ffn: 17_920, ...LLAMA },
  'llama-65b': { layers: 80, hidden: 8192, heads: 64, ffn: 22_016, ...LLAMA },
  /** Touvron et al., "Llama 2", 2023. */
  'llama-2-70b': { layers: 80, hidden: 8192, heads: 64, ffn: 28_672, ...LLAMA_2, kvHeads: 8 },
  /** Grattafiori et al., "The Llama 3 Herd of Models", 2024, table 3. */
  'llama-3-8b': { layers: 32, hidden: 4096, heads: 32, ffn: 14_336, ...LLAMA_3 },
  'llama-3-70b': { layers: 80, hidden: 8192, heads: 64, ffn: 28_672, ...LLAMA_3 },
  'llama-3-405b': { layers: 126, hidden: 16_384, heads: 128, ffn: 53_248, ...LLAMA_3 },
} as const satisfies Readonly<Record<string, ModelSizesOptions>>;

export type ModelName = keyof typeof MODELS;
export const MODEL_NAMES = Object.keys(MODELS) as ModelName[];
