import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';
import { fileOptions, SECRET_OPTIONS, type FileDatasetOptions } from '../file-options.js';
import type { Locations } from '../sources/locations.js';
import { openDocuments, type DocumentKind } from './documents.js';
import { dtypeFor } from './megatron-index.js';
import { idOf, openTokenizer, type TextTokenizer } from './open-tokenizer.js';
import { TokenWriter } from './token-writer.js';

export interface TokenizeTextOptions extends Pick<
  FileDatasetOptions<string>,
  's3' | 'http' | 'indexFolder' | 'maxSampleBytes' | 'onScan'
> {
  /** The path of a `tokenizer.json`, or a tokenizer of your own. */
  readonly tokenizer: string | TextTokenizer;
  /** The token that is put behind each document: `<|endoftext|>`. Default: none. */
  readonly endOfDocument?: string;
  /** The extent of a document: a line of JSON Lines, a line of text, or a whole file. */
  readonly documents: DocumentKind;
  /** The key of the text in JSON Lines. Default `text`. */
  readonly key?: string;
  /** Called after each document with the numbers of documents and tokens that are written so far. */
  readonly onDocument?: (written: {
    readonly documents: number;
    readonly of: number;
    readonly tokens: number;
  }) => void;
}

/** The files that were written. */
export interface TokenizedText {
  /** The path without its ending, for `packedTokens`. */
  readonly path: string;
  readonly documents: number;
  readonly tokens: number;
  readonly dtype: 'uint16' | 'int32';
}

const isTokenizer = (value: unknown) =>
  typeof value === 'string' || typeof (value as Partial<TextTokenizer> | null)?.encode === 'function';

const schema = z.object({
  tokenizer: z.custom<string | TextTokenizer>(isTokenizer, 'the path of a tokenizer.json, or a tokenizer'),
  endOfDocument: z.string().min(1).optional(),
  documents: z.enum(['jsonl', 'lines', 'files']),
  key: z.string().default('text'),
  onDocument: z
    .custom<NonNullable<TokenizeTextOptions['onDocument']>>(
      (value) => typeof value === 'function',
      'a function',
    )
    .optional(),
  s3: fileOptions.s3,
  http: fileOptions.http,
  indexFolder: fileOptions.indexFolder,
  maxSampleBytes: fileOptions.maxSampleBytes,
  onScan: fileOptions.onScan,
});

/**
 * Turns texts into tokens once, for {@link packedTokens}: writes `output.bin` (all tokens, one document after another,
 * uint16 or int32, little-endian) and `output.idx` (the index of Megatron-LM). If the process is ended, the next call
 * with the same arguments goes on where it was; if all is written, it returns at once. With several ranks, call it on one of them:
 * `accelerator.mainProcessFirst`.
 *
 * @param output The path without an ending. Its folder is made.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_PACKAGE`, `ACC_DATA_NOT_FOUND`,
 * `ACC_DATA_READ`, `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`, `ACC_DATA_COLUMN`.
 */
export async function tokenizeText(
  locations: Locations,
  output: string,
  options: TokenizeTextOptions,
): Promise<TokenizedText> {
  const given = parseOptions('tokenizeText', schema, options, SECRET_OPTIONS);
  const { documents: kind, key, tokenizer: wanted, endOfDocument, onDocument, ...files } = given;
  const tokenizer = typeof wanted === 'string' ? await openTokenizer(wanted) : wanted;
  const { vocabularySize } = tokenizer;
  const end = endOfDocument === undefined ? undefined : idOf(tokenizer, endOfDocument);
  const { texts, versions } = await openDocuments(locations, { kind, key }, files);
  await mkdir(dirname(output), { recursive: true });
  const dtype = dtypeFor(vocabularySize);
  const name = typeof wanted === 'string' ? wanted : 'a function';
  const work = JSON.stringify({ versions, kind, key, tokenizer: name, vocabularySize, end });
  const finished = await TokenWriter.finished(output, work);
  if (finished) return { path: output, documents: finished.documents, tokens: finished.tokens, dtype };
  await using writer = await TokenWriter.open(output, dtype, work);
  while (writer.documents < texts.length) {
    const document = writer.documents;
    const ids = tokenizer.encode(await texts.get(document));
    await writer.add(withEnd(ids, end, vocabularySize));
    onDocument?.({ documents: writer.documents, of: texts.length, tokens: writer.tokens });
  }
  await writer.finish();
  return { path: output, documents: writer.documents, tokens: writer.tokens, dtype };
}

function withEnd(ids: ArrayLike<number>, end: number | undefined, vocabularySize: number): Int32Array {
  const tokens = new Int32Array(ids.length + (end === undefined ? 0 : 1));
  tokens.set(ids);
  if (end !== undefined) tokens[ids.length] = end;
  const wrong = tokens.find((id, i) => id < 0 || id >= vocabularySize || id !== (ids[i] ?? id));
  if (wrong === undefined) return tokens;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `tokenizeText: the tokenizer returned ${wrong}, and its vocabularySize is ${vocabularySize}.`,
    {
      help: 'Give the tokenizer the vocabularySize of its vocabulary: the largest token and one more.',
      details: { path: ['tokenizer'] },
    },
  );
}
