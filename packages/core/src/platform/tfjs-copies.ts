import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** The folders of tfjs-core that the program and this package import. */
export function copiesOfCore(): string[] {
  const importers = [process.argv[1], import.meta.url].filter((file) => file !== undefined);
  const folders = importers.flatMap((file) => {
    try {
      return [dirname(createRequire(file).resolve('@tensorflow/tfjs-core/package.json'))];
    } catch {
      // The program's own folder has none: it imports tfjs through another package.
      return [];
    }
  });
  return [...new Set(folders)];
}
