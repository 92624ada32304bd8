export {
  feedForward,
  moe,
  multiHeadAttention,
  positionEmbedding,
  rmsNormalization,
  rotaryEmbedding,
  swiGlu,
  tokenEmbedding,
  transformerBlock,
} from './layers/factories.js';
export type { MoeArgs, MoeOptions } from './moe/options.js';
export { registerLayers } from './layers/register.js';
export { KeyValueCache } from './layers/key-value-cache.js';
export { gpt2 } from './models/gpt2.js';
export type { Gpt2Config } from './models/gpt2-config.js';
export { llama } from './models/llama.js';
export type { LlamaConfig } from './models/llama-config.js';
export { loadPretrained, type LoadPretrainedOptions } from './pretrained/load-pretrained.js';
export { savePretrained, type SavePretrainedOptions } from './pretrained/save-pretrained.js';
export { saveGguf, type SaveGgufOptions } from './gguf/save-gguf.js';
export { generate } from './generate/generate.js';
export type { GenerateOptions } from './generate/options.js';
export { loadLora, saveLora, type SaveLoraOptions } from './lora/adapter-files.js';
export { lora, mergeLora, type LoraOptions } from './lora/lora.js';
