import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const CORE = '@tensorflow/tfjs-core/package.json';
const UNIONS = ['@tensorflow/tfjs', '@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu'];

/**
 * The folders of tfjs-core that the program and this package import. The program imports it through
 * another package, or by itself.
 */
export function copiesOfCore(): string[] {
  const program = process.argv[1];
  const packages = program ? UNIONS.flatMap((name) => found(`${name}/package.json`, program) ?? []) : [];
  const importers = packages.length > 0 || !program ? packages : [program];
  const cores = [...importers, import.meta.url]
    .map((file) => found(CORE, file))
    .filter((path) => path !== undefined);
  return [...new Set(cores.map((path) => dirname(path)))];
}

function found(name: string, importer: string): string | undefined {
  try {
    return createRequire(importer).resolve(name);
  } catch {
    return undefined;
  }
}
