import * as z from 'zod';
import { AccError, parseOptions } from '@acc/contract';
import { formatInWorker } from '#platform/formats';
import { blockDataset, blockOf, type BlockDataset } from '../blocks/block-dataset.js';
import { badFormat } from '../errors.js';
import { fileOptions, SECRET_OPTIONS } from '../file-options.js';
import { openSource, sourceOf } from '../sources/open-source.js';
import type { Source, SourceOptions, SourceState } from '../sources/source.js';
import { bytesOf, readIndex, type TokenDtype } from './megatron-index.js';

/** A sequence of tokens. All arrays have the length of the sequence. */
export interface TokenSample {
  readonly inputs: Int32Array;
  /** The token that follows each one of `inputs`. */
  readonly labels: Int32Array;
}

/** A sequence with the bounds of its documents. */
export interface SegmentedTokenSample extends TokenSample {
  /** The number of each token's document, counted from 0 in the sequence: tokens attend to their own document. */
  readonly segmentIds: Int32Array;
  /** The place of each token in its document, counted from 0 at the start of the document or of the sequence. */
  readonly positions: Int32Array;
  /** 1, and 0 where the label is the first token of another document: it says nothing of the input. */
  readonly lossMask: Float32Array;
}

export interface PackedTokensOptions extends SourceOptions {
  /** The number of tokens of a sample. */
  readonly sequenceLength: number;
  /**
   * `segments`: samples say which tokens belong to which document. Default `none`: documents follow each other, and
   * only their end tokens divide them.
   */
  readonly boundaries?: 'none' | 'segments';
  /** The dtype of a token file without an index, such as nanoGPT's. Default: that of the index (`.idx`). */
  readonly dtype?: TokenDtype;
  /** The size in bytes of what is read at once. It takes part in the order of `dataset.sampler(…)`. Default 256 KiB. */
  readonly blockBytes?: number;
}

const schema = z.object({
  sequenceLength: z.int().positive(),
  boundaries: z.enum(['none', 'segments']).default('none'),
  dtype: z.enum(['uint16', 'int32']).optional(),
  blockBytes: z
    .int()
    .positive()
    .default(256 * 1024),
  s3: fileOptions.s3,
  http: fileOptions.http,
});

/** Everything that a thread needs to read the sequences. */
interface TokenState {
  readonly file: SourceState;
  readonly dtype: TokenDtype;
  readonly sequenceLength: number;
  readonly blockBytes: number;
  /** Where documents start. Undefined: samples do not tell. */
  readonly documents: Float64Array | undefined;
}

/**
 * Sequences of equal length from a file of tokens, as {@link tokenizeText}, Megatron-LM (`preprocess_data.py`) and
 * nanoGPT write it. The documents lie one after another, and sample `i` has the tokens from `i · sequenceLength` on.
 * What is left at the end of the file is not used. Only what is used is read.
 *
 * @param file The path or address, without the endings `.bin` and `.idx`, or a `.bin` file without an index.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`. Samples: `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
 */
export async function packedTokens(
  file: string | URL,
  options: PackedTokensOptions & { readonly boundaries: 'segments' },
): Promise<BlockDataset<SegmentedTokenSample>>;
export async function packedTokens(
  file: string | URL,
  options: PackedTokensOptions,
): Promise<BlockDataset<TokenSample>>;
export async function packedTokens(
  file: string | URL,
  options: PackedTokensOptions,
): Promise<BlockDataset<TokenSample>> {
  const given = parseOptions('packedTokens', schema, options, SECRET_OPTIONS);
  const { sequenceLength, blockBytes } = given;
  const path = String(file).replace(/\.(bin|idx)$/, '');
  const source = await openSource(`${path}.bin`, given);
  const { dtype, documents } = await describe(path, source.bytes, given);
  requireSequence(source, sequenceLength, bytesOf(dtype));
  return openTokens({ file: source.state, dtype, sequenceLength, blockBytes, documents }, undefined);
}

async function describe(path: string, bytes: number, given: z.infer<typeof schema>) {
  const { boundaries, dtype } = given;
  if (dtype !== undefined) {
    if (boundaries === 'none') return { dtype, documents: undefined };
    throw new AccError(
      'ACC_INVALID_OPTION',
      "packedTokens: 'boundaries' needs the index of the file, and 'dtype' is for files without one.",
      { help: 'Leave dtype out.', details: { path: ['dtype'] } },
    );
  }
  const index = await readIndex(await openSource(`${path}.idx`, given));
  const tokens = index.documents.at(-1)!;
  if (tokens * bytesOf(index.dtype) !== bytes) {
    throw badFormat(`${path}.bin`, `it has ${bytes} bytes, and its index tells of ${tokens} tokens`);
  }
  return { dtype: index.dtype, documents: boundaries === 'segments' ? index.documents : undefined };
}

/** @throws AccError `ACC_DATA_FORMAT` for a file that is shorter than a sequence. */
function requireSequence({ name, bytes }: Source, sequenceLength: number, tokenBytes: number): void {
  const tokens = Math.floor(bytes / tokenBytes);
  if (tokens > sequenceLength) return;
  throw badFormat(
    name,
    `it has ${tokens} tokens, and a sequence of ${sequenceLength} needs ${sequenceLength + 1}, because the last label is the token behind it`,
    { help: tokens < 2 ? 'Use a longer file.' : `Use a sequenceLength of at most ${tokens - 1}.` },
  );
}

/** Opens the same sequences in a worker thread. */
export async function tokensInWorker(
  state: TokenState & { readonly cachedBlocks: number },
): Promise<BlockDataset<TokenSample>> {
  return Promise.resolve(openTokens(state, state.cachedBlocks));
}

const ARRAYS = { uint16: Uint16Array, int32: Int32Array };

function openTokens(state: TokenState, cachedBlocks: number | undefined): BlockDataset<TokenSample> {
  const { file, dtype, sequenceLength, blockBytes, documents } = state;
  const source = sourceOf(file);
  const size = bytesOf(dtype);
  // The last label is the token behind the sequence.
  const samples = Math.floor((file.bytes / size - 1) / sequenceLength);
  const inBlock = Math.max(Math.floor(blockBytes / (sequenceLength * size)), 1);
  const blocks = Array.from({ length: Math.ceil(samples / inBlock) }, (_, block) =>
    Math.min(inBlock, samples - block * inBlock),
  );
  return blockDataset<Uint16Array | Int32Array, TokenSample>(
    {
      blocks,
      async load(block) {
        const from = block * inBlock * sequenceLength;
        const to = from + blocks[block]! * sequenceLength + 1;
        return new ARRAYS[dtype]((await source.read(from * size, to * size)).slice().buffer);
      },
      sample(tokens, block, row) {
        const at = row * sequenceLength;
        const inputs = Int32Array.from(tokens.subarray(at, at + sequenceLength));
        const labels = Int32Array.from(tokens.subarray(at + 1, at + 1 + sequenceLength));
        const sample = { inputs, labels };
        if (!documents) return sample;
        return { ...sample, ...segmentsOf(documents, block * inBlock * sequenceLength + at, sequenceLength) };
      },
      nameOf: (block, row) => `${source.name}, sequence ${block * inBlock + row}`,
    },
    {
      cachedBlocks,
      inWorker: (cached) => formatInWorker('tokens', { ...state, cachedBlocks: cached }),
    },
  );
}

/** @param first The number of the first token of the sequence. */
function segmentsOf(documents: Float64Array, first: number, length: number) {
  const segmentIds = new Int32Array(length);
  const positions = new Int32Array(length);
  const lossMask = new Float32Array(length).fill(1);
  let document = blockOf(documents, first);
  let segment = 0;
  let start = first;
  for (let i = 0; i < length; i++) {
    segmentIds[i] = segment;
    positions[i] = first + i - start;
    const next = first + i + 1;
    if (documents[document + 1] !== next) continue;
    lossMask[i] = 0;
    segment++;
    start = next;
    // Documents may be empty.
    while (documents[document + 1] === next) document++;
  }
  return { segmentIds, positions, lossMask };
}
