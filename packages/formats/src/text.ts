export type { BlockDataset } from './blocks/block-dataset.js';
export type { Locations } from './sources/locations.js';
export type { OnScan } from './sources/read-forward.js';
export type { S3SourceOptions } from './sources/s3-options.js';
export type { SourceOptions } from './sources/source.js';
export type { DocumentKind } from './text/documents.js';
export type { TokenDtype } from './text/megatron-index.js';
export type { TextTokenizer } from './text/open-tokenizer.js';
export {
  packedTokens,
  type PackedTokensOptions,
  type SegmentedTokenSample,
  type TokenSample,
} from './text/packed-tokens.js';
export { tokenizeText, type TokenizedText, type TokenizeTextOptions } from './text/tokenize-text.js';
