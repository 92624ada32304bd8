import {
  appendFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { AccError } from '@acc/contract';
import { makeZip } from 'client-zip';

const EXPERIMENT = 'experiment.json';
const MESSAGES = 'messages.json';

/** The description of an experiment, which `comet upload` reads first in an archive. */
export interface Experiment {
  readonly offline_id: string;
  readonly project_name: string;
  readonly workspace: string | null;
  readonly tags: readonly string[];
  readonly start_time: number;
  readonly stop_time: number;
  /** Whether the experiment is a new one, or one that Comet has. */
  readonly resume_strategy: 'create' | 'get';
  readonly customer_error_reported: boolean;
  readonly customer_error_message: string | null;
}

/** The content of an archive, in a folder, until the run ends. */
export class OfflineFolder {
  readonly #dir: string;
  readonly #experiment: Experiment;

  private constructor(dir: string, experiment: Experiment) {
    this.#dir = dir;
    this.#experiment = experiment;
  }

  static begin(dir: string, experiment: Experiment): OfflineFolder {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, MESSAGES), '');
    // Written last: without it, there is nothing to continue.
    describe(dir, experiment);
    return new OfflineFolder(dir, experiment);
  }

  /**
   * Continues the folder of a process that was killed. Undefined if there is none.
   *
   * @throws AccError `ACC_TRACKER_REFUSED` if its files are damaged.
   */
  static goOn(dir: string): OfflineFolder | undefined {
    if (!existsSync(join(dir, EXPERIMENT))) return undefined;
    const experiment = experimentIn(dir);
    const path = join(dir, MESSAGES);
    // The last line may have been written in part.
    truncateSync(path, readFileSync(path).lastIndexOf('\n') + 1);
    return new OfflineFolder(dir, experiment);
  }

  get experiment(): Experiment {
    return this.#experiment;
  }

  /** Adds messages. They are in the file when the call returns, or none of them is. */
  add(messages: readonly object[]): void {
    const path = join(this.#dir, MESSAGES);
    const { size } = statSync(path);
    try {
      appendFileSync(path, messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    } catch (error) {
      truncateSync(path, size);
      throw error;
    }
  }

  addBytes(name: string, bytes: Uint8Array): void {
    writeFileSync(join(this.#dir, name), bytes);
  }

  async addFile(name: string, path: string): Promise<void> {
    await copyFile(path, join(this.#dir, name));
  }

  /** Makes the archive, and removes the folder. */
  async close(archive: string, end: Partial<Experiment>): Promise<void> {
    describe(this.#dir, { ...this.#experiment, ...end });
    mkdirSync(dirname(archive), { recursive: true });
    const temporary = `${archive}.tmp`;
    try {
      const zip = makeZip(filesOf(this.#dir)) as unknown as ReadableStream;
      await pipeline(Readable.fromWeb(zip), createWriteStream(temporary));
      renameSync(temporary, archive);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    // Removed first: a process that is killed here would otherwise make the same archive again.
    rmSync(join(this.#dir, EXPERIMENT));
    rmSync(this.#dir, { recursive: true });
  }
}

/** Writes the description in one step: a process may be killed, and the disk may be full. */
function describe(dir: string, experiment: Experiment): void {
  const path = join(dir, EXPERIMENT);
  try {
    writeFileSync(`${path}.tmp`, JSON.stringify(experiment));
    renameSync(`${path}.tmp`, path);
  } catch (error) {
    rmSync(`${path}.tmp`, { force: true });
    throw error;
  }
}

function experimentIn(dir: string): Experiment {
  const path = join(dir, EXPERIMENT);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Experiment;
  } catch (cause) {
    throw new AccError('ACC_TRACKER_REFUSED', `${path} is damaged, so the run cannot go on.`, {
      help: `Move ${dir} away. The run then goes on in a new archive.`,
      cause,
    });
  }
}

/** One file after the other is opened, because a run may have thousands. */
function* filesOf(dir: string) {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    yield { name, input: createReadStream(path), lastModified: statSync(path).mtime };
  }
}
