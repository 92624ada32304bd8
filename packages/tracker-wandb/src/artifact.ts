import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { TrackedArtifact } from '@acc/contract';
import type { ArtifactIdentity } from './records.js';

/**
 * The client ids of artifact sequences, by artifact name. All versions of one artifact share the id
 * of the first.
 */
export type SequenceIds = Map<string, string>;

/** Computes the checksums of the files. W&B uses them to skip files that it already has. */
export async function identify(
  { name, files }: TrackedArtifact,
  sequences: SequenceIds,
  signal: AbortSignal,
): Promise<ArtifactIdentity> {
  const fileDigests: string[] = [];
  for (const { path } of files) {
    const hash = createHash('md5');
    await pipeline(createReadStream(path), hash, { signal });
    fileDigests.push(hash.digest('base64'));
  }
  const lines = files.map((file, i) => `${file.name}:${fileDigests[i]}\n`).sort();
  const digest = createHash('md5')
    .update(`wandb-artifact-manifest-v1\n${lines.join('')}`)
    .digest('hex');
  const newId = () => randomBytes(64).toString('hex');
  const clientId = newId();
  const sequenceClientId = sequences.get(name) ?? newId();
  sequences.set(name, sequenceClientId);
  return { digest, fileDigests, clientId, sequenceClientId };
}

/** An artifact name that W&B accepts. */
export function artifactName(name: string): string {
  return name.replace(/[^\w.-]/g, '-');
}
