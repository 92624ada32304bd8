// Makes mistakes with meshes on the ranks of this job, then trains on meshes, one after the other.
// Arguments: the mistakes and the trainings, as JSON, and a folder of checkpoints.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { train, type Case, type Trained } from '../../e2e/mesh-pairs/train.js';

type Mesh = NonNullable<Case['mesh']>;

export interface Fault {
  readonly code: string;
  readonly message: string;
}

export interface OfCase {
  readonly trained: Trained;
  readonly coordinates: Readonly<Record<string, number>>;
  /** The number of this rank on its host. */
  readonly local: number;
  /** The numbers of all ranks, from `gather`. */
  readonly gathered: readonly number[];
  readonly warnings: readonly string[];
}

export interface OfRank {
  readonly faults: readonly Fault[];
  readonly cases: readonly OfCase[];
}

let warnings: string[] = [];
console.warn = (text: string) => void warnings.push(text);

async function faultOf(mesh: Mesh): Promise<Fault> {
  try {
    await Accelerator.create({ mesh });
    return { code: 'none', message: JSON.stringify(mesh) };
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, message: error.message };
  }
}

async function resultOf(given: Case, folder: string): Promise<OfCase> {
  warnings = [];
  const trained = await train(given, folder);
  const ofTraining = [...warnings];
  const accelerator = await Accelerator.create({ ...given.options, ...(given.mesh && { mesh: given.mesh }) });
  const { processIndex, localProcessIndex: local, mesh } = accelerator;
  const gathered = [...accelerator.gather(tf.tensor1d([processIndex])).dataSync()];
  accelerator.freeMemory();
  return { trained, coordinates: { ...mesh.coordinates }, local, gathered, warnings: ofTraining };
}

const [mistakes, cases, folder] = process.argv.slice(2) as [string, string, string];
const isSecondHost = Number(process.env['RANK']) >= 2;
const faults: Fault[] = [];
// A mistake is a mesh, or one for each host.
for (const mesh of JSON.parse(mistakes) as (Mesh | readonly [Mesh, Mesh])[]) {
  faults.push(await faultOf(Array.isArray(mesh) ? (mesh as Mesh[])[isSecondHost ? 1 : 0]! : (mesh as Mesh)));
}
const results: OfCase[] = [];
for (const given of JSON.parse(cases) as Case[]) results.push(await resultOf(given, folder));
reportResult({ faults, cases: results } satisfies OfRank);
await (await Accelerator.create()).endTraining();
