import { readFile } from 'node:fs/promises';
import { AccError } from '@acc/contract';
import { asReadError, badFormat, packageMissing } from '../errors.js';
import { parseJson } from '@acc/contract';
import { lookAtFile } from '../sources/file-source.js';

/** Tokenizers of large vocabularies have tens of megabytes. */
const MAX_TOKENIZER_BYTES = 256 * 1024 * 1024;

/** Turns texts into numbers of tokens. */
export interface TextTokenizer {
  /** The numbers of the tokens, from 0 to `vocabularySize - 1`, without special tokens. */
  encode(text: string): ArrayLike<number>;
  readonly vocabularySize: number;
  /** The number of a token. Undefined: there is none. */
  tokenId(token: string): number | undefined;
}

/**
 * The tokenizer of a `tokenizer.json`, as Hugging Face's tokenizers write it. Needs the package
 * `@huggingface/tokenizers`.
 *
 * @throws AccError `ACC_DATA_PACKAGE`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_FORMAT`.
 */
export async function openTokenizer(path: string): Promise<TextTokenizer> {
  const { Tokenizer } = await loadTokenizers();
  const { bytes } = await lookAtFile(path);
  if (bytes > MAX_TOKENIZER_BYTES) throw badFormat(path, `it has ${bytes} bytes, which no tokenizer has`);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw asReadError(path, error);
  });
  try {
    const tokenizer = new Tokenizer(parseJson(text) as object, {});
    // Numbers may have gaps.
    const vocabulary = tokenizer.get_vocab(true).values();
    let vocabularySize = 0;
    for (const id of vocabulary) vocabularySize = Math.max(vocabularySize, id + 1);
    return {
      vocabularySize,
      encode: (document) => tokenizer.encode(document, { add_special_tokens: false }).ids,
      tokenId: (token) => tokenizer.token_to_id(token),
    };
  } catch (cause) {
    throw badFormat(path, `it is no tokenizer that can be read: ${(cause as Error).message}`, { cause });
  }
}

async function loadTokenizers(): Promise<typeof import('@huggingface/tokenizers')> {
  try {
    return await import('@huggingface/tokenizers');
  } catch (cause) {
    throw packageMissing('@huggingface/tokenizers', 'Reading a tokenizer.json', cause);
  }
}

/** @throws AccError `ACC_INVALID_OPTION` if the tokenizer has no such token. */
export function idOf(tokenizer: TextTokenizer, token: string): number {
  const id = tokenizer.tokenId(token);
  if (id !== undefined) return id;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `tokenizeText: the tokenizer has no token ${JSON.stringify(token)}.`,
    {
      help: 'The added_tokens of tokenizer.json list the special ones.',
      details: { path: ['endOfDocument'] },
    },
  );
}
