import { existsSync, readFileSync } from 'node:fs';
import type { TrackedFile } from '@acc/contract';

/**
 * The configuration of a tf.LayersModel among its files, as Keras's JSON. Undefined if no file has one, as of
 * another library's model.
 */
export function topologyIn(files: readonly TrackedFile[]): string | undefined {
  const file = files.find(({ name }) => name === 'model.json');
  if (!file || !existsSync(file.path)) return undefined;
  try {
    const found = JSON.parse(readFileSync(file.path, 'utf8')) as { readonly modelTopology?: unknown } | null;
    const topology = found?.modelTopology;
    return topology === undefined ? undefined : JSON.stringify(topology);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
