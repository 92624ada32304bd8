import { readFileSync } from 'node:fs';
import type { TrackedFile } from '@acc/contract';

/**
 * The configuration of a tf.LayersModel among its files, as Keras's JSON. Undefined if no file has one, as of
 * another library's model.
 */
export function topologyIn(files: readonly TrackedFile[]): string | undefined {
  const file = files.find(({ name }) => name === 'model.json');
  if (!file) return undefined;
  try {
    const { modelTopology } = JSON.parse(readFileSync(file.path, 'utf8')) as {
      readonly modelTopology?: unknown;
    };
    return modelTopology === undefined ? undefined : JSON.stringify(modelTopology);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
