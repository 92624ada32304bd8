import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { isAccError } from '@acc/contract';
import { seededRandom } from '@acc/testkit';
import { seedOf } from './files.js';
import { FORMATS, type Format, type Seed } from './formats.js';
import { mutated, mutatedJson, type Random } from './mutate.js';

/** The data with which a thread is started. */
export interface ThreadData {
  readonly folder: string;
  /** The number of the mutation that is read, before the first one -1, and how many were read. int32 */
  readonly progress: SharedArrayBuffer;
}

/** The task of a thread. */
export interface Work {
  readonly format: string;
  readonly seed: number;
  readonly mutations: readonly number[];
}

/** The outcome of the mutations. */
export interface Report {
  readonly values: number;
  readonly errors: number;
  /** Outcomes that are neither a value nor an AccError that names the file. */
  readonly failures: readonly string[];
}

const { folder: root, progress: shared } = workerData as ThreadData;
const progress = new Int32Array(shared);
let failures: string[] = [];
const note = (what: string) => failures.push(`mutation ${progress[0]}: ${what}`);
process.on('unhandledRejection', (reason) => note(`unhandled rejection: ${textOf(reason)}`));

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** Whether the message or the details name a file in the folder. */
function names(error: Error & { details?: unknown }, folder: string): boolean {
  return error.message.includes(folder) || JSON.stringify(error.details ?? {}).includes(folder);
}

async function writeDamaged(folder: string, seed: Seed, random: Random): Promise<void> {
  const files: Record<string, Uint8Array> = { ...seed.files };
  const valid = files[seed.damaged]!;
  if (seed.isJson && random() < 0.7) {
    const json = mutatedJson(JSON.parse(Buffer.from(valid).toString()), random);
    files[seed.damaged] = Buffer.from(JSON.stringify(json) ?? '');
  } else {
    const bytes = mutated(valid, random);
    files[seed.damaged] = seed.repair && random() < 0.7 ? seed.repair(Buffer.from(bytes)) : bytes;
  }
  seed.adapt?.(files);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function readOne(format: Format, seed: Seed, random: Random): Promise<'value' | 'error'> {
  const folder = join(root, `m${progress[1]}`);
  await writeDamaged(folder, seed, random);
  try {
    await format.read(folder, random);
    return 'value';
  } catch (error) {
    if (!isAccError(error)) note(`no AccError: ${textOf(error)}`);
    else if (!names(error, folder)) note(`the file is not named: ${error.code}: ${error.message}`);
    return 'error';
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Seeds are read as they are, which shows that the reader is the right one. */
async function readValid(format: Format, seeds: readonly Seed[]): Promise<void> {
  for (const { files } of seeds) {
    const folder = join(root, 'valid');
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    await format.read(folder, () => 0);
    await rm(folder, { recursive: true });
  }
}

async function readMutations({ format: name, seed, mutations }: Work): Promise<Report> {
  failures = [];
  progress[0] = -1;
  const format = FORMATS.get(name)!;
  const seeds = await format.seeds();
  await readValid(format, seeds);
  const counts = { value: 0, error: 0 };
  for (const number of mutations) {
    progress[0] = number;
    const random = seededRandom(seedOf(seed, name, number));
    counts[await readOne(format, seeds[number % seeds.length]!, random)]++;
    progress[1]!++;
  }
  // Rejections that nobody handles are reported in the next turns.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { values: counts.value, errors: counts.error, failures };
}

parentPort!.on('message', (work: Work) => {
  readMutations(work).then(
    (report) => parentPort!.postMessage(report),
    (error: unknown) => parentPort!.postMessage({ values: 0, errors: 0, failures: [textOf(error)] }),
  );
});
