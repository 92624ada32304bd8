import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '@acc/contract';

/** A request to a running job. */
export type Request =
  { readonly ask: 'stacks' } | { readonly ask: 'window'; readonly fromStep: number; readonly steps: number };

/** An answer of a rank is a few kilobytes. */
const MOST_BYTES = 1 << 22;
/** Permissions of the group and of others to write. */
const OTHERS_WRITE = 0o022;

/**
 * Requests to the ranks of a job: a file in the folder of its records. A rank takes only a file of its own
 * user, in a folder that nobody else can write to.
 */
export class Asks {
  readonly #folder: string;
  readonly #path: string;

  /** @param insight The folder with the records. */
  constructor(private readonly insight: string) {
    this.#folder = join(insight, 'asks');
    this.#path = join(this.#folder, 'request.json');
  }

  /**
   * Writes a request, which takes the place of an earlier one.
   *
   * @param id Its number, from 1 to 2^31 - 1.
   * @throws Error if the folder cannot be written, or others can write to it.
   */
  async write(id: number, request: Request): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await requireOwn(this.#folder);
    const draft = `${this.#path}.${process.pid}.new`;
    await rm(draft, { force: true });
    // A link that somebody has put there is not followed.
    await writeFile(draft, JSON.stringify({ id, ...request }), { mode: 0o600, flag: 'wx' });
    await rename(draft, this.#path);
  }

  /** The answers of ranks that are there, by rank. */
  async stacks(id: number): Promise<Map<number, Readonly<Record<string, unknown>>>> {
    return answersIn(this.#folder, stacksOf(id));
  }

  async windows(id: number): Promise<Map<number, Readonly<Record<string, unknown>>>> {
    return answersIn(join(this.insight, 'windows', String(id)), /^rank-(\d+)\.json$/);
  }

  /** Removes a request and its answers. Those of another `acc monitor` stay. */
  async clear(id: number): Promise<void> {
    const isOwn = (await readAnswer(this.#path))?.id === id;
    if (isOwn) await rm(this.#path, { force: true });
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names)
      if (stacksOf(id).test(name)) await rm(join(this.#folder, name), { force: true });
    // It stays while it is not empty.
    await rmdir(this.#folder).catch(() => undefined);
  }
}

const stacksOf = (id: number): RegExp => new RegExp(`^${id}-rank-(\\d+)\\.json$`);

/** A rank passes over requests in a folder that others can change. */
async function requireOwn(folder: string): Promise<void> {
  const found = await lstat(folder);
  const uid = process.getuid?.();
  // Windows has neither such numbers nor such permissions.
  const isOwn = uid === undefined || (found.uid === uid && (found.mode & OTHERS_WRITE) === 0);
  const isSafe = found.isDirectory() && isOwn;
  if (!isSafe)
    throw new Error(`${folder} is no folder that only this user can write to. Remove it, and ask again`);
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
