import { randomInt } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '@acc/contract';

/** What a running job is asked for. */
export type Request =
  { readonly ask: 'stacks' } | { readonly ask: 'window'; readonly fromStep: number; readonly steps: number };

const MOST_ID = 0x7fff_ffff;
/** An answer of a rank is a few kilobytes. */
const MOST_BYTES = 1 << 22;

/**
 * Requests to the ranks of a job: a file in the folder of its records. A rank takes only a file that its own
 * user, or root, has written, in a folder that nobody else can write to.
 */
export class Asks {
  readonly #folder: string;

  /** @param insight The folder with the records. */
  constructor(private readonly insight: string) {
    this.#folder = join(insight, 'asks');
  }

  /** Writes a request, which takes the place of an earlier one. @returns Its number. */
  async write(request: Request): Promise<number> {
    const id = randomInt(1, MOST_ID);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, 'request.json');
    await writeFile(`${path}.new`, JSON.stringify({ id, ...request }), { mode: 0o600 });
    await this.#giveToJob(`${path}.new`);
    await rename(`${path}.new`, path);
    return id;
  }

  /** The answers of ranks that are there, by rank. */
  async stacks(id: number): Promise<Map<number, Readonly<Record<string, unknown>>>> {
    return answersIn(this.#folder, new RegExp(`^${id}-rank-(\\d+)\\.json$`));
  }

  async windows(id: number): Promise<Map<number, Readonly<Record<string, unknown>>>> {
    return answersIn(join(this.insight, 'windows', String(id)), /^rank-(\d+)\.json$/);
  }

  /** Removes the request and its answers. */
  async clear(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Root may ask the job of another user, who then writes the answers. */
  async #giveToJob(path: string): Promise<void> {
    if (process.getuid?.() !== 0) return;
    const { uid, gid } = await stat(this.insight);
    await chown(this.#folder, uid, gid);
    await chown(path, uid, gid);
  }
}

/** Answers that are whole. */
export async function answersIn(
  folder: string,
  pattern: RegExp,
): Promise<Map<number, Readonly<Record<string, unknown>>>> {
  const answers = new Map<number, Readonly<Record<string, unknown>>>();
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, rank] = pattern.exec(name) ?? [];
    const answer = rank === undefined ? undefined : await readAnswer(join(folder, name));
    if (answer) answers.set(Number(rank), answer);
  }
  return answers;
}

async function readAnswer(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    if ((await stat(path)).size > MOST_BYTES) return undefined;
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    // It is gone, or no answer.
    return undefined;
  }
}
