import { createRequire } from 'node:module';
import type { Plugin } from 'vitest/config';

const require = createRequire(import.meta.url);
const PACKAGES = ['tfjs', 'tfjs-core', 'tfjs-layers', 'tfjs-backend-cpu'].map(
  (name) => `@tensorflow/${name}`,
);
const VIRTUAL = '\0named:';

/**
 * Tests import tfjs by a module with its names. Otherwise Node.js would find them by reading the text of
 * tfjs in the process of each test file, which takes a quarter of a second.
 */
export const namedTfjs: Plugin = {
  name: 'acc-named-tfjs',
  enforce: 'pre',
  resolveId: (specifier) => (PACKAGES.includes(specifier) ? VIRTUAL + specifier : undefined),
  load: (id) => (id.startsWith(VIRTUAL) ? moduleOf(id.slice(VIRTUAL.length)) : undefined),
};

function moduleOf(specifier: string): string {
  const names = Object.keys(require(specifier) as object).filter((name) => name !== 'default');
  return `
    import { createRequire } from 'node:module';
    const loaded = createRequire(${JSON.stringify(import.meta.url)})(${JSON.stringify(specifier)});
    export default loaded;
    export const { ${names.join(', ')} } = loaded;`;
}
