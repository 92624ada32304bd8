import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const CORE = '@tensorflow/tfjs-core/package.json';

/**
 * The folders of tfjs-core that the program and this package import. The program may import it through
 * `@tensorflow/tfjs`.
 */
export function copiesOfCore(): string[] {
  const program = process.argv[1];
  const ofProgram = program && (found('@tensorflow/tfjs/package.json', program) ?? program);
  const importers = [ofProgram, import.meta.url].filter((file) => file !== undefined);
  const cores = importers.map((file) => found(CORE, file)).filter((path) => path !== undefined);
  return [...new Set(cores.map((path) => dirname(path)))];
}

function found(name: string, importer: string): string | undefined {
  try {
    return createRequire(importer).resolve(name);
  } catch {
    return undefined;
  }
}
