export type { BlockDataset } from './formats/blocks/block-dataset.js';
export type { Locations } from './formats/sources/locations.js';
export type { OnScan } from './formats/sources/read-forward.js';
export type { S3SourceOptions } from './formats/sources/s3-source.js';
export type { SourceOptions } from './formats/sources/source.js';
export type { DocumentKind } from './formats/text/documents.js';
export type { TokenDtype } from './formats/text/megatron-index.js';
export type { TextTokenizer } from './formats/text/open-tokenizer.js';
export {
  packedTokens,
  type PackedTokensOptions,
  type SegmentedTokenSample,
  type TokenSample,
} from './formats/text/packed-tokens.js';
export { tokenizeText, type TokenizedText, type TokenizeTextOptions } from './formats/text/tokenize-text.js';
