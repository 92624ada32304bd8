/**
 * Stages with about the same number of weights: for ranks that draw random numbers, or whose shares of
 * the state are compared. Stages by measured cost may be others in each run.
 */
export const GPT2_STAGES = {
  stages: [
    ['wte', 'wpe', 'h.0'],
    ['h.1', 'ln_f'],
  ],
} as const;

/** As {@link GPT2_STAGES}. */
export const LLAMA_STAGES = {
  stages: [
    ['embed_tokens', 'layers.0'],
    ['layers.1', 'norm', 'lm_head'],
  ],
} as const;
