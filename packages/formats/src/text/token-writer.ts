import { existsSync } from 'node:fs';
import { open, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { bytesOf, encodeIndex, type TokenDtype } from './megatron-index.js';

/** How far a file of tokens is, in a file beside it. */
interface Progress {
  /** Of what the file is made. Another work begins again. */
  readonly work: string;
  readonly documents: number;
  readonly tokens: number;
  /** Whether the files have their names. */
  readonly isDone?: boolean;
}

/** Tokens are kept until there are so many, then they are on the disk. */
const FLUSHED_TOKENS = 2 ** 20;

/** Writes tokens, document after document, so that another process can go on where this one was ended. */
export class TokenWriter implements AsyncDisposable {
  #lengths: number[] = [];
  #waiting: Int32Array[] = [];
  #waitingTokens = 0;

  private constructor(
    private readonly path: string,
    private readonly dtype: TokenDtype,
    private readonly files: { readonly tokens: FileHandle; readonly lengths: FileHandle },
    private progress: Progress,
  ) {}

  /** The progress of an earlier write, if it is complete. */
  static async finished(path: string, work: string): Promise<Omit<Progress, 'work'> | undefined> {
    const found = await readProgress(path);
    const isThere = existsSync(`${path}.bin`) && existsSync(`${path}.idx`);
    return found?.work === work && found.isDone && isThere ? found : undefined;
  }

  /** @param work Tells this work from others: what it reads, and how. */
  static async open(path: string, dtype: TokenDtype, work: string): Promise<TokenWriter> {
    const found = await readProgress(path);
    const [tokensPath, lengthsPath] = [`${path}.bin.partial`, `${path}.lengths.partial`];
    const isBegun = found?.work === work && existsSync(tokensPath) && existsSync(lengthsPath);
    const progress = isBegun ? found : { work, documents: 0, tokens: 0 };
    const tokens = await open(tokensPath, isBegun ? 'r+' : 'w+');
    const lengths = await open(lengthsPath, isBegun ? 'r+' : 'w+');
    await tokens.truncate(progress.tokens * bytesOf(dtype));
    await lengths.truncate(progress.documents * 4);
    return new TokenWriter(path, dtype, { tokens, lengths }, progress);
  }

  /** The number of documents that are written, also by earlier processes. */
  get documents(): number {
    return this.progress.documents + this.#lengths.length;
  }

  get tokens(): number {
    return this.progress.tokens + this.#waitingTokens;
  }

  async add(tokens: Int32Array): Promise<void> {
    this.#waiting.push(tokens);
    this.#waitingTokens += tokens.length;
    this.#lengths.push(tokens.length);
    if (this.#waitingTokens >= FLUSHED_TOKENS) await this.#flush();
  }

  /** Gives the files their names. The index comes last: tokens with an index are complete. */
  async finish(): Promise<void> {
    await this.#flush();
    const { documents } = this.progress;
    const lengths = new Int32Array(documents);
    await this.files.lengths.read(new Uint8Array(lengths.buffer), 0, documents * 4, 0);
    await writeFile(`${this.path}.idx.partial`, encodeIndex(this.dtype, lengths), { flush: true });
    await rm(`${this.path}.idx`, { force: true });
    await rename(`${this.path}.bin.partial`, `${this.path}.bin`);
    await rename(`${this.path}.idx.partial`, `${this.path}.idx`);
    await rm(`${this.path}.lengths.partial`);
    this.progress = { ...this.progress, isDone: true };
    await this.#noteProgress();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.files.tokens.close();
    await this.files.lengths.close();
  }

  /** The progress is noted after the bytes are on the disk. */
  async #flush(): Promise<void> {
    const { tokens: before, documents } = this.progress;
    const array = this.dtype === 'uint16' ? Uint16Array : Int32Array;
    const block = new array(this.#waitingTokens);
    let at = 0;
    for (const tokens of this.#waiting) {
      block.set(tokens, at);
      at += tokens.length;
    }
    await writeAll(this.files.tokens, block, before * bytesOf(this.dtype));
    await writeAll(this.files.lengths, Int32Array.from(this.#lengths), documents * 4);
    this.progress = { ...this.progress, documents: this.documents, tokens: this.tokens };
    this.#waiting = [];
    this.#waitingTokens = 0;
    this.#lengths = [];
    await this.#noteProgress();
  }

  async #noteProgress(): Promise<void> {
    const path = progressPath(this.path);
    await writeFile(`${path}.new`, JSON.stringify(this.progress), { flush: true });
    await rename(`${path}.new`, path);
  }
}

const progressPath = (path: string) => `${path}.progress.json`;

async function readProgress(path: string): Promise<Progress | undefined> {
  try {
    return JSON.parse(await readFile(progressPath(path), 'utf8')) as Progress;
  } catch {
    return undefined;
  }
}

async function writeAll(file: FileHandle, values: Uint16Array | Int32Array, from: number): Promise<void> {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, from + done)).bytesWritten;
  }
  await file.datasync();
}
